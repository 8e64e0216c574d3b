"""The square layout: node i at row i // N, column i % N, N = ceil(sqrt(n))."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from matplotlib.colors import Normalize, PowerNorm

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar

    from ..trajectory import Trajectory

STATE_MAP = "viridis"
DIFFERENCE_MAP = "RdBu_r"
INK = "#333333"
TRUTH = "#0072B2"  # blue, orange and grey of the Okabe-Ito palette, told apart by the colour-blind
PREDICTION = "#D55E00"
QUIET = "#8A8A8A"


def squares(states: torch.Tensor) -> np.ndarray:
    """States of one feature, shape (T, n), as pictures of shape (T, N, N); cells without a node are NaN.

    Example:
        >>> import torch
        >>> squares(torch.tensor([[1.0, 2.0, 3.0]]))
        array([[[ 1.,  2.],
                [ 3., nan]]])
    """
    count, n = states.shape
    side = math.isqrt(n - 1) + 1
    cells = np.full((count, side * side), np.nan)
    cells[:, :n] = states.detach().cpu().double().numpy()
    return cells.reshape(count, side, side)


def checked_pair(truth: Trajectory, prediction: Trajectory, feature: int | str) -> int:
    """The position of the feature, once it is clear that both trajectories can be compared.

    Raises:
        ValueError: they differ in shape or times, or there is no such feature.
    """
    if prediction.states.shape != truth.states.shape or not torch.allclose(
        prediction.times, truth.times, rtol=1e-6, atol=1e-9
    ):
        raise ValueError(
            f"truth is {truth!r}, prediction is {prediction!r}: they must be at the same times of the same nodes; "
            "predict at the times of the truth"
        )
    return checked_feature(truth, feature)


def checked_feature(data: Trajectory, feature: int | str) -> int:
    """The position of a feature given by name or position."""
    if isinstance(feature, str):
        if feature not in data.features:
            raise ValueError(f"unknown feature {feature!r}; known are {', '.join(data.features)}")
        return data.features.index(feature)
    if not 0 <= feature < data.num_features:
        raise ValueError(f"feature {feature} is not one of 0..{data.num_features - 1} ({', '.join(data.features)})")
    return feature


def nearest(available: torch.Tensor, wanted: np.ndarray) -> list[int]:
    """For each wanted time the position of the nearest available one, each position once, in order of time."""
    times = available.numpy()
    chosen = {int(np.abs(times - t).argmin()) for t in wanted}
    return sorted(chosen, key=lambda k: times[k])


def colour_scale(*pictures: np.ndarray) -> Normalize:
    """One scale from the smallest to the largest value of all pictures.

    It is linear, or a square root above the smallest value where half of the cells lie in the lowest quarter, so that
    what happens there can be seen.
    """
    values = np.concatenate([picture[np.isfinite(picture)] for picture in pictures])
    low, high = float(values.min()), float(values.max())
    if high == low:
        return Normalize(low - 0.5, high + 0.5)
    skewed = np.median(values) < low + 0.25 * (high - low)
    return PowerNorm(0.5, low, high) if skewed else Normalize(low, high)


def scale_label(name: str, scale: Normalize) -> str:
    """The label of a colour bar, which says so where the scale is not linear."""
    return f"{name} (square-root scale)" if isinstance(scale, PowerNorm) else name


def finish_colour_bar(bar: Colorbar, text: str) -> None:
    """Label and lighten a colour bar."""
    bar.set_label(text, fontsize=9, color=INK)
    bar.ax.tick_params(labelsize=8, colors=INK, width=0.6, length=2.5)
    bar.ax.minorticks_off()
    bar.outline.set(color=QUIET, linewidth=0.6)


def finish_picture(ax: Axes) -> None:
    """No ticks and a thin quiet frame."""
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set(color=QUIET, linewidth=0.6)
