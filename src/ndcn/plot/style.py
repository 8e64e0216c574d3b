"""How pictures look: colours told apart by the colour-blind, one colour scale, and light frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.figure import Figure

from .notebook import Picture

STATE_MAP = "viridis"
DIFFERENCE_MAP = "RdBu_r"
INK = "#333333"
TRUTH = "#0072B2"  # blue and orange of the Okabe-Ito palette
PREDICTION = "#D55E00"
QUIET = "#8A8A8A"
TINT = "#F1EDE4"  # behind what lies after the training window
SHADE = "#E9EFF4"  # behind the training window
SHADES = 256  # colours of a colour map
BESIDE: dict[str, Any] = {"frameon": False, "loc": "upper left", "bbox_to_anchor": (1, 1)}  # a legend at the right


def colour_scale(*pictures: np.ndarray) -> Normalize:
    """One scale from the smallest to the largest value of all pictures; NaN does not count.

    It is linear, or a square root above the smallest value where half of the cells lie in the lowest quarter, so that
    what happens there can be seen.

    Example:
        >>> import numpy as np
        >>> scale = colour_scale(np.array([0.0, 1.0, np.nan]), np.array([2.0]))
        >>> scale.vmin, scale.vmax
        (0.0, 2.0)
    """
    values = np.concatenate([picture[np.isfinite(picture)] for picture in pictures])
    if not len(values):
        return Normalize(0.0, 1.0)
    low, high = float(values.min()), float(values.max())
    if high == low:
        return Normalize(low - 0.5, high + 0.5)
    skewed = np.median(values) < low + 0.25 * (high - low)
    return PowerNorm(0.5, low, high) if skewed else Normalize(low, high)


def clipped(scale: Normalize, *pictures: np.ndarray) -> str:
    """On which side values leave the scale by more than one of its colours: "neither", "min", "max" or "both".

    Example:
        >>> import numpy as np
        >>> from matplotlib.colors import Normalize
        >>> clipped(Normalize(0.0, 1.0), np.array([0.5, 1.001]), np.array([3.0]))
        'max'
    """
    low, high = float(scale.vmin or 0.0), float(scale.vmax or 0.0)
    slack = (high - low) / SHADES
    values = np.concatenate([picture[np.isfinite(picture)] for picture in pictures])
    below, above = bool((values < low - slack).any()), bool((values > high + slack).any())
    return {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}[below, above]


def scale_label(name: str, scale: Normalize, cut: str = "neither", *, narrow: bool = False) -> str:
    """The label of a colour bar: the state's name, and what is not plain about the scale.

    Example:
        >>> from matplotlib.colors import Normalize
        >>> scale_label("x", Normalize(0.0, 1.0), "max")
        'x\\nvalues outside are clipped'
    """
    root = "square-root scale"
    lines = [name] if not isinstance(scale, PowerNorm) else [name, root] if narrow else [f"{name} ({root})"]
    note = "clipped outside" if narrow else "values outside are clipped"
    return "\n".join(lines if cut == "neither" else [*lines, note])


def colour_bar(ax: Axes, scale: Normalize, name: str, *pictures: np.ndarray, narrow: bool = False) -> None:
    """A colour bar of states that fills ``ax``, with arrows where values of the pictures are cut off."""
    cut = clipped(scale, *pictures)
    bar_of(ax, ScalarMappable(scale, STATE_MAP), scale_label(name, scale, cut, narrow=narrow), extend=cut)


def bar_of(ax: Axes, colours: ScalarMappable, text: str, *, size: float = 9, **how: Any) -> Colorbar:
    """A colour bar that fills ``ax``, labelled and light."""
    figure = ax.get_figure(root=True)
    assert figure is not None  # axes that were just placed
    bar = figure.colorbar(colours, cax=ax, **how)
    finish_colour_bar(bar, text, size=size)
    return bar


def finish_colour_bar(bar: Colorbar, text: str, *, size: float = 9) -> None:
    """Label and lighten a colour bar."""
    bar.set_label(text, fontsize=size, color=INK)
    bar.ax.tick_params(labelsize=size - 1 if size > 8 else 7, colors=INK, width=0.6, length=2.5)
    bar.ax.minorticks_off()
    bar.outline.set(color=QUIET, linewidth=0.6)


def finish_picture(ax: Axes) -> None:
    """No ticks and a thin quiet frame."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set(color=QUIET, linewidth=0.6)


def axes_at(figure: Figure, x: float, y: float, w: float, h: float, projection: str | None = None) -> Axes:
    """New axes by their upper left corner and size in inches, counted from the upper left corner of the figure."""
    width, height = figure.get_size_inches().tolist()
    return figure.add_axes((x / width, 1 - (y + h) / height, w / width, h / height), projection=projection)


def inches(ax: Axes) -> tuple[float, float]:
    """Width and height of axes."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    box = ax.get_window_extent()
    return box.width / figure.dpi, box.height / figure.dpi


def new_axes(width: float, height: float) -> Axes:
    """The axes of a new figure, which make room for their labels."""
    return Picture(figsize=(width, height), layout="constrained").add_subplot()


def curve_axes(ax: Axes | None) -> Axes:
    """The axes given, or light ones of a new figure."""
    if ax is not None:
        return ax
    new = new_axes(6.0, 3.4)
    lighten(new)
    return new


def lighten(ax: Axes) -> None:
    """Two spines, a faint grid and small numbers."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.tick_params(labelsize=9)


def at_time(t: float) -> str:
    """A time in a title.

    Example:
        >>> at_time(0.05)
        't = 0.05'
    """
    return f"t = {t:.3g}" if abs(t) < 1000 else f"t = {t:.6g}"


def short_label(text: str) -> str:
    """A name that fits, and that matplotlib takes literally."""
    plain = " ".join(text.split()).replace("$", r"\$")
    shown = plain if len(plain) <= 18 else plain[:17] + "…"
    return shown.lstrip("_") or shown or "?"
