"""Curves: states, errors and losses over time or epochs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes

from ..data import per_time
from ..training import History
from .runs import takes_datasets
from .square import check_run, checked_feature, checked_nodes
from .style import BESIDE, INK, PREDICTION, SHADE, STATE_MAP, TRUTH, curve_axes, inches

if TYPE_CHECKING:
    from ..data import Trajectory

MOST_CURVES = 12
NARROW = 3.5  # inches: the legend of narrower axes has smaller text
LETTERS = 4.0  # of a name for each inch of the axes
# The Okabe-Ito palette without its yellow, which is hard to see on white; line styles that survive grey print.
PALETTE = (PREDICTION, TRUTH, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#777777", "#332288")
STYLES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (9, 2)))
CENTRES = {"median": "median and\nmiddle half of runs", "mean": "mean and\nstandard deviation"}
HUGE = 1e300
DECADES = 2  # from so many on, errors are drawn on a logarithmic scale


@takes_datasets
def trajectories(
    data: Trajectory,
    prediction: Trajectory | None = None,
    *,
    nodes: Sequence[Hashable] | None = None,
    feature: int | str = 0,
    train_until: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """x_i(t) of some nodes: dots where observed, and lines for the prediction, or through the dots if there is none.

    Names in the legend are cut in the middle where there is little room, as far as they can still be told apart.

    Args:
        data: states of shape (T, n, d).
        prediction: of the same nodes at any times; drawn as lines.
        nodes: labels of the nodes to draw; by default up to 12 that differ most at the first time.
        feature: which of the d features, by position or name.
        train_until: the last training time; the window up to it is shaded.
        ax: where to draw.

    Raises:
        TypeError: what is given is no trajectory.
        ValueError: there is no such node or feature, or the prediction has other nodes.

    Example:
        >>> import ndcn
        >>> graph = ndcn.networks.grid(25)
        >>> times = ndcn.sampling.irregular_times(2.0, 30, seed=0)
        >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
        >>> ax = ndcn.plot.trajectories(data, nodes=[0, 6, 12])
        >>> len(ax.get_lines())
        3
    """
    feature = checked_feature(data, feature)
    if prediction is not None:
        check_run(prediction)
        if prediction.graph.num_nodes != data.graph.num_nodes:
            sizes = f"the prediction has {prediction.graph.num_nodes} nodes, the data {data.graph.num_nodes}"
            raise ValueError(f"{sizes}: they must agree")
    chosen = _chosen_nodes(data, nodes, feature)
    ax = curve_axes(ax)
    width, _ = inches(ax)
    names = _fitting([str(data.graph.nodes[node]) for node in chosen], int(LETTERS * width))
    line = {"linestyle": "none"} if prediction is not None else {"linestyle": "-", "linewidth": 1.2}
    style: dict[str, Any] = {"marker": "o", "markersize": 2.5, "markeredgewidth": 0, **line}
    for colour, node, name in zip(colormaps[STATE_MAP](np.linspace(0.0, 0.9, len(chosen))), chosen, names, strict=True):
        ax.plot(*_ordered(data, node, feature), color=colour, label=name, **style)
        if prediction is not None:
            ax.plot(*_ordered(prediction, node, feature), color=colour, linewidth=1.3)
    ax.set(xlabel="time", ylabel=data.features[feature])
    _mark_window(ax, train_until)
    size, handle = (6, 0.8) if width <= NARROW else (7, 1.4)
    dots = [line for line in ax.get_lines() if not str(line.get_label()).startswith("_")]
    tight: dict[str, Any] = {
        "labelspacing": 0.25,
        "handletextpad": 0.5,
    }  # twelve nodes fit beside a picture of a column's width
    ax.legend(handles=dots, title="node", fontsize=size, title_fontsize=size, handlelength=handle, **tight, **BESIDE)
    return ax


def _ordered(data: Trajectory, node: int, feature: int) -> tuple[np.ndarray, np.ndarray]:
    """Times in increasing order, and the states of one node."""
    order = data.times.argsort()
    return data.times[order].numpy(), data.states[order, node, feature].detach().cpu().numpy()


def _fitting(names: Sequence[str], most: int) -> list[str]:
    """Names cut in the middle to ``most`` letters, or to as many as tell them apart."""
    for size in range(max(most, 3), max(map(len, names))):
        head, tail = size // 2, (size - 1) // 2
        cut = [name if len(name) <= size else f"{name[:head]}…{name[-tail:]}" for name in names]
        if len(set(cut)) == len(set(names)):
            return cut
    return list(names)


def _chosen_nodes(data: Trajectory, nodes: Sequence[Hashable] | None, feature: int) -> list[int]:
    if nodes is not None:
        if not nodes:
            raise ValueError("nodes must name at least one node")
        return checked_nodes(data.graph, nodes)
    ranked = data.first_state()[:, feature].argsort(stable=True).tolist()
    places = np.unique(np.linspace(0, len(ranked) - 1, min(MOST_CURVES, len(ranked))).round().astype(int))
    return [ranked[place] for place in places]


def training_curve(history: History, *, ax: Axes | None = None) -> Axes:
    """Loss over epochs on a logarithmic scale, with the validation loss where there is one.

    Args:
        history: ``history_`` of a fitted estimator.
        ax: where to draw.

    Raises:
        TypeError: it is no history.
        ValueError: nothing was trained.

    Example:
        >>> import ndcn, torch
        >>> graph = ndcn.networks.grid(9)
        >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, torch.rand(9, 1), [0.0, 0.5, 1.0])
        >>> reg = ndcn.DynamicsRegressor(epochs=5).fit(data)
        >>> ndcn.plot.training_curve(reg.history_).get_yscale()
        'log'
    """
    if not isinstance(history, History):
        hint = ": give its history_" if hasattr(type(history), "history_") else ""
        raise TypeError(f"expected the history_ of a fitted estimator, got {type(history).__name__}{hint}")
    if not history.loss:
        raise ValueError("the history is empty: nothing was trained")
    ax = curve_axes(ax)
    ax.plot(range(1, len(history.loss) + 1), history.loss, color=TRUTH, linewidth=1.3, label="training")
    if history.validation:
        epochs, values = zip(*history.validation, strict=True)
        ax.plot(epochs, values, color=PREDICTION, linewidth=1.3, marker="o", markersize=2.5, label="validation")
        ax.legend(frameon=False, fontsize=9)
    ax.set(xlabel="epoch", ylabel="loss", yscale="log" if min(history.loss) > 0 else "linear")
    return ax


@takes_datasets
def error_over_time(
    prediction: Trajectory, truth: Trajectory, *, train_until: float | None = None, ax: Axes | None = None
) -> Axes:
    """mean_i |prediction - truth| at each time, in percent of mean |truth| over all times.

    The mean of the curve is the normalised l1 error of ``ndcn.metrics.normalized_l1``. For several models or runs see
    ``error_curves``.

    Args:
        prediction: at the times of the truth, states of shape (T, n, d).
        truth: states of shape (T, n, d).
        train_until: the last training time; the window up to it is shaded.
        ax: where to draw.

    Example:
        >>> import ndcn
        >>> graph = ndcn.networks.grid(25)
        >>> x0, times = ndcn.laws.initial_state(graph), ndcn.sampling.regular_times(2.0, 11)
        >>> truth, guess = (ndcn.simulate(ndcn.laws.Heat(k), graph, x0, times) for k in (1.0, 0.9))
        >>> ndcn.plot.error_over_time(guess, truth, train_until=1.5).get_ylabel()
        'error, % of mean |truth|'
    """
    check_run(prediction)
    check_run(truth)
    errors = per_time(prediction, truth)
    size = truth.states.double().abs().nanmean().item()
    if size == 0:
        raise ValueError("the true states are all 0, so an error cannot be given relative to them")
    order = truth.times.argsort()
    ax = curve_axes(ax)
    percent = 100 * errors[order].numpy() / size
    ax.plot(truth.times[order].numpy(), percent, color=PREDICTION, linewidth=1.3, marker="o", markersize=2.5)
    ax.set(xlabel="time", ylabel="error, % of mean |truth|")
    ax.set_ylim(bottom=0)
    _mark_window(ax, train_until)
    return ax


def error_curves(
    errors: Mapping[str, tuple[Any, Any]],
    *,
    centre: str = "median",
    train_until: float | None = None,
    ylabel: str = "error",
    scale: str | None = None,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Errors of several models over time: the median (or mean) of the runs as a line, their spread as a band.

    The band is the middle half of the runs, or mean +- standard deviation. NaN means not measured and does not count;
    infinity, the error of a run that diverged, counts as larger than any other for the median.

    Args:
        errors: name of each model, its times of shape (T,) and its errors, >= 0, of shape (runs, T) or (T,).
        centre: "median" or "mean".
        train_until: the last training time; the window up to it is shaded.
        ylabel: what the errors are, with their unit.
        scale: "linear" or "log"; by default logarithmic where the curves span two decades.
        legend: whether to put one at the right of the axes.
        ax: where to draw.

    Raises:
        ValueError: there is no model, shapes do not agree, or errors are negative.
        TypeError: a model has something else than times and errors.

    Example:
        >>> import ndcn, numpy as np
        >>> times, runs = np.linspace(0, 5, 20), np.random.default_rng(0).random((10, 20))
        >>> errors = {"NDCN": (times, 4 * runs), "no graph": (times, 30 + 10 * runs)}
        >>> ax = ndcn.plot.error_curves(errors, train_until=4.0, ylabel="error, % of mean |truth|")
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['NDCN', 'no graph']
    """
    _check_curves(errors, centre, scale)
    curves = {name: _summary(name, times, values, centre) for name, (times, values) in errors.items()}
    middles = np.concatenate([middle for _, middle, _, _ in curves.values()])
    positive = middles[np.isfinite(middles) & (middles > 0)]
    wide = len(positive) > 0 and np.ptp(np.log10(np.percentile(positive, [5, 95]))) >= DECADES
    logarithmic = len(positive) > 0 and (wide if scale is None else scale == "log")
    edges = np.concatenate([middles, *(high for *_, high in curves.values())])
    floor = positive.min() if logarithmic else 0.0
    top = edges.max(where=np.isfinite(edges), initial=0.0)
    ax = curve_axes(ax)
    for k, (name, (times, middle, low, high)) in enumerate(curves.items()):
        colour, style = PALETTE[k % len(PALETTE)], STYLES[(k + 2 * (k // len(PALETTE))) % len(STYLES)]
        shown = np.where(np.isfinite(middle) & (middle >= floor), middle, np.nan)
        ax.plot(times, shown, color=colour, linestyle=style, linewidth=1.6, label=name, zorder=3)
        if (high > low).any():
            band = np.clip(low, floor, top), np.clip(high, floor, top)
            ax.fill_between(times, *band, color=colour, alpha=0.16, linewidth=0, zorder=2)
    ax.set(xlabel="time", ylabel=ylabel, yscale="log" if logarithmic else "linear")
    if not logarithmic:
        ax.set_ylim(bottom=0)
    _mark_window(ax, train_until)
    if legend:
        banded = any((high > low).any() for _, _, low, high in curves.values())
        title = CENTRES[centre] if banded else None
        ax.legend(title=title, fontsize=9, title_fontsize=8, handlelength=3.2, alignment="left", **BESIDE)
    return ax


def _check_curves(errors: Mapping[str, tuple[Any, Any]], centre: str, scale: str | None) -> None:
    if centre not in CENTRES:
        raise ValueError(f'centre must be "median" or "mean", got {centre!r}')
    if scale not in (None, "linear", "log"):
        raise ValueError(f'scale must be "linear", "log" or None, got {scale!r}')
    if not errors:
        raise ValueError("there is nothing to draw: give at least one model")
    for name, pair in errors.items():
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"{name}: expected a pair of times and errors, got {type(pair).__name__}")


def _summary(name: str, times: Any, values: Any, centre: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Times in order, and at each the middle of the runs and the edges of their band; NaN where none was measured."""
    moments, runs = np.asarray(times, dtype=float), np.atleast_2d(np.asarray(values, dtype=float))
    if moments.ndim != 1 or runs.ndim != 2 or runs.shape[1] != len(moments) or not runs.size:
        raise ValueError(
            f"{name}: times of shape {moments.shape} need errors of shape (runs, {moments.size}) or ({moments.size},), "
            f"got {np.shape(values)}"
        )
    if not np.isfinite(moments).all() or (runs < 0).any():
        raise ValueError(f"{name}: times must be finite and errors >= 0")
    order = moments.argsort()
    moments, runs = moments[order], runs[:, order]
    middle, low, high = (np.full(len(moments), np.nan) for _ in range(3))
    seen = ~np.isnan(runs).all(axis=0)
    if centre == "median":
        finite = np.minimum(runs[:, seen], HUGE)  # between two infinities there is no quartile
        quartiles = np.nanpercentile(finite, [25, 50, 75], axis=0)
        low[seen], middle[seen], high[seen] = np.where(quartiles > HUGE / 1e3, np.inf, quartiles)
    else:
        broken = np.isinf(runs).any(axis=0)
        middle[broken] = np.inf
        seen &= ~broken
        middle[seen], spread = np.nanmean(runs[:, seen], axis=0), np.nanstd(runs[:, seen], axis=0)
        low[seen], high[seen] = middle[seen] - spread, middle[seen] + spread
    return moments, middle, low, high


def _mark_window(ax: Axes, train_until: float | None) -> None:
    """Shade the training window, with words above it and above what follows."""
    if train_until is None:
        return
    first, last = ax.get_xlim()
    begin, finish = ax.dataLim.intervalx  # beyond these are only the margins
    end = first if train_until < begin else last if train_until >= finish else train_until
    words: dict[float, str] = {}
    if end > first:
        ax.axvspan(first, end, facecolor=SHADE, edgecolor="none", zorder=0)
        words[first] = "training"
    if end < last:
        words[last] = "extrapolation"
    if len(words) == 2:
        ax.axvline(end, color=INK, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)
    ax.set_xlim(first, last)
    above = ax.secondary_xaxis("top")  # and not text, because a title makes room for an axis
    above.set_xticks(list(words), list(words.values()), fontsize=8, style="italic", color=INK)
    for tick, x in zip(above.get_xticklabels(), words, strict=True):
        tick.set_horizontalalignment("left" if x == first else "right")
    above.tick_params(length=0, pad=2)
    above.spines[:].set_visible(False)
