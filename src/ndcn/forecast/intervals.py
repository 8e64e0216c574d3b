"""Prediction intervals from the residuals that the choice would have made at past origins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Panel, even_weights
from .combination import DISCOUNT, ages, spacing
from .simple import recent_change
from .transforms import trailing_mean

LEVELS = np.linspace(0.0, 1.0, 401)  # in steps of 1/400: each tail of a 99 % interval, 0.005, is two of them
FLOOR = 0.1  # of the mean over all nodes: the least size or level of a node, which may have been still. A round number; no comparison is recorded
POWERS = (0.0, 0.5, 1.0)  # of the level in the unit of residuals, see ``units``: changes, geometric mean, levels
JUDGED = 0.9  # level of the intervals by whose past score the unit is chosen: that of the intervals shown unasked
# The next three came with the choice of units; docs/forecast.md, How far to trust this, tells on which origins its variants were compared.
LEAST = 0.1  # of its recent changes: the least level of a node, which bounds what a wrong choice of the unit costs
GAIN = 0.1  # by which another unit than recent changes must have been better: scores of few origins differ by chance
ENOUGH = 15  # past origins below which no other is tried
WEEK = 7  # most steps over which the level of a node is taken: a week of days, so that a weekday is no level


@dataclass(frozen=True)
class Residuals:
    """Quantiles of r = (truth - forecast) / s_i, where s_i is the unit of node i (``units``).

    Residuals of all nodes and past origins are pooled for each horizon; older ones have less weight.
    """

    horizons: np.ndarray  # (H,), at which residuals are known
    quantiles: np.ndarray  # of r at ``LEVELS``, (H, len(LEVELS))
    sizes: np.ndarray  # s_i at the last origin, (H, n)
    counts: np.ndarray  # residuals for each horizon, (H,)

    def margins(self, steps: int, level: float) -> tuple[np.ndarray, np.ndarray]:
        """What to add to the forecast at steps 1 .. steps for the lower and the upper end: two of shape (steps, n).

        Each tail holds (1 - level) / 2, less for few residuals; margins are interpolated between the horizons and never
        shrink with the steps: what is known of far horizons is older, and may come from a fall alone.
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must lie between 0 and 1, as 0.9; got {level}")
        low, high = [], []
        for quantiles, size, count in zip(self.quantiles, self.sizes, self.counts, strict=True):
            tail = max(0.0, (1.0 - level) / 2.0 - 1.0 / (count + 1))
            low.append(min(0.0, float(np.interp(tail, LEVELS, quantiles))) * size)
            high.append(max(0.0, float(np.interp(1.0 - tail, LEVELS, quantiles))) * size)
        at = np.arange(1, steps + 1)
        below, above = (between(at, self.horizons, np.stack(rows)) for rows in (low, high))
        return np.minimum.accumulate(below, axis=0), np.maximum.accumulate(above, axis=0)


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


def units(panel: Panel, origins: np.ndarray, horizon: int, said: np.ndarray) -> dict[float, np.ndarray]:
    """c_i^(1 - p) l_i^p for each power p in ``POWERS``, shapes (O, n): c the size of recent changes, l the level.

    The level is the mean of the forecast and of the last values; of totals, of the increments over the horizon. After a
    wave changes are still large and levels small: residuals in units of levels then say how far the next values will lie apart.
    Values around 0 have no level: for them there is p = 0 alone.
    """
    change = sizes(panel, origins, horizon)
    if not panel.kind.positive:
        return {0.0: change}
    x = panel.values
    if panel.kind.cumulative:
        ahead, behind = said - x[origins], x[origins] - x[np.maximum(origins - horizon, 0)]
    else:
        ahead, behind = said, trailing_mean(x, min(WEEK, horizon))[origins]
    level = (np.abs(np.nan_to_num(ahead)) + np.abs(behind)) / 2
    usual = np.minimum(level, np.quantile(level, 0.95, axis=1, keepdims=True)).mean(axis=1, keepdims=True)
    level = np.maximum(level, np.maximum(FLOOR * usual, LEAST * change))
    return {p: change ** (1 - p) * level**p for p in POWERS}


def residuals(
    panel: Panel, origins: np.ndarray, said: np.ndarray, horizon: int, now: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """Quantiles of residuals at past origins, the unit s of each node now, and how many residuals there are.

    The unit is the one whose 90 % intervals would have had the best interval score (Gneiting and Raftery 2007) at these
    origins, recent changes unless another was better by a tenth. Nodes err together, and forecasts from neighbouring origins
    overlap: q origins tell as much as m = q / h, and the next error comes on top. Hence the factor (1 + 1/m)^(1/2), as of the
    prediction interval around a mean of m values.

    Args:
        panel: the data.
        origins: past ones whose truth is known, shape (Q,).
        said: what was forecast there, shape (Q, n).
        horizon: h.
        now: what is forecast from the last snapshot, shape (n,).
    """
    truth, seen = panel.values[origins + horizon], panel.observed[origins + horizon] & np.isfinite(said)
    weight = DISCOUNT ** ages(origins)[:, None] * seen
    past = units(panel, origins, horizon, said) if len(origins) else {0.0: np.ones_like(said)}
    if len(origins) < ENOUGH:
        past = {0.0: past[0.0]}
    fair = weight * even_weights(np.where(panel.shifted, 0.0, recent_change(panel.values, origins, horizon)))
    found, scores = {}, {}
    for power, unit in past.items():
        found[power] = quantiles_of(((truth - said) / unit)[seen], weight[seen])
        low, high = (said + unit * np.interp(p, LEVELS, found[power]) for p in ((1 - JUDGED) / 2, (1 + JUDGED) / 2))
        low = np.maximum(low, 0.0) if panel.kind.positive else low
        outside = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
        scores[power] = float((fair * (high - low + 2 / (1 - JUDGED) * outside))[seen].sum())
    best = min(scores, key=lambda power: scores[power])
    power = best if scores[best] < (1 - GAIN) * scores[0.0] else 0.0
    unit = units(panel, np.array([len(panel) - 1]), horizon, now[None])[power][0]
    apart = max(1, len(origins)) * spacing(origins) / horizon  # forecasts that do not overlap
    return found[power], unit * np.sqrt(1 + 1 / apart), int(seen.sum())


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
