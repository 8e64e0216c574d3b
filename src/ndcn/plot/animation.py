"""An animated GIF of truth beside prediction."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from ..files import write
from .square import (
    INK,
    PREDICTION,
    STATE_MAP,
    TRUTH,
    checked_pair,
    colour_scale,
    finish_colour_bar,
    finish_picture,
    nearest,
    scale_label,
    squares,
)

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

    from ..trajectory import Trajectory


def animate(
    truth: Trajectory,
    prediction: Trajectory,
    path: str | Path,
    *,
    feature: int | str = 0,
    frames: int = 60,
    fps: float = 12.0,
    train_until: float | None = None,
    label: str = "prediction",
) -> None:
    """Write a GIF of truth beside prediction on the square layout, with a clock; both share one colour scale.

    The file appears in one move when it is complete.

    Args:
        truth: states of shape (T, n, d).
        prediction: at the same times, same shape.
        path: ends in ".gif".
        feature: which of the d features, by position or name.
        frames: at most so many snapshots are shown, spread as evenly in time as they come.
        fps: frames in a second, up to 50.
        train_until: the last training time, marked on the time line.
        label: title of the right panel.

    Raises:
        ValueError: another suffix, trajectories that differ in shape or times, or numbers out of range.
        OSError: the file cannot be written; nothing is left behind.

    Example:
        >>> import ndcn, pathlib, tempfile
        >>> graph = ndcn.networks.grid(25)
        >>> x0, times = ndcn.laws.initial_state(graph), ndcn.sampling.regular_times(2.0, 5)
        >>> truth, guess = (ndcn.simulate(ndcn.laws.Heat(k), graph, x0, times) for k in (1.0, 0.9))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ndcn.plot.animate(truth, guess, f"{folder}/heat.gif")
        ...     pathlib.Path(f"{folder}/heat.gif").read_bytes()[:6]
        b'GIF89a'
    """
    path = Path(path)
    if path.suffix.lower() != ".gif":
        raise ValueError(f'animations are written as GIF: the name must end in ".gif", got {path.name!r}')
    if frames < 1 or not 0 < fps <= 50:
        raise ValueError(f"frames must be at least 1 and fps in (0, 50], got frames={frames}, fps={fps}")
    feature = checked_pair(truth, prediction, feature)
    first, last = truth.times.min().item(), truth.times.max().item()
    shown = nearest(truth.times, np.linspace(first, last, frames))
    pictures = _frames(truth, prediction, shown, feature, train_until, label)
    write(
        path,
        lambda new: pictures[0].save(
            new, format="GIF", save_all=True, append_images=pictures[1:], duration=round(1000 / fps), loop=0
        ),
    )


def _frames(
    truth: Trajectory, prediction: Trajectory, shown: list[int], feature: int, train_until: float | None, label: str
) -> list[Picture]:
    from PIL import Image

    real, guess = (squares(data.states[shown][..., feature]) for data in (truth, prediction))
    scale = colour_scale(real, guess)
    times = truth.times[shown].tolist()

    figure = Figure(figsize=(6.6, 3.6), dpi=100)
    canvas = FigureCanvasAgg(figure)
    images = []
    for left, picture, title, colour in ((0.03, real, "truth", TRUTH), (0.46, guess, label, PREDICTION)):
        ax = figure.add_axes((left, 0.16, 0.41, 0.75))
        images.append(ax.imshow(picture[0], cmap=STATE_MAP, norm=scale))
        ax.set_title(title, fontsize=11, color=colour, fontweight="bold", pad=5)
        finish_picture(ax)
    bar = figure.colorbar(images[0], cax=figure.add_axes((0.895, 0.16, 0.022, 0.75)))
    finish_colour_bar(bar, scale_label(truth.features[feature], scale))

    clock = figure.text(0.03, 0.055, "", fontsize=11, color=INK, va="center", family="DejaVu Sans Mono")
    line = figure.add_axes((0.23, 0.02, 0.64, 0.07))
    begin, end = times[0], times[-1] if times[-1] > times[0] else times[0] + 1
    line.set(xlim=(begin, end), ylim=(-1, 1))
    line.axis("off")
    line.plot([begin, end], [0, 0], color="#DDDDDD", linewidth=4, solid_capstyle="round", clip_on=False)
    (done,) = line.plot([], [], color=INK, linewidth=4, solid_capstyle="round", clip_on=False)
    if train_until is not None and begin < train_until < end:
        line.plot([train_until] * 2, [-0.9, 0.9], color=PREDICTION, linewidth=1.5, clip_on=False)
        line.annotate(
            "trained until here",
            (train_until, 0.5),
            xytext=(-4, 0),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=8,
            style="italic",
            color=PREDICTION,
            annotation_clip=False,
        )

    pictures: list[Picture] = []
    for k, t in enumerate(times):
        images[0].set_data(real[k])
        images[1].set_data(guess[k])
        clock.set_text(f"t = {t:5.2f}" if end < 1000 else f"t = {t:.4g}")
        done.set_data([begin, t], [0, 0])
        canvas.draw()
        pictures.append(Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB"))
    palette = _palette()
    return [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]


def _palette() -> Picture:
    """256 colours for all frames: the colour map, and shades from white to each colour of text and lines."""
    from PIL import Image

    inks = np.array([to_rgb(colour) for colour in (INK, TRUTH, PREDICTION, "black")])
    shades = 1 - np.linspace(0, 1, 16)[None, :, None] * (1 - inks[:, None, :])
    colours = np.concatenate([colormaps[STATE_MAP](np.linspace(0, 1, 192))[:, :3], shades.reshape(-1, 3)])
    palette = Image.new("P", (1, 1))
    palette.putpalette((255 * colours).round().astype(np.uint8).tobytes())
    return palette
