"""Truth above prediction of several networks side by side: the paper's figure of one dynamics."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from mpl_toolkits.mplot3d import Axes3D

from .matrix import draw_adjacency
from .notebook import Picture
from .snapshots import check_surface, draw_heat_map, draw_surface
from .square import checked_moments, checked_pair, closest, squares
from .style import INK, PREDICTION, STATE_MAP, TINT, TRUTH, at_time, axes_at, bar_of, clipped, colour_scale, scale_label

if TYPE_CHECKING:
    from ..data import Trajectory
    from ..graph import Graph


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
    wanted = checked_moments("times", times) if times is not None else checked_moments("shares", shares)
    if times is None and not ((wanted >= 0) & (wanted <= 1)).all():
        raise ValueError(f"shares lie between 0 and 1, got {shares!r}")
    until = train_until or {}
    _check_names(truths, predictions, until)
    places = {name: checked_pair(truths[name], guess, feature, name) for name, guess in predictions.items()}
    if kind not in ("surface", "heat_map"):
        raise ValueError(f'kind must be "surface" or "heat_map", got {kind!r}')
    if kind == "surface":
        for truth in truths.values():
            check_surface(truth)
    columns = [
        _column(truth, predictions[name], wanted, times is None, places[name], until.get(name))
        for name, truth in truths.items()
    ]
    sheet = _Sheet(columns, len(wanted), kind, matrices, title)
    for place, (name, column) in enumerate(zip(truths, columns, strict=True)):
        sheet.draw(place, name, column, truths[name].graph)
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
        given, made = (", ".join(map(str, names)) or "none" for names in (truths, predictions))
        raise ValueError(f"truths are of {given}, predictions of {made}: they must have the same names")
    unknown = [name for name in until if name not in truths]
    if unknown:
        raise ValueError(f"train_until names {unknown[0]!r}, which is none of {', '.join(map(str, truths))}")


class _Sheet:
    """Where everything lies in the figure of ``panels``, in inches from the top left.

    Each network has a column: heading, matrix, then for each time a line with the time and two cells, then the bar.
    """

    LEFT, RIGHT, GAP, LINE = 0.32, 0.04, 0.08, 0.2

    def __init__(self, columns: list[_Column], moments: int, kind: str, matrices: bool, title: str | None) -> None:
        self.kind = kind
        self.moments = moments
        self.matrices = matrices
        self.below = 0.36 + 0.14 * max(column.text.count("\n") + 1 for column in columns)
        self.cell = float(np.clip((7.2 - self.LEFT - self.RIGHT) / len(columns), 1.368, 1.5))
        self.inner = self.cell - self.GAP
        self.high = (0.8 if kind == "surface" else 0.86) * self.inner  # so that three times fit on a page
        self.square = self.inner if kind == "surface" else self.high
        self.top = (0.3 if title else 0.0) + 0.24
        self.body = self.top + (self.square + 0.1 if matrices else 0.0)
        self.step = self.LINE + 2 * self.high + self.GAP + 0.04
        self.width = self.LEFT + len(columns) * self.cell + self.RIGHT
        self.height = self.body + moments * self.step + self.below
        self.figure = Picture(figsize=(self.width, self.height))
        if title:
            self.figure.text(0.5, 1 - 0.08 / self.height, title, fontsize=11, color=INK, ha="center", va="top")

    def x(self, column: int) -> float:
        """The left edge of a column's pictures."""
        return self.LEFT + column * self.cell + self.GAP / 2

    def y(self, k: int, which: int = 0) -> float:
        """The upper edge of the k-th time's truth (0) or prediction (1)."""
        return self.body + k * self.step + self.LINE + which * (self.high + self.GAP / 2)

    def write(self, x: float, y: float, text: str, colour: str, size: float, weight: str, turn: float = 0) -> None:
        at = (x / self.width, 1 - y / self.height)
        words = self.figure.text(*at, text, ha="center", va="center", fontsize=size, fontweight=weight, rotation=turn)
        words.set_color(colour)

    def draw(self, place: int, name: str, column: _Column, graph: Graph) -> None:
        """All of one network, from its name down to the colour bar."""
        x = self.x(place)
        self.write(x + self.inner / 2, self.top - 0.12, name.replace("_", " "), INK, 9, "bold")
        if self.matrices:
            ax = axes_at(self.figure, x, self.top, self.inner, self.square)
            draw_adjacency(ax, graph)
            ax.set(xticks=[], yticks=[])
        for k, t in enumerate(column.times):
            self.moment(x, k, t, after=column.end is not None and t > column.end)
            self.snapshot(x, self.y(k, 0), column.real[k], column.scale)
            self.snapshot(x, self.y(k, 1), column.guess[k], column.scale)
        ax = axes_at(self.figure, x + 0.06, self.height - self.below + 0.04, self.inner - 0.12, 0.07)
        colours = ScalarMappable(column.scale, STATE_MAP)
        bar = bar_of(ax, colours, column.text, size=7.5, extend=column.cut, orientation="horizontal")
        bar.ax.xaxis.labelpad = 1

    def moment(self, x: float, k: int, t: float, *, after: bool) -> None:
        """The time above a pair of pictures, and the tinted ground of those after training."""
        y = self.y(k) - self.LINE
        if after:
            w, h = self.inner + self.GAP / 2, self.step - 0.04
            corner = ((x - self.GAP / 4) / self.width, 1 - (y + h) / self.height)
            ground = Rectangle(corner, w / self.width, h / self.height, color=TINT, linewidth=0, zorder=-5)
            self.figure.add_artist(ground)
        text = at_time(t) + (", extrapolation" if after else "")
        self.write(x + self.inner / 2, y + self.LINE / 2, text, INK, 7.5, "normal")

    def snapshot(self, x: float, y: float, picture: np.ndarray, scale: Normalize) -> None:
        ax = axes_at(self.figure, x, y, self.inner, self.high, "3d" if self.kind == "surface" else None)
        if isinstance(ax, Axes3D):
            draw_surface(ax, picture, scale)
            ax.set_zticklabels([])
        else:
            draw_heat_map(ax, picture, scale)

    def name_rows(self, label: str) -> None:
        """What each row shows, at the left."""
        if self.matrices:
            self.write(self.LEFT / 2, self.top + self.square / 2, "network", INK, 8.5, "bold", 90)
        for k in range(self.moments):
            for which, (text, colour) in enumerate((("truth", TRUTH), (label, PREDICTION))):
                size, text = (8.5, text) if len(text) < 14 else (7.5, textwrap.fill(text, 15))
                self.write(self.LEFT / 2, self.y(k, which) + self.high / 2, text, colour, size, "bold", 90)
