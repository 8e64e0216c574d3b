"""Prediction intervals from the residuals that the choice would have made at past origins."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from ..data import Panel, even_weights
from .combination import DISCOUNT, ages, spacing
from .simple import long_change, recent_change
from .transforms import trailing_mean

LEVELS = np.linspace(0.0, 1.0, 401)  # in steps of 1/400: each tail of a 99 % interval, 0.005, is two of them
FLOOR = 0.1  # of the usual one over all nodes (``_usual``): the least size or level of a node, which may have been still. A round number; no comparison is recorded
POWERS = (0.0, 0.5, 1.0)  # of the level in the unit of residuals, see ``units``: changes, geometric mean, levels
JUDGED = 0.9  # level of the intervals by whose past score the unit is chosen: that of the intervals shown unasked
# The next three came with the choice of units; docs/forecast.md, How far to trust this, tells on which origins its variants were compared.
LEAST = 0.1  # of its recent changes: the least level of a node, which bounds what a wrong choice of the unit costs
GAIN = 0.1  # by which another unit than recent changes must have been better: scores of few origins differ by chance
ENOUGH = 15  # past origins below which no other is tried
# Times the median of those that move: the most that a node counts for in what is usual, so that a giant is no measure for others. 5 has
# interval scores that are 10 % worse at the earlier origins of H1N1, COVID, flu and measles.
LARGE = 20.0
SIZES_FROM = 12  # nodes from which quantiles by size are tried: four for each of the three
SHARED = 0.1  # of a residual counts for all sizes. A round number; no comparison is recorded
# Times the largest change of a node so far: bounds of its margins that are tried. Without them interval scores are 12 % worse at these
# origins; (4, 2) are as good.
BOUNDS = (np.inf, 2.0, 1.0)
ALIKE = 9.0  # times the horizon without a change, from which the chance of one within the next is at most a tenth
PER_THREEFOLD = 4  # sizes between one and three times of it that are told apart
WEEK = 7  # most steps over which the level of a node is taken: a week of days, so that a weekday is no level


@dataclass(frozen=True)
class Residuals:
    """Quantiles of r = (truth - forecast) / s_i, where s_i is the unit of node i (``units``).

    Residuals of all nodes and past origins are pooled for each horizon, or those of nodes of about the same size (``by_size``);
    older ones have less weight.
    """

    horizons: np.ndarray  # (H,), at which residuals are known
    quantiles: np.ndarray  # of r at ``LEVELS``, for G sizes of nodes, (H, G, len(LEVELS))
    sizes: np.ndarray  # s_i at the last origin, (H, n)
    counts: np.ndarray  # residuals for each horizon, (H,)
    places: np.ndarray  # of each node among the G sizes, from 0 to G - 1, (H, n)
    most: np.ndarray  # the largest margin of each node, (H, n); infinite where there is none

    @classmethod
    def of(cls, horizons: np.ndarray, found: Sequence[Spread]) -> Residuals:
        """From what ``residuals`` found at each horizon."""
        parts = (np.array([getattr(one, f.name) for one in found]) for f in fields(Spread))
        return cls(horizons, *parts)

    @classmethod
    def pooled(cls, horizons: np.ndarray, quantiles: np.ndarray, sizes: np.ndarray, counts: np.ndarray) -> Residuals:
        """Of one set of quantiles for all nodes, shape (H, len(LEVELS))."""
        return cls(horizons, quantiles[:, None], sizes, counts, np.zeros_like(sizes), np.full_like(sizes, np.inf))

    def margins(self, steps: int, level: float) -> tuple[np.ndarray, np.ndarray]:
        """What to add to the forecast at steps 1 .. steps for the lower and the upper end: two of shape (steps, n).

        Each tail holds (1 - level) / 2, less for few residuals; margins are interpolated between the horizons and never
        shrink with the steps: what is known of far horizons is older, and may come from a fall alone.
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must lie between 0 and 1, as 0.9; got {level}")
        low, high = [], []
        for k, count in enumerate(self.counts):
            tail = max(0.0, (1.0 - level) / 2.0 - 1.0 / (count + 1))
            below, above = (_at(self.quantiles[k], self.places[k], p) * self.sizes[k] for p in (tail, 1.0 - tail))
            low.append(np.clip(below, -self.most[k], 0.0))
            high.append(np.clip(above, 0.0, self.most[k]))
        at = np.arange(1, steps + 1)
        below, above = (between(at, self.horizons, np.stack(rows)) for rows in (low, high))
        return np.minimum.accumulate(below, axis=0), np.maximum.accumulate(above, axis=0)


