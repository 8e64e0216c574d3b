"""Wrong days: snapshots that repeat the one before, and at which most nodes deviate."""

from __future__ import annotations

import numpy as np

from .outlier import SIDE, SURE, Outlier, around, usual_size
from .series_kind import RARE

COMMON = 0.5  # share of the nodes that deviate together on a wrong day ...
SIDED = 3.0  # ... to the same side by so many usual deviations ...
LOUD = 1.75  # ... or to either side, by so many times the mean deviation of any of the 10 days before and after (and a
# usual deviation at least); the largest such ratio of a clean day in seven real sets is 1.3
AROUND = 10
STILL = -np.log(1e-3)  # nodes that should change: none of them does with a probability (Poisson's) of less than 1e-3


def repeats(x: np.ndarray) -> list[Outlier]:
    """Snapshots at which hardly any node changes, though by the two before and the two after many should have.

    The number expected is the geometric mean of the mean numbers on both sides, so that the first and the last snapshot of
    a season, with a quiet side, are no errors. At the last snapshot those before decide.
    """
    if len(x) < 4 * SIDE:
        return []
    moved = ((x[1:] != x[:-1]) & np.isfinite(x[1:]) & np.isfinite(x[:-1])).sum(axis=1).astype(float)
    before, after = _mean_of(moved, (-1, -2)), _mean_of(moved, (1, 2))
    expected = np.sqrt(np.nan_to_num(before) * np.where(np.isfinite(after), after, before))
    few = (moved <= 0.1 * expected) & (expected > STILL)
    return _rare_days("repeat", np.flatnonzero(few) + 1, len(x))


def _mean_of(counts: np.ndarray, places: tuple[int, ...]) -> np.ndarray:
    """The mean of the entries at these places after each one; NaN where there is none."""
    rows = np.arange(len(counts))[:, None] + np.array(places)
    there = (rows >= 0) & (rows < len(counts))
    sums = np.where(there, counts[np.clip(rows, 0, len(counts) - 1)], 0.0).sum(axis=1)
    return np.divide(sums, there.sum(axis=1), out=np.full(len(counts), np.nan), where=there.any(axis=1))


def odd_days(z: np.ndarray, floor: float) -> list[Outlier]:
    """Snapshots at which most nodes deviate together, and are back at the next one."""
    if len(z) < 4 * SIDE or z.shape[1] < 3:
        return []
    deviation = z - around(z, SIDE, SIDE)
    side = np.sign(deviation)
    step = np.diff(z, axis=0, prepend=z[:1], append=z[-1:])
    alone = np.minimum(side * step[:-1], -side * step[1:]) > 0.6 * np.abs(deviation)
    size = np.where(alone, deviation, 0.0) / usual_size(deviation, floor)
    active = np.maximum(np.isfinite(z).sum(axis=1), 1)
    odd = np.any([(sign * size > SIDED).sum(axis=1) / active > COMMON for sign in (1, -1)], axis=0)
    loud = np.minimum(np.abs(np.nan_to_num(size)), SURE)
    mean = (loud.sum(axis=1) - loud.max(axis=1)) / np.maximum(active - 1, 1)  # one node alone is no wrong day
    rows = np.pad(mean, AROUND)
    nearby = np.max([rows[k : k + len(mean)] for k in range(2 * AROUND + 1) if k != AROUND], axis=0)
    odd |= mean > np.maximum(LOUD * nearby, 1.0)
    return _rare_days("day", np.flatnonzero(odd[SIDE:-1]) + SIDE, len(z))


def _rare_days(kind: str, rows: np.ndarray, count: int) -> list[Outlier]:
    few = len(rows) <= max(1, RARE * count)
    return [Outlier(None, int(k), int(k), kind, np.nan, np.nan, True) for k in rows] if few else []
