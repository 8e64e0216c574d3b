"""A network drawn as dots and lines, its nodes coloured by their states or by groups."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import Normalize

from ..graph import Graph
from .curves import PALETTE
from .layout import links, placed
from .notebook import Picture
from .runs import takes_datasets
from .square import check_run, checked_nodes, snapshot
from .style import BESIDE, INK, QUIET, STATE_MAP, TRUTH, colour_bar, colour_scale

if TYPE_CHECKING:
    from ..data import Trajectory

MOST_LINKS = 30_000  # of more, so many are drawn, evenly chosen
MOST_GROUPS = len(PALETTE)
MISSING = "#D9D9D9"


@takes_datasets
def network(
    data: Trajectory | Graph,
    time: float | None = None,
    *,
    values: Any = None,
    feature: int | str = 0,
    scale: Normalize | None = None,
    labels: Sequence[Hashable] | bool = False,
    positions: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """A dot for each node, a line for each link, and a dot's colour is x_i at one time, a value, or a group.

    Nodes lie at the graph's ``positions``; without such, linked nodes lie near each other. The page has the same layout. Dots shrink
    as there are more of them. Nodes that were not observed are grey. A new figure has a colour bar or, for groups, a
    legend; for a bar in ``ax`` call ``ax.figure.colorbar(ax.collections[-1])``.

    Args:
        data: states of shape (T, n, d), or a graph alone.
        time: the nearest snapshot is shown; by default the last. Not with a graph or ``values``.
        values: one for each node, in the graph's order: numbers are shades, words or booleans are groups.
        feature: which of the d features, by position or name.
        scale: the colour scale; by default that of all snapshots, or of the values. Values outside are clipped.
        labels: the nodes whose names are written, True for all.
        positions: where the nodes are, shape (n, 2), y upwards; by default those of the graph, else found by forces.
        ax: where to draw.

    Raises:
        TypeError: ``data`` is neither.
        ValueError: there is no such node or feature, sizes do not fit, or a time is given where there are no states.

    Example:
        >>> import ndcn
        >>> graph = ndcn.networks.small_world(30, seed=0)
        >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), [0.0, 0.5])
        >>> ndcn.plot.network(data, 0.5).get_title()
        't = 0.5'
        >>> ax = ndcn.plot.network(graph, values=["left"] * 15 + ["right"] * 15, labels=[0, 29])
        >>> [text.get_text() for text in ax.get_legend().get_texts()], [text.get_text() for text in ax.texts]
        (['left', 'right'], ['0', '29'])
    """
    if not isinstance(data, Graph):
        check_run(data)
    graph = data if isinstance(data, Graph) else data.graph
    name = ""
    title = None
    shown = None
    if values is not None:
        shown = np.asarray(values)
        if shown.shape != (graph.num_nodes,):
            raise ValueError(f"values must be one for each of {graph.num_nodes} nodes, got shape {shown.shape}")
    elif not isinstance(data, Graph):
        name, title, shown, scale = snapshot(data, time, feature, scale)
    if time is not None and title is None:
        raise ValueError("a time needs states over time: give a trajectory, and no values")
    if isinstance(labels, bool):
        labels = graph.nodes if labels else []
    named = checked_nodes(graph, labels)
    where = _placed(graph, positions)
    groups = None if shown is None or (shown.dtype.kind in "iuf") else _groups(shown)
    if groups is None and shown is not None:
        shown = shown.astype(float)
        scale = colour_scale(shown) if scale is None else scale
    ax = _axes(ax, shown, groups, scale, name)
    _draw_links(ax, graph, where)
    _draw_nodes(ax, where, shown, groups, scale)
    for k in named:
        words = ax.annotate(str(graph.nodes[k]), where[k], (4, 3), textcoords="offset points", fontsize=7, color=INK)
        words.set_parse_math(False)
        words.set_bbox({"facecolor": "white", "alpha": 0.6, "edgecolor": "none", "pad": 0.3})
    ax.set_aspect("equal")
    ax.margins(0.05)
    ax.axis("off")
    if title is not None:
        ax.set_title(title, fontsize=10, color=INK, pad=5)
    return ax


def _placed(graph: Graph, positions: Any) -> np.ndarray:
    if positions is None:
        return placed(graph) * (1, -1)  # there y points down, as on a screen
    where = np.asarray(positions, dtype=float)
    if where.shape != (graph.num_nodes, 2) or not np.isfinite(where).all():
        raise ValueError(f"positions must be finite, of shape ({graph.num_nodes}, 2), got shape {where.shape}")
    return where


def network_states(ax: Axes, graph: Graph, states: np.ndarray, scale: Normalize) -> PathCollection:
    """Links, and nodes coloured by states, shape (n,), that may be changed by ``set_array``; NaN is grey."""
    where = placed(graph) * (1, -1)
    _draw_links(ax, graph, where)
    colours = colormaps[STATE_MAP].with_extremes(bad=MISSING)
    x, y = where.T
    dots = ax.scatter(x, y, c=states, cmap=colours, norm=scale, plotnonfinite=True, **_dot_style(len(where)))
    ax.set_aspect("equal")
    ax.margins(0.05)
    ax.axis("off")
    return dots


def _groups(shown: np.ndarray) -> dict[str, np.ndarray]:
    """For each group, in the order of its name, which nodes are in it."""
    words = np.array([str(value) for value in shown])
    names = sorted(set(words))
    if len(names) > MOST_GROUPS:
        raise ValueError(f"at most {MOST_GROUPS} groups can be told apart by colour, got {len(names)}: give numbers")
    return {name: words == name for name in names}


def _axes(ax: Axes | None, shown: np.ndarray | None, groups: Any, scale: Normalize | None, name: str) -> Axes:
    if ax is not None:
        return ax
    figure = Picture(figsize=(3.6, 3.0))
    if shown is None or groups is not None:
        return figure.add_axes((0.02, 0.02, 0.76 if groups is not None else 0.96, 0.88))
    assert scale is not None
    colour_bar(figure.add_axes((0.74, 0.05, 0.035, 0.84)), scale, name, shown, narrow=True)
    return figure.add_axes((0.02, 0.02, 0.69, 0.88))


def _draw_links(ax: Axes, graph: Graph, where: np.ndarray) -> None:
    i, j, _ = links(graph)
    if len(i) > MOST_LINKS:
        kept = np.linspace(0, len(i) - 1, MOST_LINKS).astype(int)
        i, j = i[kept], j[kept]
    ends = np.stack([where[i], where[j]], axis=1)
    faint = float(np.clip(9 / np.sqrt(len(i) + 1), 0.08, 0.8))  # so that many links do not run into one grey
    lines = LineCollection(list(ends), colors=QUIET, linewidths=0.3 + 0.4 * faint, alpha=faint, zorder=1)
    lines.set_rasterized(len(i) > 5000)
    ax.add_collection(lines)


def _dot_style(n: int) -> dict[str, Any]:
    """Dots that shrink as there are more of them."""
    size = {"s": float(np.clip(2500 / n, 2.0, 60.0)), "zorder": 2, "rasterized": n > 5000}
    return {**size, "linewidths": 0.3 if n <= 1000 else 0, "edgecolors": "white"}


def _draw_nodes(ax: Axes, where: np.ndarray, shown: np.ndarray | None, groups: Any, scale: Normalize | None) -> None:
    style = _dot_style(len(where))
    if shown is None:
        ax.scatter(where[:, 0], where[:, 1], color=TRUTH, **style)
    elif groups is not None:
        for colour, (name, inside) in zip(PALETTE, groups.items(), strict=False):
            ax.scatter(where[inside, 0], where[inside, 1], color=colour, label=name, **style)
        ax.legend(fontsize=8, handletextpad=0.1, borderpad=0, **BESIDE)
    else:
        hidden = np.isnan(shown)
        if hidden.any():
            ax.scatter(where[hidden, 0], where[hidden, 1], color=MISSING, **style)
        x, y = where[~hidden].T
        ax.scatter(x, y, c=shown[~hidden], cmap=STATE_MAP, norm=scale, **style)
