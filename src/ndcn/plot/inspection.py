"""What a dataset looks like before anything is learned from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..tables.inspection import GAP
from .style import INK, SHADE, TRUTH, short_label

if TYPE_CHECKING:
    from ..tables import Dataset
    from ..trajectory import Trajectory

CURVES = 12
NAMED = 30  # so many nodes are named beside the map
ROWS, COLUMNS = 200, 400  # of the map of what is missing, at most


def inspect(data: Dataset) -> Figure:
    """Four panels: degrees of nodes, values, curves over time with gaps, and which entries are missing.

    Of several runs the first is drawn, of several graphs the last.

    Example:
        >>> import ndcn, torch
        >>> graph = ndcn.networks.grid(9)
        >>> run = ndcn.simulate(ndcn.laws.Heat(), graph, torch.rand(9, 1), [0.0, 1.0, 2.0])
        >>> figure = ndcn.plot.inspect(ndcn.Dataset((run,)))
        >>> len(figure.axes)
        4
    """
    figure = Figure(figsize=(11, 6.5), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1, 2))
    run = data.runs[0]
    clock: Any = run.times.numpy()
    if data.calendar is not None:
        dates = data.calendar.dates(clock)
        if not isinstance(dates, np.ndarray):
            dates = dates.tz_localize(None).to_numpy()
        clock = dates
    _degrees(figure.add_subplot(grid[0, 0]), data)
    _values(figure.add_subplot(grid[1, 0]), data)
    curves = figure.add_subplot(grid[0, 1])
    _curves(curves, run, clock, data.names[0] if data.names else "")
    _missing(figure.add_subplot(grid[1, 1], sharex=curves), run, clock)
    if clock.dtype.kind == "M":
        locator = AutoDateLocator(maxticks=7)
        curves.xaxis.set_major_locator(locator)
        curves.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    for ax in figure.axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8, colors=INK)
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
    ax.set_xlabel("edges of a node")
    ax.set_ylabel("nodes")


def _values(ax: Axes, data: Dataset) -> None:
    from .curves import PALETTE

    for k, name in enumerate(data.runs[0].features[:6]):
        values = np.concatenate([run.states[..., k].numpy().ravel() for run in data.runs])
        values = values[np.isfinite(values)]
        ax.hist(values, bins=50, histtype="step", color=PALETTE[k], label=short_label(name), linewidth=1.3)
    ax.set_yscale("log")
    ax.set_xlabel("value")
    ax.set_ylabel("entries")
    ax.set_title("values", color=INK, fontsize=10)
    if len(data.runs[0].features) > 1:
        ax.legend(frameon=False, fontsize=8)


def _curves(ax: Axes, run: Trajectory, clock: Any, name: str) -> None:
    from matplotlib import colormaps

    states = run.states[..., 0].numpy()
    seen = np.isfinite(states).sum(axis=0)
    swing = np.nanmax(np.where(np.isfinite(states), states, -np.inf), axis=0) - np.nanmin(
        np.where(np.isfinite(states), states, np.inf), axis=0
    )
    order = np.argsort(-np.where(seen > 1, swing, -1.0), kind="stable")
    chosen = order[np.linspace(0, len(order) - 1, min(CURVES, len(order))).round().astype(int)]
    steps = run.times.diff().numpy()
    gaps = np.flatnonzero(steps > GAP * np.median(steps)) if len(steps) else np.empty(0, dtype=int)
    broken, when = np.insert(states, gaps + 1, np.nan, axis=0), np.insert(clock, gaps + 1, clock[gaps])
    for colour, node in zip(colormaps["viridis"](np.linspace(0, 0.9, len(chosen))), chosen.tolist(), strict=True):
        label = short_label(str(run.graph.nodes[node]))
        ax.plot(when, broken[:, node], color=colour, linewidth=1.1, marker=".", markersize=3, label=label)
    for k in gaps.tolist():
        ax.axvspan(clock[k], clock[k + 1], color=SHADE, zorder=0)
    shaded = ", gaps shaded" if len(gaps) else ""
    which = f"run {short_label(name)}, " if name else ""
    ax.set_title(f"{which}{short_label(run.features[0])} of {len(chosen)} nodes{shaded}", color=INK, fontsize=10)
    ax.legend(frameon=False, fontsize=7, ncols=1, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    ax.tick_params(labelbottom=False)


def _missing(ax: Axes, run: Trajectory, clock: Any) -> None:
    """The share of entries observed, nodes from top to bottom, by snapshot (many of either are put together)."""
    T, n = len(run), run.graph.num_nodes
    seen = np.isfinite(run.states.numpy()).mean(axis=2).T if run.mask is not None else np.ones((n, T))
    rows = np.linspace(0, n, min(n, ROWS) + 1).astype(int)
    columns = np.linspace(0, T, min(T, COLUMNS) + 1).astype(int)
    blocks = np.add.reduceat(np.add.reduceat(seen, rows[:-1], axis=0), columns[:-1], axis=1)
    shares = blocks / np.outer(np.diff(rows), np.diff(columns))
    numbers = run.times.numpy()
    middle = (numbers[1:] + numbers[:-1]) / 2
    half = 0.5 if T == 1 else float(np.diff(numbers).min()) / 2
    edges = np.concatenate([[numbers[0] - half], middle, [numbers[-1] + half]])[columns]
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
    hidden = 100 * (1 - float(seen.mean()))
    what = "everything was observed" if hidden == 0 else f"observed (light) and missing (dark): {hidden:.3g} % missing"
    ax.set_title(what, color=INK, fontsize=10)
    ax.set_xlabel("date" if clock.dtype.kind == "M" else "time")