@dataclass(frozen=True)
class Spread:
    """What is known of the residuals at one horizon; fields as those of ``Residuals``."""

    quantiles: np.ndarray
    sizes: np.ndarray
    counts: int
    places: np.ndarray
    most: np.ndarray


def _at(quantiles: np.ndarray, places: np.ndarray, level: float) -> np.ndarray:
    """Quantiles (G, len(LEVELS)) at a level, between the sizes of nodes by ``places`` (..., n)."""
    return np.asarray(np.interp(places, np.arange(len(quantiles)), [np.interp(level, LEVELS, q) for q in quantiles]))


def between(at: np.ndarray, horizons: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Rows (H, n) at some horizons, at all steps ``at`` by linear interpolation; before the first horizon its own."""
    right = np.clip(np.searchsorted(horizons, at), 0, len(horizons) - 1)
    left = np.maximum(right - 1, 0)
    gap = np.maximum(horizons[right] - horizons[left], 1)
    share = np.where(right > left, (at - horizons[left]) / gap, 1.0)[:, None]
    return np.asarray((1 - share) * rows[left] + share * rows[right])


def sizes(panel: Panel, origins: np.ndarray, horizon: int) -> np.ndarray:
    """s_i at each origin, shape (O, n): mean |x(t) - x(t - horizon)| of late, and no less than a tenth of the usual one."""
    change = recent_change(panel.values, origins, horizon, observed=panel.observed)
    return np.maximum(change, np.maximum(FLOOR * _usual(panel, change), 1e-12))


def _usual(panel: Panel, size: np.ndarray) -> np.ndarray:
    """The mean of sizes (O, n) over nodes, of which none counts as more than ``LARGE`` times the median of those above 0: (O, 1).

    Nodes that are no example for others do not count.
    """
    size = size if panel.shifted.all() else size[:, ~panel.shifted]
    moving = np.where(size > 0, size, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # no node moves
        middle = np.nan_to_num(np.nanmedian(moving, axis=1, keepdims=True))
    return np.asarray(np.minimum(size, LARGE * middle).mean(axis=1, keepdims=True))


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
    level = np.maximum(level, np.maximum(FLOOR * _usual(panel, level), LEAST * change))
    return {p: change ** (1 - p) * level**p for p in POWERS}


def residuals(panel: Panel, origins: np.ndarray, said: np.ndarray, horizon: int, now: np.ndarray) -> Spread:
    """Quantiles of residuals at past origins, and the unit s of each node now.

    Of the units, of quantiles pooled over all nodes or by size (``by_size``), and of bounds by what a node ever did (``largest``),
    those are used whose 90 % intervals would have had the best interval score (Gneiting and Raftery 2007) at these
    origins; recent changes, pooled and without a bound, unless others were better by a tenth. Nodes err together, and forecasts
    from neighbouring origins overlap: q origins tell as much as m = q / h, and the next error comes on top. Hence the factor
    (1 + 1/m)^(1/2), as of the prediction interval around a mean of m values.

    Args:
        panel: the data.
        origins: past ones whose truth is known, shape (Q,).
        said: what was forecast there, shape (Q, n).
        horizon: h.
        now: what is forecast from the last snapshot, shape (n,).
    """
    truth, seen = panel.values[origins + horizon], panel.observed[origins + horizon] & np.isfinite(said)
    seen &= ~panel.shifted | panel.shifted.all()
    weight = DISCOUNT ** ages(origins)[:, None] * seen
    last = np.array([len(panel) - 1])
    present = units(panel, last, horizon, now[None])
    apart = max(1, len(origins)) * min(1.0, spacing(origins) / horizon)  # forecasts that do not overlap
    wider = np.sqrt(1 + 1 / apart) * aging(panel, horizon) * stillness(panel, horizon, origins)
    count = int(seen.sum())
    if not count:
        none = np.zeros(panel.values.shape[1])
        return Spread(_repeat(quantiles_of(none[:0], none[:0])), present[0.0][0] * wider, 0, none, none + np.inf)
    past = units(panel, origins, horizon, said)
    past = past if len(origins) >= ENOUGH else {0.0: past[0.0]}
    ever, limit = largest(panel, origins, horizon), largest(panel, last, horizon)[0]
    fair = weight * even_weights(
        np.where(panel.shifted, 0.0, recent_change(panel.values, origins, horizon, observed=panel.observed))
    )
    found, scores = {}, {}
    for power, unit in past.items():
        r = (truth - said) / unit
        pooled = _repeat(quantiles_of(r[seen], weight[seen]))
        ways = {False: (pooled, np.zeros(unit.shape), np.zeros(unit.shape[1]))}
        if len(origins) >= ENOUGH and seen.any(axis=0).sum() >= SIZES_FROM:
            ways[True] = by_size(r, unit, weight, present[power][0])
        for grouped, (quantiles, places, place) in ways.items():
            ends = [unit * _at(quantiles, places, p) for p in ((1 - JUDGED) / 2, (1 + JUDGED) / 2)]
            for bound in BOUNDS if len(origins) >= ENOUGH else (np.inf,):
                low, high = (said + np.clip(end, -bound * ever, bound * ever) for end in ends)
                low = np.maximum(low, 0.0) if panel.kind.positive else low
                outside = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
                key = power, grouped, bound
                scores[key] = float((fair * (high - low + 2 / (1 - JUDGED) * outside))[seen].sum())
                found[key] = quantiles, place
    plain = (0.0, False, np.inf)
    best = min(scores, key=lambda key: scores[key])
    best = best if scores[best] < (1 - GAIN) * scores[plain] else plain
    most = np.full(len(limit), np.inf) if best[2] == np.inf else best[2] * limit * wider
    far = reach(panel, horizon, now)
    most = np.minimum(most, np.multiply(far, wider, out=np.full_like(far, np.inf), where=np.isfinite(far)))
    return Spread(found[best][0], present[best[0]][0] * wider, count, found[best][1], most)


def by_size(
    r: np.ndarray, unit: np.ndarray, weight: np.ndarray, now: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Quantiles of residuals of small, usual and large units, and where among these each residual and each node now lies.

    Sizes are three quantiles of log unit. A residual counts for the two that it lies between, by its distance, and ``SHARED``
    of it for all. After a quiet time a few small nodes move by many times their unit, which says nothing about large ones.

    Returns:
        quantiles (3, len(LEVELS)), places (Q, n) from 0 to 2, places now (n,).
    """
    seen, size = weight > 0, np.log(unit)
    middle = np.quantile(size[seen], (1 / 6, 1 / 2, 5 / 6))
    steps = np.maximum.accumulate(middle + 1e-9 * np.arange(3))
    places, place = (np.interp(x, steps, np.arange(3.0)) for x in (size, np.log(now)))
    near = [np.maximum(0.0, 1.0 - np.abs(places - g)) + SHARED for g in range(3)]
    return np.stack([quantiles_of(r[seen], (weight * w)[seen]) for w in near]), places, place


def largest(panel: Panel, origins: np.ndarray, horizon: int) -> np.ndarray:
    """The largest |x(t) - x(t - h)| of each node up to each origin, and no less than its recent size (``sizes``): shape (O, n)."""
    lag = min(horizon, max(1, len(panel) // 4))
    both = panel.observed[lag:] & panel.observed[:-lag]
    change = np.where(both, np.abs(panel.values[lag:] - panel.values[:-lag]), 0.0)
    ever = np.maximum.accumulate(np.concatenate([np.zeros((lag, change.shape[1])), change]), axis=0)
    return np.maximum(ever[origins], sizes(panel, origins, horizon))


def reach(panel: Panel, horizon: int, now: np.ndarray) -> np.ndarray:
    """How far each node could come within the horizon if it grew as fast as a node of its size or larger ever did, shape (n,).

    Residuals are pooled, and most are of small nodes, which grow a hundredfold; a large one never does. Nodes count that had at
    least a third of the level of node i; its level l_i is the larger of its last values and its forecast ``now``, and it comes as
    far as (g - 1) l_i, where g is the largest growth of theirs; if there is none, of the largest that there are. Infinite for values
    around 0.
    """
    n = panel.values.shape[1]
    if not panel.kind.positive:
        return np.full(n, np.inf)
    x = panel.values
    lag = min(horizon, max(1, len(panel) // 4))
    level = x if panel.kind.cumulative else trailing_mean(x, WEEK)
    start, change = level[:-lag], np.abs(x[lag:] - x[:-lag])
    used = panel.observed[lag:] & panel.observed[:-lag] & (start > 0)
    present = np.maximum(level[-1], np.nan_to_num(now))
    if not used.any() or not (present > 0).any():
        return np.full(n, np.inf)
    place = np.floor(PER_THREEFOLD * np.log(start[used]) / np.log(3.0)).astype(np.int64)
    lowest = int(place.min())
    grown = np.ones(int(place.max()) - lowest + 1)
    np.maximum.at(grown, place - lowest, 1.0 + change[used] / start[used])
    above = np.maximum.accumulate(grown[::-1])[::-1]  # of that size or larger
    least = np.floor(PER_THREEFOLD * (np.log(np.maximum(present, 1e-300)) / np.log(3.0) - 1.0)) - lowest
    growth = above[np.clip(least, 0, len(above) - 1).astype(np.int64)] ** (horizon / lag)
    return np.where(present > 0, (growth - 1.0) * present, np.inf)


def aging(panel: Panel, horizon: int) -> np.ndarray:
    """How much wider the interval of a node is because its last value is a steps old, shape (n,): D(h + a) / D(h), at least 1.

    D(l) is the mean |x(t) - x(t - l)| of the node over all of the past, as far as both were observed; of all nodes where it has
    not been observed that long. The forecast is as one that was made a steps ago.
    """
    seen, out = panel.observed.any(axis=0), np.ones(panel.values.shape[1])
    age = np.where(seen, panel.observed[::-1].argmax(axis=0), 0)
    near = _structure(panel, horizon)
    for late in np.unique(age[age > 0]):
        far = int(min(horizon + late, max(horizon, len(panel) // 2)))
        wide, mine = _structure(panel, far), age == late
        own = np.divide(wide, near, out=np.full(len(near), np.nan), where=near > 0)
        good = np.isfinite(own) & ~panel.shifted
        usual = float(np.median(own[good])) if good.any() else float(np.sqrt(far / horizon))
        out[mine] = np.maximum(1.0, np.fmax(own, usual))[mine]
    return out


def _structure(panel: Panel, lag: int) -> np.ndarray:
    """Mean |x(t) - x(t - lag)| of each node where both were observed; NaN where there are no such times."""
    if lag >= len(panel):
        return np.full(panel.values.shape[1], np.nan)
    both = panel.observed[lag:] & panel.observed[:-lag]
    size = np.where(both, np.abs(panel.values[lag:] - panel.values[:-lag]), 0.0).sum(axis=0)
    count = both.sum(axis=0)
    return np.divide(size, count, out=np.full(len(size), np.nan), where=count > 0)


def stillness(panel: Panel, horizon: int, origins: np.ndarray) -> np.ndarray:
    """What to multiply the unit of each node with, shape (n,): 1, and down to 0 for a node that never changed.

    Its unit is a part of what is usual for others (``FLOOR``), of which it has shown nothing. If it was still over m times the
    horizon, it will change within the next with a probability of about 1 / (m + 1): from m = 9 on that is no part of an interval
    of 90 %. But where still nodes began to move at the past ``origins``, as countries do that an epidemic reaches, with a
    share of 5 % or more within the horizon, so may this one.
    """
    last, x = np.array([len(panel) - 1]), panel.values
    change = long_change(panel, last, horizon)[0]
    floor = FLOOR * _usual(panel, recent_change(x, last, horizon, observed=panel.observed))[0]
    seen = panel.observed.sum(axis=0) / horizon
    still = (long_change(panel, origins, horizon) == 0) & panel.observed[origins + horizon] & ~panel.shifted
    moved = (x[origins + horizon] != x[origins]) & still
    begins = moved.sum() / still.sum() if still.any() else 0.0
    doubt = np.clip(np.maximum(1.0 - seen / ALIKE, begins / ((1 - JUDGED) / 2)), 0.0, 1.0)
    return np.minimum(1.0, np.divide(change, floor, out=np.ones(len(change)), where=floor > 0) + doubt)


def _repeat(quantiles: np.ndarray) -> np.ndarray:
    return np.repeat(quantiles[None], 3, axis=0)


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
