"""What a dataset looks like before anything is learned from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..io import GAP
from .curves import PALETTE
from .network import network
from .notebook import Picture
from .style import BESIDE, INK, SHADE, TRUTH, short_label

if TYPE_CHECKING:
    from ..data import Dataset, Trajectory

CURVES = 12
VARIABLES = 3  # so many have curves
NAMED = 30  # so many nodes are named beside the map
LABELS = 15  # so many in the network
EDGES = 3000  # above which the network is not drawn
ROWS, COLUMNS = 200, 400  # of the map of what is missing, at most


def inspect(data: Dataset) -> Figure:
    """Degrees of nodes, values, curves over time with gaps, which entries are missing, and the network itself.

    Of several runs the first is drawn, of several graphs the last, of more than three variables the curves of the first
    three. Networks of more than 3000 edges are left out.

    Example:
        >>> import ndcn, torch
        >>> graph = ndcn.networks.grid(9)
        >>> run = ndcn.simulate(ndcn.laws.Heat(), graph, torch.rand(9, 1), [0.0, 1.0, 2.0])
        >>> figure = ndcn.plot.inspect(ndcn.Dataset((run,)))
        >>> len(figure.axes)
        5
    """
    run = data.runs[0]
    shown = min(VARIABLES, run.num_features)
    drawn = run.graph.num_edges <= EDGES
    figure = Picture(figsize=(11, 6.5 + 2 * (shown - 1) + 1.5 * drawn), layout="constrained")
    halves = figure.add_gridspec(1, 2, width_ratios=(1, 2))
    left = halves[0, 0].subgridspec(2 + drawn, 1, height_ratios=[1.4] * drawn + [1, 1])
    right = halves[0, 1].subgridspec(shown + 1, 1)
    clock: Any = run.times.numpy()
    if data.calendar is not None:
        dates = data.calendar.dates(clock)
        clock = dates if isinstance(dates, np.ndarray) else dates.tz_localize(None).to_numpy()
    _degrees(figure.add_subplot(left[-2]), data)
    _values(figure.add_subplot(left[-1]), data)
    curves = figure.add_subplot(right[0])
    below = figure.add_subplot(right[-1], sharex=curves)
    more = [figure.add_subplot(right[k], sharex=curves) for k in range(1, shown)]
    _curves([curves, *more], run, clock, data.names[0] if data.names else "")
    _missing(below, run, clock)
    if clock.dtype.kind == "M" and data.calendar is not None:
        locator = AutoDateLocator(maxticks=7)
        curves.xaxis.set_major_locator(locator)
        curves.xaxis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))
        below.set_xlabel("date, {} to {}".format(*data.calendar.texts(run.times[[0, -1]].numpy())))
    for ax in figure.axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8, colors=INK)
    if drawn:
        ax = network(run.graph, labels=run.graph.num_nodes <= LABELS, ax=figure.add_subplot(left[0]))
        ax.set_title("the network" if data.graphs is None else "the last network", color=INK, fontsize=10)
    return figure


def _degrees(ax: Axes, data: Dataset) -> None:
    matrix = data.runs[0].graph.to_scipy()
    degrees = np.diff(matrix.indptr)
    top = int(degrees.max(initial=0))
    if top <= 40:
        ax.bar(np.arange(top + 1), np.bincount(degrees, minlength=top + 1), color=TRUTH, width=0.85)
    else:
        ax.hist(degrees, bins=40, color=TRUTH)
    if top > 20 * max(1.0, float(np.median(degrees))):
        ax.set_yscale("log")
    ax.set_title(f"{len(degrees)} nodes, {data.runs[0].graph.num_edges} edges", color=INK, fontsize=10)
    ax.set(xlabel="edges of a node", ylabel="nodes")


def _values(ax: Axes, data: Dataset) -> None:
    for k, name in enumerate(data.runs[0].features[:6]):
        values = np.concatenate([run.states[..., k].numpy().ravel() for run in data.runs])
        values = values[np.isfinite(values)]
        ax.hist(values, bins=50, histtype="step", color=PALETTE[k], label=short_label(name), linewidth=1.3)
    ax.set(yscale="log", xlabel="value", ylabel="entries")
    ax.set_title("values", color=INK, fontsize=10)
    if len(data.runs[0].features) > 1:
        ax.legend(frameon=False, fontsize=8)


def _curves(axes: list[Axes], run: Trajectory, clock: Any, name: str) -> None:
    """Curves of the same nodes in each of the first variables."""
    first = run.states[..., 0].numpy()
    seen = np.isfinite(first)
    swing = np.where(seen, first, -np.inf).max(axis=0) - np.where(seen, first, np.inf).min(axis=0)
    order = np.argsort(-np.where(seen.sum(axis=0) > 1, swing, -1.0), kind="stable")
    chosen = order[np.linspace(0, len(order) - 1, min(CURVES, len(order))).round().astype(int)]
    gaps = _gaps(run)
    when = np.insert(clock, gaps + 1, clock[gaps])
    palette = colormaps["viridis"](np.linspace(0, 0.9, len(chosen)))
    for k, ax in enumerate(axes):
        broken = np.insert(run.states[..., k].numpy(), gaps + 1, np.nan, axis=0)
        for colour, node in zip(palette, chosen.tolist(), strict=True):
            label = short_label(str(run.graph.nodes[node]))
            ax.plot(when, broken[:, node], color=colour, linewidth=1.1, marker=".", markersize=3, label=label)
        for gap in gaps.tolist():
            ax.axvspan(clock[gap], clock[gap + 1], color=SHADE, zorder=0)
        which = f"run {short_label(name)}, " if name and k == 0 else ""
        of = f" (variable {k + 1} of {run.num_features})" if run.num_features > 1 else ""
        shaded = ", gaps shaded" if len(gaps) and k == 0 else ""
        title = f"{which}{short_label(run.features[k])} of {len(chosen)} nodes{of}{shaded}"
        ax.set_title(title, color=INK, fontsize=10)
        ax.tick_params(labelbottom=False)
    axes[0].legend(fontsize=7, **BESIDE)


def _gaps(run: Trajectory) -> np.ndarray:
    """The snapshots after which there is a gap in time."""
    steps = run.times.diff().numpy()
    return np.flatnonzero(steps > GAP * np.median(steps)) if len(steps) else np.empty(0, dtype=int)


def _missing(ax: Axes, run: Trajectory, clock: Any) -> None:
    """The share of entries observed, nodes from top to bottom, over time (many of either are put together)."""
    T, n = len(run), run.graph.num_nodes
    seen = np.isfinite(run.states.numpy()).mean(axis=2).T if run.mask is not None else np.ones((n, T))
    hidden = 100 * (1 - float(seen.mean()))
    numbers = run.times.numpy()
    steps = np.diff(numbers)
    half = 0.5 if T == 1 else float(np.median(steps)) / 2
    regular = np.isclose(steps, 2 * half, rtol=0.1).mean() > 0.5 if T > 1 else False
    gaps = _gaps(run) if regular else np.empty(0, dtype=int)  # at irregular times no snapshot was expected anywhere
    ends = np.concatenate([[numbers[0] - half], (numbers[1:] + numbers[:-1]) / 2, [numbers[-1] + half]])
    ends[gaps + 1] = numbers[gaps] + half
    ends = np.insert(ends, gaps + 2, numbers[gaps + 1] - half)
    seen = np.insert(seen, gaps + 1, 0.0, axis=1)  # nothing was observed in a gap
    rows = np.linspace(0, n, min(n, ROWS) + 1).astype(int)
    columns = np.linspace(0, seen.shape[1], min(seen.shape[1], COLUMNS) + 1).astype(int)
    blocks = np.add.reduceat(np.add.reduceat(seen * np.diff(ends), rows[:-1], axis=0), columns[:-1], axis=1)
    edges = ends[columns]
    shares = blocks / np.outer(np.diff(rows), np.diff(edges))
    if clock.dtype.kind == "M":
        span = max(float(numbers[-1] - numbers[0]), 1e-12)
        unit = (clock[-1] - clock[0]) / span if T > 1 else np.timedelta64(1, "D")
        edges = clock[0] + (edges - numbers[0]) * unit
    elif T > 0:
        edges = edges + (clock[0] - numbers[0])
    ax.pcolormesh(edges, rows, shares, cmap="Greys_r", vmin=-0.25, vmax=1.15, rasterized=True)
    ax.set_ylim(n, 0)
    if n <= NAMED:
        ax.set_yticks(np.arange(n) + 0.5, [short_label(str(node)) for node in run.graph.nodes])
    else:
        ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
        ax.set_ylabel("node, by place")
    grey = ", in part (grey)" if ((shares > 1e-9) & (shares < 1 - 1e-9)).any() else ""
    size = [f"{hidden:.3g} % of the entries"] if hidden else []
    size += [f"{len(gaps)} gap{'s' * (len(gaps) > 1)} in time"] if len(gaps) else []
    what = f"observed (light){grey}, missing (dark): {' and '.join(size)}" if size else "everything was observed"
    ax.set_title(what, color=INK, fontsize=10)
    ax.set_xlabel("date" if clock.dtype.kind == "M" else "time")
