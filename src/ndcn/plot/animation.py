"""An animation of truth beside one or several predictions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from .._support.progress import Progress
from .movie import check_movie, write_movie
from .network import network_states
from .runs import takes_datasets
from .square import checked_pair, nearest, squares
from .style import INK, PREDICTION, STATE_MAP, TRUTH, axes_at, colour_bar, colour_scale, finish_picture

if TYPE_CHECKING:
    from ..data import Trajectory
    from ..graph import Graph

MOST_PANELS = 12


@takes_datasets
def animate(
    truth: Trajectory,
    prediction: Trajectory | Mapping[str, Trajectory],
    path: str | Path,
    *,
    feature: int | str = 0,
    layout: str | None = None,
    frames: int = 60,
    fps: float = 12.0,
    train_until: float | None = None,
    label: str = "prediction",
    progress: bool | None = None,
) -> None:
    """Write a GIF or MP4 of truth beside one or several predictions, as networks or on the square, with a clock.

    All panels share one colour scale, that of the truth, so that a model that goes astray does not blank the others;
    predicted values outside it are clipped, and its label then says so. The file appears in one move when it is complete.

    Args:
        truth: states of shape (T, n, d).
        prediction: at the same times, same shape; or up to eleven of them by name, a panel for each.
        path: ends in ".gif", or in ".mp4", which needs the program ffmpeg.
        feature: which of the d features, by position or name.
        layout: "network" draws dots and lines, as ``plot.network``; "square" the paper's square. By default the network of a
            graph that has ``positions``, else the square.
        frames: at most so many snapshots are shown, spread as evenly in time as they come.
        fps: frames in a second, up to 50.
        train_until: the last training time; the time line shows the training window.
        label: title of the panel of a single prediction.
        progress: show a progress bar; by default on a terminal only.

    Raises:
        ValueError: another suffix or layout, trajectories that differ in shape or times, or numbers out of range.
        FileNotFoundError: an MP4 is asked for and ffmpeg is not there.
        OSError: the file cannot be written; nothing is left behind.

    Example:
        >>> import ndcn, pathlib, tempfile
        >>> graph = ndcn.networks.grid(25)
        >>> x0, times = ndcn.laws.initial_state(graph), ndcn.sampling.regular_times(2.0, 5)
        >>> truth, one, two = (ndcn.simulate(ndcn.laws.Heat(k), graph, x0, times) for k in (1.0, 0.9, 0.5))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ndcn.plot.animate(truth, {"k = 0.9": one, "k = 0.5": two}, f"{folder}/heat.gif")
        ...     pathlib.Path(f"{folder}/heat.gif").read_bytes()[:6]
        b'GIF89a'
    """
    path = Path(path)
    check_movie(path, fps)
    if frames < 1:
        raise ValueError(f"frames must be at least 1, got {frames}")
    graph = truth.graph
    layout = layout or ("square" if graph.positions is None else "network")
    if layout not in ("network", "square"):
        raise ValueError(f'layout must be "network" or "square", got {layout!r}')
    models = dict(prediction) if isinstance(prediction, Mapping) else {label: prediction}
    if not 1 <= len(models) < MOST_PANELS:
        raise ValueError(f"an animation has 1 to {MOST_PANELS - 1} predictions, got {len(models)}")
    places = [checked_pair(truth, model, feature, name) for name, model in models.items()]
    first, last = truth.times.min().item(), truth.times.max().item()
    shown = nearest(truth.times, np.linspace(first, last, frames))
    states = [data.states[shown][..., places[0]] for data in (truth, *models.values())]
    on_square = layout == "square"
    pictures = [squares(x) if on_square else x.detach().cpu().double().numpy() for x in states]
    moments = truth.times[shown].tolist()
    dpi = 100 if path.suffix.lower() == ".gif" else 150
    name = truth.features[places[0]]
    stage = _Stage(["truth", *models], pictures, moments, name, train_until, dpi, None if on_square else graph)
    with Progress(len(shown), 0, progress, unit="frames", name="drawing") as bar:
        write_movie(path, stage.frames(bar), fps)


class _Stage:
    """The figure of an animation: a grid of panels, a colour bar, a clock and a time line; drawn once, then changed."""

    def __init__(
        self,
        names: list[str],
        pictures: list[np.ndarray],
        times: list[float],
        state: str,
        until: float | None,
        dpi: int,
        graph: Graph | None = None,
    ) -> None:
        self.pictures = pictures
        self.times = times
        count = len(names)
        columns = count if count <= 3 else math.ceil(math.sqrt(count))
        rows = math.ceil(count / columns)
        side, gap, head, foot, right = (2.7 if rows == 1 else 2.0), 0.15, 0.3, 0.58, 0.95
        self.width = gap + columns * (side + gap) + right
        self.height = rows * (side + head) + 0.1 + foot
        self.figure = Figure(figsize=(self.width, self.height), dpi=dpi)
        scale = colour_scale(pictures[0])
        self.images: list[AxesImage | PathCollection] = []
        self.moving: list[Artist] = []  # in the order in which they are drawn on the ground that stays
        for k, (name, picture) in enumerate(zip(names, pictures, strict=True)):
            row, column = divmod(k, columns)
            ax = axes_at(self.figure, gap + column * (side + gap), head + row * (side + head), side, side)
            ax.set_title(name, fontsize=11, color=PREDICTION if k else TRUTH, fontweight="bold", pad=5)
            if graph is not None:
                self.images.append(network_states(ax, graph, picture[0], scale))
                self.moving.append(self.images[-1])
                continue
            self.images.append(ax.imshow(picture[0], cmap=STATE_MAP, norm=scale))
            finish_picture(ax)
            self.moving += [self.images[-1], *ax.spines.values()]
        bar = axes_at(self.figure, self.width - right, head, 0.15, rows * (side + head) - head)
        colour_bar(bar, scale, state, *pictures[1:])
        self._draw_clock(until, gap, self.width - right - gap)

    def frames(self, bar: Progress) -> Iterator[np.ndarray]:
        """Each frame in turn, uint8 of shape (height, width, 3)."""
        canvas = FigureCanvasAgg(self.figure)
        for artist in self.moving:
            artist.set_animated(True)
        canvas.draw()
        ground = canvas.copy_from_bbox(self.figure.bbox)
        for k, t in enumerate(self.times):
            for image, picture in zip(self.images, self.pictures, strict=True):
                if isinstance(image, AxesImage):
                    image.set_data(picture[k])
                else:
                    image.set_array(picture[k])
            self.clock.set_text(_clock(t, self.end))
            self.done.set_data([self.begin, t], [0, 0])
            canvas.restore_region(ground)
            for artist in self.moving:
                self.figure.draw_artist(artist)
            yield np.asarray(canvas.buffer_rgba())[..., :3].copy()
            bar.update(k + 1)

    def _draw_clock(self, train_until: float | None, left: float, right: float) -> None:
        """The clock at the lower left, and beside it the time line with the training window."""
        y = 0.2
        start = left + 1.3
        font: dict[str, Any] = {"fontsize": 11, "family": "DejaVu Sans Mono"}
        self.clock = self.figure.text(left / self.width, y / self.height, "", color=INK, va="center", **font)
        self.begin, self.end = self.times[0], self.times[-1]
        line = axes_at(self.figure, start, self.height - y - 0.1, right - start, 0.2)
        line.set(xlim=(self.begin, self.end if self.end > self.begin else self.begin + 1), ylim=(-1, 1))
        line.axis("off")
        edge = line.get_xlim()[1]
        style: dict[str, Any] = {"linewidth": 4, "solid_capstyle": "round", "clip_on": False}
        line.plot([self.begin, edge], [0, 0], color="#DDDDDD", **style)
        (self.done,) = line.plot([], [], color=INK, **style)
        self.moving += [self.clock, self.done]
        if train_until is None or not self.begin < train_until < edge:
            return
        self.moving += line.plot([train_until] * 2, [-0.9, 0.9], color=PREDICTION, linewidth=1.5, clip_on=False)
        words: dict[str, Any] = {"textcoords": "offset points", "fontsize": 8, "style": "italic", "color": INK}
        if (train_until - self.begin) / (edge - self.begin) * (right - start) > 0.7:  # inches, what the word takes
            line.annotate("training", (train_until, 0.5), (-4, 2), ha="right", annotation_clip=False, **words)
        line.annotate("extrapolation", (train_until, 0.5), (4, 2), ha="left", annotation_clip=False, **words)


def _clock(t: float, end: float) -> str:
    """The time with as many digits as the end of the time line needs, so that it does not jump.

    Example:
        >>> _clock(0.5, 5.0), _clock(0.5, 0.75), _clock(0.5, 1e-9)
        ('t = 0.50', 't = 0.500', 't = 0.5')
    """
    if not 1e-4 < end < 1000:
        return f"t = {t:.4g}"
    digits = 2 if end >= 1 else 2 - math.floor(math.log10(end))
    return f"t = {t:{len(f'{end:.{digits}f}')}.{digits}f}"
