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
FEW_NODES = (
    2.0  # two of three nodes deviate together by chance: a mean deviation of 2 is asked of 3 nodes, of 1.2 of 12
)
LONG = 7  # snapshots at the end, all alike, that are taken for days without a report
STILL = -np.log(1e-3)  # nodes that should change: none of them does with a probability (Poisson's) of less than 1e-3


def repeats(x: np.ndarray) -> list[Outlier]:
    """Snapshots at which hardly any node changes, though by the two before and the two after many should have.

    The number expected is the geometric mean of the mean numbers on both sides, so that the first and the last snapshot of
    a season, with a quiet side, are no errors. At the last snapshot, or the last few, those before decide.
    """
    rows = np.flatnonzero(np.isfinite(x).any(axis=1))  # a missing snapshot is no repeat
    x = x[rows]
    if len(x) < 4 * SIDE:
        return []
    moved = ((x[1:] != x[:-1]) & np.isfinite(x[1:]) & np.isfinite(x[:-1])).sum(axis=1).astype(float)
    before, after = _mean_of(moved, (-1, -2)), _mean_of(moved, (1, 2))
    expected = np.sqrt(np.nan_to_num(before) * np.where(np.isfinite(after), after, before))
    few = (moved <= 0.1 * expected) & (expected > STILL)
    still = _still_end(moved)
    few[len(few) - still :] &= still == 0
    days = _rare_days("repeat", rows[np.flatnonzero(few) + 1], len(x))
    return [*days, Outlier(None, int(rows[-still]), int(rows[-1]), "repeat", np.nan, np.nan, True)] if still else days


def empty_end(x: np.ndarray) -> list[Outlier]:
    """The last snapshots, up to 7, if all nodes are 0, and so many in a row never were before, after as much activity."""
    rows = np.flatnonzero(np.isfinite(x).any(axis=1))
    x = x[rows]
    active = (np.isfinite(x) & (x != 0)).sum(axis=1)
    count = len(x) if not active.any() else int(np.argmax(active[::-1] > 0))
    if not 1 <= count <= LONG or len(x) < count + 3 * SIDE:
        return []
    before = slice(-count - SIDE, -count)
    expected = active[before].min()
    if expected <= STILL or _happened(active[:-count], active[:-count] == 0, count, 0.5 * expected):
        return []
    return [Outlier(None, int(rows[-count]), int(rows[-1]), "zeros", 0.0, float(np.median(active[before])), True)]


def _happened(active: np.ndarray, quiet: np.ndarray, count: int, least: float) -> bool:
    """Whether so many quiet snapshots in a row followed on at least ``least`` active nodes before: a season may end so."""
    starts = np.flatnonzero(quiet[SIDE:] & ~quiet[SIDE - 1 : -1]) + SIDE
    return any(quiet[k : k + count].all() and active[k - SIDE : k].min() > least for k in starts.tolist())


def _still_end(moved: np.ndarray) -> int:
    """How many of the last changes, 2 to 7, hardly any node made, if so many in a row never were so still before; or 0."""
    quiet = moved <= 0.1 * max(np.median(moved), STILL)
    count = len(quiet) if quiet.all() else int(np.argmin(quiet[::-1]))
    if not 2 <= count <= LONG or len(moved) < count + 3 * SIDE:
        return 0
    expected = moved[-count - SIDE : -count].min()
    new = not _happened(moved[:-count], quiet[:-count], count, 0.5 * expected)
    return count if new and expected > STILL and moved[-count:].max() <= 0.1 * expected else 0


def _mean_of(counts: np.ndarray, places: tuple[int, ...]) -> np.ndarray:
    """The mean of the entries at these places after each one; NaN where there is none."""
    rows = np.arange(len(counts))[:, None] + np.array(places)
    there = (rows >= 0) & (rows < len(counts))
    sums = np.where(there, counts[np.clip(rows, 0, len(counts) - 1)], 0.0).sum(axis=1)
    return np.divide(sums, there.sum(axis=1), out=np.full(len(counts), np.nan), where=there.any(axis=1))


def odd_days(z: np.ndarray, floor: float) -> list[Outlier]:
    """Snapshots at which most nodes deviate together, and are back at the next one.

    Args:
        z: values on the scale on which deviations are compared, without a pattern (``flattened``).
        floor: the least usual deviation.
    """
    if len(z) < 4 * SIDE or z.shape[1] < 3:
        return []
    deviation = z - around(z, SIDE, SIDE)
    side = np.sign(deviation)
    step = np.diff(z, axis=0, prepend=z[:1], append=z[-1:])
    alone = np.minimum(side * step[:-1], -side * step[1:]) > 0.6 * np.abs(deviation)
    size = np.where(alone, deviation, 0.0) / usual_size(deviation, floor)
    active = np.maximum(np.isfinite(z).sum(axis=1), 1)
    odd = np.any([(sign * size > SIDED).sum(axis=1) > np.maximum(COMMON * active, 2) for sign in (1, -1)], axis=0)
    loud = np.minimum(np.abs(np.nan_to_num(size)), SURE)
    mean = (loud.sum(axis=1) - loud.max(axis=1)) / np.maximum(active - 1, 1)  # one node alone is no wrong day
    rows = np.pad(mean, AROUND)
    nearby = np.max([rows[k : k + len(mean)] for k in range(2 * AROUND + 1) if k != AROUND], axis=0)
    odd |= mean > np.maximum(LOUD * nearby, 1.0 + FEW_NODES / np.maximum(active - 1, 1))
    return _rare_days("day", np.flatnonzero(odd[SIDE:-1]) + SIDE, len(z))


def _rare_days(kind: str, rows: np.ndarray, count: int) -> list[Outlier]:
    few = len(rows) <= max(1, RARE * count)
    return [Outlier(None, int(k), int(k), kind, np.nan, np.nan, True) for k in rows] if few else []
