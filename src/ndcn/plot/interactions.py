"""What a law says: f and g with bands, over the states that were seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from matplotlib import colormaps
from matplotlib.axes import Axes

from ..identify import Functions, states_along
from ..laws import latex_name
from .notebook import AxesArray, Picture, axes_array
from .style import INK, PREDICTION, QUIET, STATE_MAP, lighten

if TYPE_CHECKING:
    from ..laws import Law

BAND = 2  # standard deviations on each side
SHARES = (0.1, 0.5, 0.9)  # of the states seen lie below the x_i for which g is drawn
FLOOR = 0.16  # of the height is for the density


def interaction(
    functions: Any,
    truth: Law | None = None,
    *,
    along: int | str | None = None,
    ax: Sequence[Axes] | np.ndarray | None = None,
) -> AxesArray:
    """f(x_i) at the left and g(x_i, x_j) at the right, with bands of +- 2 standard deviations.

    g is drawn over x_j, for the x_i below which 10, 50 and 90 % of the states seen lie; one curve if x_i makes no
    difference. The grey hills at the bottom are the density of the states seen: where there are none, the law was not
    learned.

    Args:
        functions: what ``reg.functions()`` returns, or a fitted estimator that has it.
        truth: a law, drawn as dashed lines.
        along: the feature on the horizontal axes, by position or name, the others being at their medians; by
            default the one whose rate is drawn.
        ax: where to draw, two axes for each of d features.

    Returns:
        the axes, shape (d, 2): a row for the rate of each feature.

    Raises:
        TypeError: the first argument is neither functions nor has them.
        ValueError: there is no such feature, or not 2 d axes.

    Example:
        >>> import ndcn, torch
        >>> from ndcn.identify.functions import functions_of
        >>> law = ndcn.laws.Gene()
        >>> axes = ndcn.plot.interaction(functions_of(law.node, law.edge, [], 5 * torch.rand(100, 1)), truth=law)
        >>> [ax.get_ylabel() for ax in axes[0]]
        ['$f(x_i)$', '$g(x_j)$']
    """
    found = functions.functions() if callable(getattr(functions, "functions", None)) else functions
    if not isinstance(found, Functions):
        raise TypeError(f"expected reg.functions() or a fitted estimator that has it, got {type(functions).__name__}")
    d = len(found.features)
    chosen = None if along is None else _position(found.features, along)
    axes = _axes(ax, d)
    for output in range(d):
        a = output if chosen is None else chosen
        known = None if truth is None else _values(truth, found, a)
        _draw_f(axes[output, 0], found, a, output, None if known is None else known[0][:, output])
        _draw_g(axes[output, 1], found, a, output, None if known is None else known[1][..., output])
    axes[0, 0].legend(frameon=False, fontsize=8, handlelength=2.4)
    return axes_array(axes)


def _draw_f(ax: Axes, found: Functions, a: int, output: int, truth: np.ndarray | None) -> None:
    x, f, std = found.x[a], found.f[a, :, output], found.f_std[a, :, output]
    _curve(ax, x, f, std, PREDICTION, "learned", truth)
    name = latex_name(f"{found.features[a]}_i")
    _finish(ax, found, a, name, rf"${_function('f', found, output)}({name})$")


def _draw_g(ax: Axes, found: Functions, a: int, output: int, truth: np.ndarray | None) -> None:
    x, g, std = found.x[a], found.g[a, ..., output], found.g_std[a, ..., output]
    i, j = (latex_name(f"{found.features[a]}_{end}") for end in "ij")
    surfaces = [g] if truth is None else [g, truth]
    if all(np.ptp(surface, axis=0).max() <= 1e-3 * np.ptp(surface) for surface in surfaces):  # x_i makes no difference
        middle = _rows(found.density[a])[len(SHARES) // 2]
        _curve(ax, x, g[middle], std[middle], PREDICTION, "learned", None if truth is None else truth[middle])
        arguments = j
    else:
        rows = _rows(found.density[a])
        for row, colour in zip(rows, colormaps[STATE_MAP](np.linspace(0.15, 0.8, len(rows))), strict=True):
            _curve(ax, x, g[row], std[row], colour, f"{x[row]:.2g}", None if truth is None else truth[row])
        handles = [line for line in ax.get_lines() if line.get_label() != "truth"]
        ax.legend(handles=handles, title=f"${i}$", title_fontsize=8, frameon=False, fontsize=8, handlelength=1.6)
        arguments = f"{i}, {j}"
    _finish(ax, found, a, j, rf"${_function('g', found, output)}({arguments})$")


def _rows(density: np.ndarray) -> list[int]:
    """Where to cut g: three points of the grid that split the states seen, or the grid if those would coincide."""
    below = np.cumsum(density) / density.sum()
    rows = np.unique(np.searchsorted(below, SHARES))
    if len(rows) < len(SHARES):
        rows = np.round(np.array(SHARES) * (len(density) - 1)).astype(int)
    return [int(row) for row in rows]


def _curve(
    ax: Axes, x: np.ndarray, y: np.ndarray, std: np.ndarray, colour: Any, label: str, truth: np.ndarray | None
) -> None:
    if (std > 0).any():
        ax.fill_between(x, y - BAND * std, y + BAND * std, color=colour, alpha=0.2, linewidth=0, zorder=2)
    ax.plot(x, y, color=colour, linewidth=1.6, label=label, zorder=3)
    if truth is not None:
        ax.plot(x, truth, color=INK, linewidth=1.1, linestyle=(0, (4, 2.5)), label="truth", zorder=4)


def _finish(ax: Axes, found: Functions, a: int, xlabel: str, ylabel: str) -> None:
    """Labels, and the density at the bottom, below all curves."""
    ax.set_xlabel(f"${xlabel}$", fontsize=10)
    ax.set_ylabel(ylabel, fontsize=10)
    values = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in ax.get_lines()])
    values = values[np.isfinite(values)]
    if len(values):
        low, high = values.min(), values.max()
        reach = 0.5 * (high - low)  # bands may add so much on each side; what is wider is cut off
        bands = [band.get_datalim(ax.transData).intervaly for band in ax.collections]
        low = min([low, *(max(band[0], low - reach) for band in bands if np.isfinite(band).all())])
        high = max([high, *(min(band[1], high + reach) for band in bands if np.isfinite(band).all())])
        size = (high - low) or abs(high) or 1.0
        ax.set_ylim(low - (FLOOR / (1 - FLOOR) + 0.08) * size, high + 0.08 * size)
    heights = FLOOR * 0.9 * found.density[a] / found.density[a].max()
    grey: dict[str, Any] = {"color": QUIET, "alpha": 0.35, "linewidth": 0, "zorder": 1, "label": "states seen"}
    ax.fill_between(found.x[a], 0, heights, transform=ax.get_xaxis_transform(), step="mid", **grey)
    ax.margins(x=0)


def _function(letter: str, found: Functions, output: int) -> str:
    return letter if len(found.features) == 1 else f"{letter}_{{{latex_name(found.features[output])}}}"


def _values(law: Law, found: Functions, a: int) -> tuple[np.ndarray, np.ndarray]:
    """f (m, d) and g (m, m, d) of a law on the grid along one feature."""
    x = torch.from_numpy(found.x[a])
    at = states_along(x, torch.from_numpy(found.median), a)
    m = len(x)
    with torch.no_grad():
        g = law.edge(at.repeat_interleave(m, 0), at.repeat(m, 1))
        return law.node(at).numpy(), g.reshape(m, m, -1).numpy()


def _position(features: tuple[str, ...], feature: int | str) -> int:
    if isinstance(feature, str) and feature in features:
        return features.index(feature)
    if isinstance(feature, int) and 0 <= feature < len(features):
        return feature
    raise ValueError(f"there is no feature {feature!r}; the features are {', '.join(features)}")


def _axes(ax: Sequence[Axes] | np.ndarray | None, d: int) -> np.ndarray:
    if ax is None:
        made = Picture(figsize=(6.8, 2.7 * d), layout="constrained").subplots(d, 2, squeeze=False)
        for one in made.flat:
            lighten(one)
        return made
    given = np.array(ax, dtype=object).ravel()
    if len(given) != 2 * d or not all(isinstance(one, Axes) for one in given):
        raise ValueError(f"{d} feature{'s' * (d != 1)} need {2 * d} axes, for f and g of each, got {len(given)}")
    return given.reshape(d, 2)
