"""Static figures: truth against prediction on the square layout, curves over time, errors and training."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..metrics import per_time
from .square import (
    DIFFERENCE_MAP,
    INK,
    PREDICTION,
    STATE_MAP,
    TRUTH,
    checked_feature,
    checked_pair,
    colour_scale,
    finish_colour_bar,
    finish_picture,
    nearest,
    scale_label,
    squares,
)

if TYPE_CHECKING:
    from ..training import History
    from ..trajectory import Trajectory

MOST_CURVES = 12


def compare(
    truth: Trajectory,
    prediction: Trajectory,
    times: Sequence[float] | None = None,
    *,
    feature: int | str = 0,
    train_until: float | None = None,
    label: str = "prediction",
) -> Figure:
    """Truth, prediction and prediction - truth, a row each, at some times on the square layout.

    Node i is the cell at row i // N, column i % N, N = ceil(sqrt(n)); cells without a node stay blank. Truth and
    prediction share one colour scale; that of the difference is symmetric about 0. Where most of the values are small, the
    shared scale is a square root, and its label says so.

    Args:
        truth: states of shape (T, n, d).
        prediction: at the same times, same shape.
        times: the nearest snapshots are shown, each once; by default six, spread evenly from the first to the last.
        feature: which of the d features, by position or name.
        train_until: the last training time; a dashed line separates the times after it.
        label: name of the second row.

    Returns:
        A new figure.

    Example:
        >>> import ndcn
        >>> graph = ndcn.networks.grid(100)
        >>> x0, times = ndcn.laws.initial_state(graph), ndcn.sampling.regular_times(2.0, 11)
        >>> truth, guess = (ndcn.simulate(ndcn.laws.Heat(k), graph, x0, times) for k in (1.0, 0.9))
        >>> figure = ndcn.plot.compare(truth, guess, train_until=1.5)
        >>> len(figure.axes)  # three rows of six, and two colour bars
        20
    """
    feature = checked_pair(truth, prediction, feature)
    wanted = np.linspace(truth.times.min().item(), truth.times.max().item(), 6) if times is None else np.array(times)
    if wanted.ndim != 1 or len(wanted) == 0 or not np.isfinite(wanted).all():
        raise ValueError(f"times must be a list of at least one finite number, got {times!r}")
    shown = nearest(truth.times, wanted)
    real, guess = (squares(data.states[shown][..., feature]) for data in (truth, prediction))
    error = guess - real
    states = colour_scale(real, guess)
    reach = float(np.nanmax(np.abs(error), initial=0.0)) or 1.0

    cell, gap, left, right, top, bottom = 1.15, 0.12, 0.42, 0.95, 0.5, 0.32
    columns = len(shown)
    width = left + columns * cell + (columns - 1) * gap + right
    height = top + 3 * cell + 2 * gap + bottom
    figure = Figure(figsize=(width, height))

    def place(x: float, y: float, w: float, h: float) -> Axes:
        """Axes with corners in inches from the top left."""
        return figure.add_axes((x / width, 1 - (y + h) / height, w / width, h / height))

    names, colours = ("truth", label, "difference"), (TRUTH, PREDICTION, INK)
    for row, pictures in enumerate((real, guess, error)):
        scale = Normalize(-reach, reach) if row == 2 else states
        for column, picture in enumerate(pictures):
            ax = place(left + column * (cell + gap), top + row * (cell + gap), cell, cell)
            image = ax.imshow(picture, cmap=DIFFERENCE_MAP if row == 2 else STATE_MAP, norm=scale, aspect="auto")
            finish_picture(ax)
            if row == 0:
                ax.set_title(f"t = {truth.times[shown[column]].item():.3g}", fontsize=10, color=INK, pad=5)
            if column == 0:
                ax.set_ylabel(names[row], fontsize=10, color=colours[row], fontweight="bold", labelpad=6)
            if row == 2 and np.isfinite(picture).any():
                ax.set_xlabel(f"mean |·| {np.nanmean(np.abs(picture)):.2g}", fontsize=8, color=INK, labelpad=4)
        if row != 1:
            bar = place(width - right + gap, top + row * (cell + gap), 0.12, 2 * cell + gap if row == 0 else cell)
            text = scale_label(truth.features[feature], states) if row == 0 else f"{label} − truth"
            finish_colour_bar(figure.colorbar(image, cax=bar), text)
    if train_until is not None:
        after = sum(truth.times[k].item() <= train_until for k in shown)
        _mark_window(figure, width, height, left + after * (cell + gap) - gap / 2, top, after, columns)
    return figure


def _mark_window(figure: Figure, width: float, height: float, x: float, top: float, after: int, columns: int) -> None:
    """A dashed line at x inches where the training window ends, with words above it."""
    if after == columns:
        return
    at = x / width
    if after:
        figure.add_artist(
            Line2D([at, at], [0.02, 1 - 0.28 / height], color=INK, linewidth=1.1, linestyle=(0, (4, 3)), zorder=5)
        )
    figure.text(
        at + 0.06 / width, 1 - 0.06 / height, "after training →", fontsize=8, color=INK, style="italic", va="top"
    )


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

    Args:
        data: states of shape (T, n, d).
        prediction: of the same nodes at any times; drawn as lines.
        nodes: labels of the nodes to draw; by default up to 12 that differ most at the first time.
        feature: which of the d features, by position or name.
        train_until: the last training time, marked by a dashed line.
        ax: where to draw.

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
    if prediction is not None and prediction.graph.num_nodes != data.graph.num_nodes:
        raise ValueError(
            f"the prediction has {prediction.graph.num_nodes} nodes, the data {data.graph.num_nodes}: they must agree"
        )
    chosen = _chosen_nodes(data, nodes, feature)
    ax = _axes(ax)
    palette = colormaps[STATE_MAP](np.linspace(0.0, 0.9, len(chosen)))
    order = data.times.argsort()
    observed = data.states[order][..., feature].detach().cpu().numpy()
    for colour, node in zip(palette, chosen, strict=True):
        name = str(data.graph.nodes[node])
        marker: dict[str, Any] = {
            "marker": "o",
            "markersize": 2.5,
            "markeredgewidth": 0,
            "color": colour,
            "label": name,
        }
        line = {"linestyle": "none"} if prediction is not None else {"linestyle": "-", "linewidth": 1.2}
        ax.plot(data.times[order].numpy(), observed[:, node], **marker, **line)
        if prediction is not None:
            sequence = prediction.times.argsort()
            values = prediction.states[sequence][:, node, feature].detach().cpu().numpy()
            ax.plot(prediction.times[sequence].numpy(), values, color=colour, linewidth=1.3)
    ax.set(xlabel="time", ylabel=data.features[feature])
    _mark_time(ax, train_until)
    handles = [h for h in ax.get_lines() if not str(h.get_label()).startswith("_")]
    ax.legend(
        handles=handles,
        title="node",
        fontsize=8,
        title_fontsize=8,
        frameon=False,
        loc="upper left",
        bbox_to_anchor=(1, 1),
    )
    return ax


def _chosen_nodes(data: Trajectory, nodes: Sequence[Hashable] | None, feature: int) -> list[int]:
    labels = list(data.graph.nodes)
    if nodes is not None:
        unknown = [node for node in nodes if node not in labels]
        if unknown or not nodes:
            raise ValueError(
                f"the graph has no node {unknown[0]!r}; its first labels are {labels[:5]}"
                if unknown
                else "nodes must name at least one node"
            )
        return [labels.index(node) for node in nodes]
    ranked = data.first_state()[:, feature].argsort(stable=True).tolist()
    places = np.unique(np.linspace(0, len(ranked) - 1, min(MOST_CURVES, len(ranked))).round().astype(int))
    return [ranked[place] for place in places]


def training_curve(history: History, *, ax: Axes | None = None) -> Axes:
    """Loss over epochs on a logarithmic scale, with the validation loss where there is one.

    Args:
        history: ``history_`` of a fitted estimator.
        ax: where to draw.

    Example:
        >>> import ndcn, torch
        >>> graph = ndcn.networks.grid(9)
        >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, torch.rand(9, 1), [0.0, 0.5, 1.0])
        >>> reg = ndcn.DynamicsRegressor(epochs=5).fit(data)
        >>> ndcn.plot.training_curve(reg.history_).get_yscale()
        'log'
    """
    if not history.loss:
        raise ValueError("the history is empty: nothing was trained")
    ax = _axes(ax)
    ax.plot(range(1, len(history.loss) + 1), history.loss, color=TRUTH, linewidth=1.3, label="training")
    if history.validation:
        epochs, values = zip(*history.validation, strict=True)
        ax.plot(epochs, values, color=PREDICTION, linewidth=1.3, marker="o", markersize=2.5, label="validation")
        ax.legend(frameon=False, fontsize=9)
    ax.set(xlabel="epoch", ylabel="loss", yscale="log" if min(history.loss) > 0 else "linear")
    return ax


def error_over_time(
    prediction: Trajectory, truth: Trajectory, *, train_until: float | None = None, ax: Axes | None = None
) -> Axes:
    """mean_i |prediction - truth| at each time, in percent of mean |truth| over all times.

    The mean of the curve is the normalised l1 error of ``ndcn.metrics.normalized_l1``.

    Args:
        prediction: at the times of the truth, states of shape (T, n, d).
        truth: states of shape (T, n, d).
        train_until: the last training time, marked by a dashed line.
        ax: where to draw.

    Example:
        >>> import ndcn
        >>> graph = ndcn.networks.grid(25)
        >>> x0, times = ndcn.laws.initial_state(graph), ndcn.sampling.regular_times(2.0, 11)
        >>> truth, guess = (ndcn.simulate(ndcn.laws.Heat(k), graph, x0, times) for k in (1.0, 0.9))
        >>> ndcn.plot.error_over_time(guess, truth, train_until=1.5).get_ylabel()
        'error, % of mean |truth|'
    """
    errors = per_time(prediction, truth)
    size = truth.states.double().abs().nanmean().item()
    if size == 0:
        raise ValueError("the true states are all 0, so an error cannot be given relative to them")
    order = truth.times.argsort()
    ax = _axes(ax)
    ax.plot(
        truth.times[order].numpy(),
        100 * errors[order].numpy() / size,
        color=PREDICTION,
        linewidth=1.3,
        marker="o",
        markersize=2.5,
    )
    ax.set(xlabel="time", ylabel="error, % of mean |truth|")
    ax.set_ylim(bottom=0)
    _mark_time(ax, train_until)
    return ax


def _mark_time(ax: Axes, train_until: float | None) -> None:
    if train_until is None:
        return
    ax.axvline(train_until, color=INK, linewidth=1.0, linestyle=(0, (4, 3)))
    ax.annotate(
        "after training →",
        (train_until, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(3, 3),
        textcoords="offset points",
        fontsize=8,
        style="italic",
        color=INK,
    )


def _axes(ax: Axes | None) -> Axes:
    """The axes given, or those of a new figure of our own; lightened in the second case."""
    if ax is not None:
        return ax
    figure = Figure(figsize=(6.0, 3.4), layout="constrained")
    new = figure.add_subplot()
    new.spines[["top", "right"]].set_visible(False)
    new.grid(alpha=0.25, linewidth=0.6)
    new.tick_params(labelsize=9)
    return new
