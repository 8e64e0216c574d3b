"""Truth, prediction and their difference at some times, a row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D

from . import style
from .notebook import AxesArray, Picture, axes_array
from .runs import takes_datasets
from .square import checked_moments, checked_pair, nearest, squares
from .style import DIFFERENCE_MAP, INK, PREDICTION, STATE_MAP, TRUTH, at_time, axes_at, colour_scale, finish_picture

if TYPE_CHECKING:
    from ..data import Trajectory


@takes_datasets
def compare(
    truth: Trajectory,
    prediction: Trajectory,
    times: Sequence[float] | None = None,
    *,
    feature: int | str = 0,
    train_until: float | None = None,
    label: str = "prediction",
    ax: Sequence[Axes] | np.ndarray | None = None,
) -> AxesArray:
    """Truth, prediction and prediction - truth, a row each, at some times on the square layout.

    Node i is the cell at row i // N, column i % N, N = ceil(sqrt(n)); cells without a node stay blank. Truth and
    prediction share one colour scale, that of the truth; predicted values outside it are clipped, and its label then says
    so. Where most of the values are small, it is a square root. The scale of the difference is symmetric about 0.

    Args:
        truth: states of shape (T, n, d).
        prediction: at the same times, same shape.
        times: the nearest snapshots are shown, each once; by default six, spread evenly from the first to the last.
        feature: which of the d features, by position or name.
        train_until: the last training time; a dashed line separates the times after it.
        label: name of the second row.
        ax: where to draw, three rows of axes with a column for each time, as ``figure.subplots(3, k)`` gives them; then
            the titles say which times lie after training.

    Returns:
        The axes, shape (3, times), of a new figure if none were given.

    Raises:
        ValueError: shapes or times do not agree, or there are not three axes for each time shown.

    Example:
        >>> import ndcn
        >>> graph = ndcn.networks.grid(100)
        >>> x0, times = ndcn.laws.initial_state(graph), ndcn.sampling.regular_times(2.0, 11)
        >>> truth, guess = (ndcn.simulate(ndcn.laws.Heat(k), graph, x0, times) for k in (1.0, 0.9))
        >>> ax = ndcn.plot.compare(truth, guess, train_until=1.5)
        >>> ax.shape, len(ax[0, 0].figure.axes)  # with two colour bars
        ((3, 6), 20)
    """
    feature = checked_pair(truth, prediction, feature)
    even = np.linspace(truth.times.min().item(), truth.times.max().item(), 6)
    shown = nearest(truth.times, even if times is None else checked_moments("times", times))
    moments = truth.times[shown].tolist()
    real, guess = (squares(data.states[shown][..., feature]) for data in (truth, prediction))
    states = colour_scale(real)
    reach = float(np.nanmax(np.abs(guess - real), initial=0.0)) or 1.0
    axes = _new_axes(len(shown)) if ax is None else _given_axes(ax, len(shown))
    size = 10 if ax is None else 8
    for panel, t in zip(axes[0], moments, strict=True):
        after = ax is not None and train_until is not None and t > train_until
        panel.set_title(at_time(t) + ("\nafter training" if after else ""), fontsize=size, color=INK, pad=5)
    _draw_row(axes[0], real, states, "truth", TRUTH, size)
    _draw_row(axes[1], guess, states, label, PREDICTION, size)
    _draw_row(axes[2], guess - real, Normalize(-reach, reach), "difference", INK, size, DIFFERENCE_MAP)
    for panel, picture in zip(axes[2], guess - real, strict=True):
        if np.isfinite(picture).any():
            mean = f"mean |·| {np.nanmean(np.abs(picture)):.2g}"
            panel.set_xlabel(mean, fontsize=8 if ax is None else 7, color=INK, labelpad=4)
    draw_bars = _bars_of_new if ax is None else _bars_of_given
    draw_bars(axes, states, truth.features[feature], guess, f"{label} − truth")
    if ax is None and train_until is not None:
        _mark_window(axes, sum(t <= train_until for t in moments))
    return axes_array(axes)


CELL, GAP, LEFT, RIGHT, TOP, BOTTOM = 1.15, 0.12, 0.42, 0.95, 0.5, 0.32  # inches of a new figure


def _new_axes(columns: int) -> np.ndarray:
    figure = Picture(figsize=(LEFT + columns * CELL + (columns - 1) * GAP + RIGHT, TOP + 3 * CELL + 2 * GAP + BOTTOM))
    axes = np.empty((3, columns), dtype=object)
    for row, column in np.ndindex(axes.shape):
        axes[row, column] = axes_at(figure, LEFT + column * (CELL + GAP), TOP + row * (CELL + GAP), CELL, CELL)
    return axes


def _given_axes(ax: Sequence[Axes] | np.ndarray, columns: int) -> np.ndarray:
    axes = np.asarray(ax, dtype=object)
    if axes.size != 3 * columns:
        needed = f"three rows of {columns} axes, figure.subplots(3, {columns})"
        raise ValueError(f"{columns} times need {needed}, got {axes.size} axes")
    for panel in axes.flat:
        panel.set_box_aspect(1)
    return axes.reshape(3, columns)


def _draw_row(
    axes: np.ndarray, pictures: np.ndarray, scale: Normalize, name: str, colour: str, size: float, cmap: str = STATE_MAP
) -> None:
    for panel, picture in zip(axes, pictures, strict=True):
        panel.imshow(picture, cmap=cmap, norm=scale, aspect="auto")
        finish_picture(panel)
    axes[0].set_ylabel(name, fontsize=size, color=colour, fontweight="bold", labelpad=6)


def _bars_of_given(axes: np.ndarray, scale: Normalize, name: str, guess: np.ndarray, difference: str) -> None:
    """Colour bars that take their room from the axes."""
    figure = axes[0, 0].get_figure(root=True)
    cut = style.clipped(scale, guess)
    states = figure.colorbar(axes[1, -1].images[0], ax=axes[:2].ravel().tolist(), extend=cut)
    style.finish_colour_bar(states, style.scale_label(name, scale, cut, narrow=True), size=8)
    style.finish_colour_bar(figure.colorbar(axes[2, -1].images[0], ax=axes[2].tolist()), difference, size=8)


def _bars_of_new(axes: np.ndarray, scale: Normalize, name: str, guess: np.ndarray, difference: str) -> None:
    """Colour bars at the right of a figure of our own."""
    figure = axes[0, 0].figure
    x = figure.get_figwidth() - RIGHT + GAP
    style.colour_bar(axes_at(figure, x, TOP, 0.12, 2 * CELL + GAP), scale, name, guess)
    style.bar_of(axes_at(figure, x, TOP + 2 * (CELL + GAP), 0.12, CELL), axes[2, -1].images[0], difference)


def _mark_window(axes: np.ndarray, seen: int) -> None:
    """A dashed line after the columns of the training window, with words above it."""
    if seen == axes.shape[1]:
        return
    figure = axes[0, 0].figure
    width, height = figure.get_size_inches().tolist()
    at = (LEFT + seen * (CELL + GAP) - GAP / 2) / width
    if seen:
        span = [0.02, 1 - 0.28 / height]
        figure.add_artist(Line2D([at, at], span, color=INK, linewidth=1.1, linestyle=(0, (4, 3)), zorder=5))
    place = (at + 0.06 / width, 1 - 0.06 / height)
    figure.text(*place, "after training →", fontsize=8, color=INK, style="italic", va="top")
