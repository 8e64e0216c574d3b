"""Prediction intervals from the residuals that the choice would have made at past origins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Panel
from .combination import DISCOUNT, ages
from .simple import recent_change

LEVELS = np.linspace(0.0, 1.0, 401)
FLOOR = 0.1  # of the mean size of all nodes: the least size of a node


@dataclass(frozen=True)
class Residuals:
    """Quantiles of r = (truth - forecast) / s_i, where s_i is the recent size of the changes of node i.

    Residuals of all nodes and past origins are pooled for each horizon; older ones have less weight.
    """

    horizons: np.ndarray  # (H,), at which residuals are known
    quantiles: np.ndarray  # of r at ``LEVELS``, (H, len(LEVELS))
    sizes: np.ndarray  # s_i at the last origin, (H, n)
    counts: np.ndarray  # residuals for each horizon, (H,)

    def margins(self, steps: int, level: float) -> tuple[np.ndarray, np.ndarray]:
        """What to add to the forecast at steps 1 .. steps for the lower and the upper end: two of shape (steps, n).

        Each tail holds (1 - level) / 2, less for few residuals; margins are interpolated between the horizons.
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must lie between 0 and 1, as 0.9; got {level}")
        low, high = [], []
        for quantiles, size, count in zip(self.quantiles, self.sizes, self.counts, strict=True):
            tail = max(0.0, (1.0 - level) / 2.0 - 1.0 / (count + 1))
            low.append(min(0.0, float(np.interp(tail, LEVELS, quantiles))) * size)
            high.append(max(0.0, float(np.interp(1.0 - tail, LEVELS, quantiles))) * size)
        at = np.arange(1, steps + 1)
        return between(at, self.horizons, np.stack(low)), between(at, self.horizons, np.stack(high))


def between(at: np.ndarray, horizons: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Rows (H, n) at some horizons, at all steps ``at`` by linear interpolation; before the first horizon its own."""
    right = np.clip(np.searchsorted(horizons, at), 0, len(horizons) - 1)
    left = np.maximum(right - 1, 0)
    gap = np.maximum(horizons[right] - horizons[left], 1)
    share = np.where(right > left, (at - horizons[left]) / gap, 1.0)[:, None]
    return np.asarray((1 - share) * rows[left] + share * rows[right])


def sizes(panel: Panel, origins: np.ndarray, horizon: int) -> np.ndarray:
    """s_i at each origin, shape (O, n): mean |x(t) - x(t - horizon)| of late, and no less than a tenth of the mean.

    Of that mean the largest twentieth of the nodes is cut off.
    """
    change = recent_change(panel.values, origins, horizon)
    usual = np.minimum(change, np.quantile(change, 0.95, axis=1, keepdims=True)).mean(axis=1, keepdims=True)
    return np.maximum(change, np.maximum(FLOOR * usual, 1e-12))


def residuals(panel: Panel, origins: np.ndarray, said: np.ndarray, horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """r of all observed nodes at past origins, and d^age of each, in two long rows; ``said`` has shape (O, n)."""
    truth, seen = panel.values[origins + horizon], panel.observed[origins + horizon]
    scaled = (truth - said) / sizes(panel, origins, horizon)
    good = seen & np.isfinite(scaled)
    weight = DISCOUNT ** ages(origins)[:, None] * good
    return scaled[good], weight[good]


def quantiles_of(r: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Of r at ``LEVELS``, each residual counted by its weight; of nothing, plus and minus two sizes.

    Example:
        >>> import numpy as np
        >>> from ndcn.forecast.intervals import quantiles_of
        >>> quantiles_of(np.array([3.0, 1.0, 2.0]), np.ones(3))[[0, 200, 400]]
        array([1., 2., 3.])
    """
    if not len(r):
        return np.interp(LEVELS, [0.0, 0.5, 1.0], [-2.0, 0.0, 2.0])
    order = np.argsort(r, kind="stable")
    share = np.cumsum(weight[order]) - 0.5 * weight[order]
    return np.interp(LEVELS, share / weight.sum(), r[order])
