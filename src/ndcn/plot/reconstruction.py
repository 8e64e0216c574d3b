"""A network that was found, as pictures: probabilities, doubtful links, calibration, precision over recall."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from ..graph import Graph
from .layout import placed
from .matrix import INKS
from .style import INK, PREDICTION, QUIET, TRUTH, lighten, new_axes

if TYPE_CHECKING:
    from ..reconstruction import Reconstruction

SURE, DOUBTFUL = 0.9, 0.1  # probabilities from which on a link is drawn whole, and dashed
TIP, HEAD = 0.03, 0.04  # of the longest link: where an arrow ends before its node, and how long its head is
MOST_NAMED = 30  # nodes; with more, names would overlap


def link_probabilities(found: Reconstruction, *, ax: Axes | None = None) -> Axes:
    """A cell at row i, column j, the darker the more probable it is that node j acts on node i.

    Args:
        found: what ``ndcn.reconstruct`` returned.
        ax: where to draw.

    Example:
        >>> import ndcn, numpy as np
        >>> ring = ndcn.Graph.from_edges([(k, (k + 1) % 6) for k in range(6)], directed=True)
        >>> starts, times = np.random.default_rng(0).random((6, 6, 1)), np.linspace(0, 1, 12)
        >>> runs = [ndcn.simulate(ndcn.laws.Heat(), ring, x0, times) for x0 in starts]
        >>> found = ndcn.reconstruct(runs, coupling="x_j - x_i", calibrate=False)
        >>> ax = ndcn.plot.link_probabilities(found)
        >>> ax.get_xlabel()
        'node j, which acts'
    """
    ax = new_axes(4.2, 3.6) if ax is None else ax
    image = ax.imshow(found.probabilities.toarray(), cmap=INKS, vmin=0, vmax=1, interpolation="nearest")
    ax.set_xlabel("node j, which acts", fontsize=9, color=INK)
    ax.set_ylabel("node i, which is acted on", fontsize=9, color=INK)
    ax.tick_params(labelsize=8, colors=INK)
    n = len(found.nodes)
    if n <= MOST_NAMED:
        ax.set_xticks(range(n), [str(node) for node in found.nodes], rotation=90)
        ax.set_yticks(range(n), [str(node) for node in found.nodes])
    else:
        ax.locator_params(integer=True)
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.05)
    bar.set_label("probability", fontsize=9, color=INK)
    bar.ax.tick_params(labelsize=8, colors=INK)
    return ax


def found_network(found: Reconstruction, *, ax: Axes | None = None) -> Axes:
    """Nodes as dots; links of probability 0.9 and more as arrows to whom they act on, doubtful ones down to 0.1 dashed; undecided nodes are orange.

    Args:
        found: what ``ndcn.reconstruct`` returned.
        ax: where to draw.

    Example:
        >>> import ndcn, numpy as np
        >>> ring = ndcn.Graph.from_edges([(k, (k + 1) % 6) for k in range(6)], directed=True)
        >>> starts, times = np.random.default_rng(0).random((6, 6, 1)), np.linspace(0, 1, 12)
        >>> runs = [ndcn.simulate(ndcn.laws.Heat(), ring, x0, times) for x0 in starts]
        >>> found = ndcn.reconstruct(runs, coupling="x_j - x_i", calibrate=False)
        >>> ax = ndcn.plot.found_network(found)
        >>> len(ax.collections)
        3
    """
    ax = new_axes(6.4, 4.8) if ax is None else ax
    p = found.probabilities.tocoo()
    graph = Graph(
        found.probabilities.multiply(found.probabilities >= DOUBTFUL).tocsr(), nodes=found.nodes, directed=True
    )
    places = np.asarray(placed(graph))
    row, column = p.coords
    for low, high, style, colour in ((SURE, 2.0, "-", INK), (DOUBTFUL, SURE, "--", QUIET)):
        mine = (p.data >= low) & (p.data < high)
        lines = _arrows(places[column[mine]], places[row[mine]])
        ax.add_collection(LineCollection(list(lines), colors=colour, linestyles=style, linewidths=0.8, zorder=1))
    colours = [PREDICTION if k in set(found.judgement.undecided) else TRUTH for k in range(len(places))]
    ax.scatter(places[:, 0], places[:, 1], s=max(4, min(60, 2000 / len(places))), c=colours, zorder=2)
    if len(places) <= MOST_NAMED:
        for node, (x, y) in zip(found.nodes, places, strict=True):
            ax.annotate(str(node), (x, y), xytext=(4, 4), textcoords="offset points", fontsize=7, color=INK)
    ax.set_title(f"{found.verdict}: {int(found.links().sum())} links", fontsize=10, color=INK)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def _arrows(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Polylines from start to end, (L, 2) each, with a head shortly before the end, (L, 5, 2)."""
    along = end - start
    length = np.hypot(*along.T)[:, None] + 1e-12
    span = float(max(length.max(initial=0.0), 1e-12))
    along = along / length
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    tip = end - along * np.minimum(TIP * span, 0.3 * length)
    back = tip - along * HEAD * span
    return np.stack(
        [start, tip, back + 0.5 * across * HEAD * span, tip, back - 0.5 * across * HEAD * span], axis=1
    ).reshape(-1, 5, 2)


