"""Figures of many panels: truth against prediction of one network, and of several networks side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from mpl_toolkits.mplot3d import Axes3D

from .matrix import draw_adjacency
from .snapshots import check_surface, draw_heat_map, draw_surface
from .square import checked_pair, closest, nearest, squares
from .style import (
    DIFFERENCE_MAP,
    INK,
    PREDICTION,
    STATE_MAP,
    TINT,
    TRUTH,
    at_time,
    clipped,
    colour_bar,
    colour_scale,
    finish_colour_bar,
    finish_picture,
    scale_label,
)

if TYPE_CHECKING:
    from ..data import Trajectory


def compare(
    truth: Trajectory,
    prediction: Trajectory,
    times: Sequence[float] | None = None,
    *,
    feature: int | str = 0,
    train_until: float | None = None,
    label: str = "prediction",
    ax: Sequence[Axes] | np.ndarray | None = None,
) -> np.ndarray:
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
    wanted = np.linspace(truth.times.min().item(), truth.times.max().item(), 6) if times is None else np.array(times)
    if wanted.ndim != 1 or len(wanted) == 0 or not np.isfinite(wanted).all():
        raise ValueError(f"times must be a list of at least one finite number, got {times!r}")
    shown = nearest(truth.times, wanted)
    real, guess = (squares(data.states[shown][..., feature]) for data in (truth, prediction))
    error = guess - real
    states = colour_scale(real)
    cut = clipped(states, guess)
    reach = float(np.nanmax(np.abs(error), initial=0.0)) or 1.0

    cell, gap, left, right, top, bottom = 1.15, 0.12, 0.42, 0.95, 0.5, 0.32
    columns = len(shown)
    given = None if ax is None else _given(ax, columns)
    width = left + columns * cell + (columns - 1) * gap + right
    height = top + 3 * cell + 2 * gap + bottom
    figure = Figure(figsize=(width, height)) if given is None else given[0, 0].get_figure(root=True)

    def place(x: float, y: float, w: float, h: float) -> Axes:
        """Axes with corners in inches from the top left."""
        return figure.add_axes((x / width, 1 - (y + h) / height, w / width, h / height))

    names, colours = ("truth", label, "difference"), (TRUTH, PREDICTION, INK)
    drawn = np.empty((3, columns), dtype=object)
    for row, pictures in enumerate((real, guess, error)):
        scale = Normalize(-reach, reach) if row == 2 else states
        for column, picture in enumerate(pictures):
            if given is None:
                panel = place(left + column * (cell + gap), top + row * (cell + gap), cell, cell)
            else:
                panel = given[row, column]
                panel.set_box_aspect(1)
            drawn[row, column] = panel
            image = panel.imshow(picture, cmap=DIFFERENCE_MAP if row == 2 else STATE_MAP, norm=scale, aspect="auto")
            finish_picture(panel)
            if row == 0:
                t = truth.times[shown[column]].item()
                after = given is not None and train_until is not None and t > train_until
                words = at_time(t) + ("\nafter training" if after else "")
                panel.set_title(words, fontsize=10 if given is None else 8, color=INK, pad=5)
            if column == 0:
                panel.set_ylabel(
                    names[row], fontsize=10 if given is None else 8, color=colours[row], fontweight="bold", labelpad=6
                )
            if row == 2 and np.isfinite(picture).any():
                panel.set_xlabel(
                    f"mean |·| {np.nanmean(np.abs(picture)):.2g}",
                    fontsize=8 if given is None else 7,
                    color=INK,
                    labelpad=4,
                )
        if given is not None and row:
            rows = given[:2] if row == 1 else given[2:]
            bars = figure.colorbar(image, ax=rows.ravel().tolist(), extend=cut if row == 1 else "neither")
            text = scale_label(truth.features[feature], states, cut, narrow=True) if row == 1 else f"{label} − truth"
            finish_colour_bar(bars, text, size=8)
        elif given is None and row != 1:
            bar = place(width - right + gap, top + row * (cell + gap), 0.12, 2 * cell + gap if row == 0 else cell)
            if row == 0:
                colour_bar(bar, states, scale_label(truth.features[feature], states, cut), cut)
            else:
                finish_colour_bar(figure.colorbar(image, cax=bar), f"{label} − truth")
    if train_until is not None and given is None:
        seen = sum(truth.times[k].item() <= train_until for k in shown)
        _mark_window(figure, width, height, left + seen * (cell + gap) - gap / 2, top, seen, columns)
    return drawn


def _given(ax: Sequence[Axes] | np.ndarray, columns: int) -> np.ndarray:
    """Axes that were given as an array of shape (3, columns)."""
    axes = np.asarray(ax, dtype=object)
    if axes.size != 3 * columns:
        raise ValueError(
            f"{columns} times need three rows of {columns} axes, figure.subplots(3, {columns}), got {axes.size} axes"
        )
    return axes.reshape(3, columns)


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


def panels(
    truths: Mapping[str, Trajectory],
    predictions: Mapping[str, Trajectory],
    *,
    times: Sequence[float] | None = None,
    shares: Sequence[float] = (0.0, 0.5, 1.0),
    kind: str = "surface",
    matrices: bool = True,
    train_until: Mapping[str, float | None] | None = None,
    feature: int | str = 0,
    label: str = "prediction",
    title: str | None = None,
) -> Figure:
    """Truth above prediction at some times, a column for each network: the paper's figure of one dynamics.

    Truth and prediction of a network share one scale of colour (and height), that of the truth, with a colour bar below
    the column; predicted values outside it are clipped, and its label then says so. What lies after the last training
    time has a tinted ground and the word "extrapolation". The figure is 7.2 inches wide for up to five networks.

    Args:
        truths: name of each network, its column's title, and states of shape (T, n, d).
        predictions: under the same names, at the same times, same shapes.
        times: the snapshots nearest to them are shown for every network.
        shares: used if ``times`` is not given: shares of each network's time span, 0 for its first time, 1 for its last.
        kind: "surface" or "heat_map".
        matrices: whether the adjacency matrices are the first row.
        train_until: under the same names, the last training time, or None.
        feature: which of the d features, by position or name.
        label: name of the predicted rows.
        title: above the figure.

    Returns:
        A new figure.

    Raises:
        ValueError: names, shapes or times do not agree, numbers are out of range, or a surface would have under 4 nodes.

    Example:
        >>> import ndcn
        >>> truths, guesses = {}, {}
        >>> for name in ("grid", "small_world"):
        ...     graph = ndcn.networks.NAMED[name](25)
        ...     x0, times = ndcn.laws.initial_state(graph), ndcn.sampling.regular_times(2.0, 11)
        ...     truths[name] = ndcn.simulate(ndcn.laws.Heat(1.0), graph, x0, times)
        ...     guesses[name] = ndcn.simulate(ndcn.laws.Heat(0.9), graph, x0, times)
        >>> figure = ndcn.plot.panels(truths, guesses, train_until={"grid": 1.5}, label="NDCN")
        >>> len(figure.axes)  # in each column a matrix, three times truth and prediction, and a colour bar
        16
    """
    if kind not in ("surface", "heat_map"):
        raise ValueError(f'kind must be "surface" or "heat_map", got {kind!r}')
    wanted = np.array(shares if times is None else times, dtype=float)
    if wanted.ndim != 1 or len(wanted) == 0 or not np.isfinite(wanted).all():
        name, given = ("shares", shares) if times is None else ("times", times)
        raise ValueError(f"{name} must be a list of at least one finite number, got {given!r}")
    if times is None and not ((wanted >= 0) & (wanted <= 1)).all():
        raise ValueError(f"shares lie between 0 and 1, got {shares!r}")
    until = train_until or {}
    _check_names(truths, predictions, until)
    places = {name: checked_pair(truths[name], guess, feature, name) for name, guess in predictions.items()}
    if kind == "surface":
        for data in truths.values():
            check_surface(data)
    columns = [
        _column(truth, predictions[name], wanted, times is None, places[name], until.get(name))
        for name, truth in truths.items()
    ]
    lines = max(column.text.count("\n") + 1 for column in columns)
    sheet = _Sheet(len(columns), len(wanted), kind, matrices, title, lines)
    for place, (name, column) in enumerate(zip(truths, columns, strict=True)):
        sheet.heading(place, name)
        if matrices:
            sheet.matrix(place, truths[name])
        for k, t in enumerate(column.times):
            sheet.moment(place, k, t, after=column.end is not None and t > column.end)
            sheet.snapshot(place, k, 0, column.real[k], column.scale)
            sheet.snapshot(place, k, 1, column.guess[k], column.scale)
        sheet.bar(place, column)
    sheet.name_rows(label)
    return sheet.figure


class _Column(NamedTuple):
    """What one network shows: pictures of shape (times, N, N), their scale, and the label of its bar."""

    times: list[float]
    real: np.ndarray
    guess: np.ndarray
    scale: Normalize
    cut: str
    text: str
    end: float | None


def _column(
    truth: Trajectory, prediction: Trajectory, wanted: np.ndarray, shares: bool, feature: int, end: float | None
) -> _Column:
    first, last = truth.times.min().item(), truth.times.max().item()
    shown = [closest(truth.times, t) for t in (first + wanted * (last - first) if shares else wanted)]
    real, guess = (squares(data.states[shown][..., feature]) for data in (truth, prediction))
    scale = colour_scale(real)
    cut = clipped(scale, guess)
    text = scale_label(truth.features[feature], scale, cut, narrow=True)
    return _Column(truth.times[shown].tolist(), real, guess, scale, cut, text, end)


def _check_names(
    truths: Mapping[str, Trajectory], predictions: Mapping[str, Trajectory], until: Mapping[str, float | None]
) -> None:
    if not truths:
        raise ValueError("there is nothing to draw: give at least one network")
    if set(truths) != set(predictions):
        raise ValueError(
            f"truths are of {', '.join(map(str, truths))}, predictions of {', '.join(map(str, predictions)) or 'none'}: "
            "they must have the same names"
        )
    unknown = [name for name in until if name not in truths]
    if unknown:
        raise ValueError(f"train_until names {unknown[0]!r}, which is none of {', '.join(map(str, truths))}")


class _Sheet:
    """Where everything lies in the figure of ``panels``, in inches from the top left.

    Each network has a column: heading, matrix, then for each time a line with the time and two cells, then the bar.
    """

    LEFT, RIGHT, GAP, LINE = 0.32, 0.04, 0.08, 0.2

    def __init__(self, columns: int, moments: int, kind: str, matrices: bool, title: str | None, lines: int) -> None:
        self.kind, self.below = kind, 0.36 + 0.14 * lines
        self.cell = float(np.clip((7.2 - self.LEFT - self.RIGHT) / columns, 1.368, 1.5))
        inner = self.cell - self.GAP
        self.inner = inner
        self.high = (0.8 if kind == "surface" else 0.86) * inner  # so that three times fit on a page
        self.square = inner if kind == "surface" else self.high
        self.top = (0.3 if title else 0.0) + 0.24
        self.body = self.top + (self.square + 0.1 if matrices else 0.0)
        self.step = self.LINE + 2 * self.high + self.GAP + 0.04
        self.moments, self.matrices = moments, matrices
        self.width = self.LEFT + columns * self.cell + self.RIGHT
        self.height = self.body + moments * self.step + self.below
        self.figure = Figure(figsize=(self.width, self.height))
        if title:
            self.figure.text(0.5, 1 - 0.08 / self.height, title, fontsize=11, color=INK, ha="center", va="top")

    def x(self, column: int) -> float:
        """The left edge of a column's pictures."""
        return self.LEFT + column * self.cell + self.GAP / 2

    def y(self, k: int, which: int = 0) -> float:
        """The upper edge of the k-th time's truth (0) or prediction (1)."""
        return self.body + k * self.step + self.LINE + which * (self.high + self.GAP / 2)

    def place(self, x: float, y: float, w: float, h: float, projection: str | None = None) -> Axes:
        """Axes by their upper left corner and size."""
        box = (x / self.width, 1 - (y + h) / self.height, w / self.width, h / self.height)
        return self.figure.add_axes(box, projection=projection)

    def write(self, x: float, y: float, text: str, colour: str, size: float, weight: str, turn: float = 0) -> None:
        """Text centred at a point."""
        at = (x / self.width, 1 - y / self.height)
        words = self.figure.text(*at, text, ha="center", va="center", fontsize=size, fontweight=weight, rotation=turn)
        words.set_color(colour)

    def heading(self, column: int, name: str) -> None:
        """The network's name."""
        self.write(self.x(column) + self.inner / 2, self.top - 0.12, name.replace("_", " "), INK, 9, "bold")

    def matrix(self, column: int, data: Trajectory) -> None:
        """The adjacency matrix."""
        ax = self.place(self.x(column), self.top, self.inner, self.square)
        draw_adjacency(ax, data.graph)
        ax.set(xticks=[], yticks=[])

    def moment(self, column: int, k: int, t: float, *, after: bool) -> None:
        """The time above a pair of pictures, and the tinted ground of those after training."""
        y = self.y(k) - self.LINE
        if after:
            x, w, h = self.x(column) - self.GAP / 4, self.inner + self.GAP / 2, self.step - 0.04
            corner = (x / self.width, 1 - (y + h) / self.height)
            ground = Rectangle(corner, w / self.width, h / self.height, color=TINT, linewidth=0, zorder=-5)
            self.figure.add_artist(ground)
        text = at_time(t) + (", extrapolation" if after else "")
        self.write(self.x(column) + self.inner / 2, y + self.LINE / 2, text, INK, 7.5, "normal")

    def snapshot(self, column: int, k: int, which: int, picture: np.ndarray, scale: Normalize) -> None:
        """One picture: of the truth (0) or of the prediction (1) at the k-th time."""
        ax = self.place(
            self.x(column), self.y(k, which), self.inner, self.high, "3d" if self.kind == "surface" else None
        )
        if isinstance(ax, Axes3D):
            draw_surface(ax, picture, scale)
            ax.set_zticklabels([])
        else:
            draw_heat_map(ax, picture, scale)

    def bar(self, place: int, column: _Column) -> None:
        """The colour bar below a column."""
        ax = self.place(self.x(place) + 0.06, self.height - self.below + 0.04, self.inner - 0.12, 0.07)
        colour_bar(ax, column.scale, column.text, column.cut, horizontal=True, size=7.5).ax.xaxis.labelpad = 1

    def name_rows(self, label: str) -> None:
        """What each row shows, at the left."""
        if self.matrices:
            self.write(self.LEFT / 2, self.top + self.square / 2, "network", INK, 8.5, "bold", 90)
        for k in range(self.moments):
            for which, (text, colour) in enumerate((("truth", TRUTH), (label, PREDICTION))):
                size, text = (8.5, text) if len(text) < 14 else (7.5, textwrap.fill(text, 15))
                self.write(self.LEFT / 2, self.y(k, which) + self.high / 2, text, colour, size, "bold", 90)