def link_calibration(found: Reconstruction, truth: Graph | None = None, *, ax: Axes | None = None) -> Axes:
    """Share of true links over their probability: of networks drawn from the probabilities, or, if it is given, of the true one.

    Args:
        found: what ``ndcn.reconstruct`` returned.
        truth: the true network.
        ax: where to draw.

    Raises:
        ValueError: the probabilities were not calibrated, and no truth is given.

    Example:
        >>> import ndcn, numpy as np
        >>> ring = ndcn.Graph.from_edges([(k, (k + 1) % 6) for k in range(6)], directed=True)
        >>> starts, times = np.random.default_rng(0).random((6, 6, 1)), np.linspace(0, 1, 12)
        >>> runs = [ndcn.simulate(ndcn.laws.Heat(), ring, x0, times) for x0 in starts]
        >>> found = ndcn.reconstruct(runs, coupling="x_j - x_i", calibrate=False)
        >>> ndcn.plot.link_calibration(found, ring).get_ylabel()
        'share of true links'
    """
    if truth is None and found.calibration is None:
        raise ValueError(
            "these probabilities were not calibrated: give the true network, or calibrate=True to reconstruct"
        )
    ax = new_axes(3.8, 3.6) if ax is None else ax
    ax.plot([0, 1], [0, 1], color=QUIET, lw=1, ls="--")
    if truth is None:
        curve = found.calibration.curve if found.calibration is not None else np.zeros((0, 2))
    else:
        curve = _curve(*_pairs(found, truth))
    ax.plot(*curve.T, color=PREDICTION, marker="o", ms=4, clip_on=False)  # the last one often sits in the corner
    ax.set(xlabel="probability", ylabel="share of true links", xlim=(0, 1), ylim=(0, 1))
    lighten(ax)
    return ax


def precision_recall(found: Reconstruction, truth: Graph, *, ax: Axes | None = None) -> Axes:
    """Precision over recall of links by their probability, given the true network.

    Args:
        found: what ``ndcn.reconstruct`` returned.
        truth: the true network.
        ax: where to draw.

    Example:
        >>> import ndcn, numpy as np
        >>> ring = ndcn.Graph.from_edges([(k, (k + 1) % 6) for k in range(6)], directed=True)
        >>> starts, times = np.random.default_rng(0).random((6, 6, 1)), np.linspace(0, 1, 12)
        >>> runs = [ndcn.simulate(ndcn.laws.Heat(), ring, x0, times) for x0 in starts]
        >>> found = ndcn.reconstruct(runs, coupling="x_j - x_i", calibrate=False)
        >>> ndcn.plot.precision_recall(found, ring).get_title()
        'area 1.000'
    """
    ax = new_axes(3.8, 3.6) if ax is None else ax
    p, true = _pairs(found, truth)
    hits = true[np.argsort(-p, kind="stable")]
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    recall = np.cumsum(hits) / max(1, hits.sum())
    ax.plot(recall, precision, color=TRUTH)
    area = float(precision[hits].mean()) if hits.any() else 0.0
    ax.set_title(f"area {area:.3f}", fontsize=10, color=INK)
    ax.set(xlabel="recall", ylabel="precision", xlim=(0, 1.02), ylim=(0, 1.02))
    lighten(ax)
    return ax


def _pairs(found: Reconstruction, truth: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Probability and truth of all pairs of different nodes."""
    if truth.num_nodes != len(found.nodes):
        raise ValueError(f"the true network has {truth.num_nodes} nodes, the one that was found {len(found.nodes)}")
    off = ~np.eye(len(found.nodes), dtype=bool)
    return found.probabilities.toarray()[off], (truth.to_scipy().toarray() != 0)[off]


def _curve(p: np.ndarray, true: np.ndarray) -> np.ndarray:
    place = np.digitize(p, [0.05, 0.2, 0.4, 0.6, 0.8, 0.95])
    return np.array([(p[place == k].mean(), true[place == k].mean()) for k in range(1, 7) if (place == k).any()])
