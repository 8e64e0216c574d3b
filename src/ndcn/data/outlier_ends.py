"""Wrong ends: last days and last cells, which no later value confirms, judged by what the past did."""

from __future__ import annotations

import warnings

import numpy as np

from .outlier import DOUBT, SIDE, SURE, Outlier, around, longest_run, usual_size

DAYS = 2  # last snapshots that can be wrong at all nodes: what goes on for longer is a turn
LOUD = 1.3  # times the largest common deviation of the past, ...
YOUNG = 12.0  # ... and more where few snapshots show what is usual: twice that after 12, 1.1 times after 120
# Of the last days at 20 origins in each of seven real sets, 140 in all, one deviates so (COVID-19, when all countries began
# to rise); of made counts at 20 origins with a last day of 0, tenfold or an eighth, the median ratio is 2.7, 4.8 and 2.2
OWN = 2.0  # times the node's own largest deviation ...
POOLED = 1.3  # ... and the largest of any node (more in a young past), in units of usual ones, above which a last cell is held out
NEW, NEW_LEAST = (
    1.5,
    3.5,
)  # times its own largest, and usual deviations, above which it is listed: one clean cell in 400
WEEK = 7  # snapshots at the end for which a node may report nothing; then it is taken for true
LEAST = 5.0  # counts that a node always had before it fell to 0: a Poisson count of 5 is 0 once in 150 times
RECENT = 28  # snapshots that show what a node always had


def end_days(z: np.ndarray, floor: float) -> list[Outlier]:
    """The last snapshot, or the last two, if nodes deviate together further than they ever did before.

    The common deviation is the mean over nodes of deviations from the median of the three snapshots before, in units of each
    node's usual ones, cut at 8 of them and without the largest, so that one node is no wrong day. Of two snapshots, the
    smaller deviation counts, and all pairs of the past are the comparison: a rise or a fall that went on before is no error.

    Args:
        z: values or increments on the scale on which deviations are compared, without a pattern (``flattened``).
        floor: the least usual deviation.
    """
    end = _observed(z)
    z = z[:end]
    if end < 4 * SIDE or z.shape[1] < 3:
        return []
    for days in range(DAYS, 0, -1):
        deviation = _of_blocks(z, days)
        size = np.nan_to_num(deviation / usual_size(deviation[SIDE:-days], floor)).clip(-SURE, SURE)
        largest = np.take_along_axis(size, np.abs(size).argmax(axis=1)[:, None], axis=1)[:, 0]
        active = np.isfinite(deviation).sum(axis=1)
        common = np.abs(size.sum(axis=1) - largest) / np.maximum(active - 1, 1)
        past = common[SIDE + days : -days]
        if common[-1] > max(1.0, LOUD * (1 + YOUNG / len(past)) * past.max()):
            return [Outlier(None, end - days, end - 1, "end", np.nan, np.nan, True)]
    return []


def end_cells(series: np.ndarray, z: np.ndarray, flat: np.ndarray, floor: float, cumulative: bool) -> list[Outlier]:
    """The last cell or two of a node, if they are further off than its own past and that of all others show.

    Args:
        series: values, or increments of totals.
        z, flat: the same on the scale on which deviations are compared, and without a pattern.
        floor: the least usual deviation.
        cumulative: whether these are increments: a rise is looked for at the last snapshot only, since a second total
            confirms it, and no rise at all is no error.
    """
    end = _observed(z)
    series, z, flat = series[:end], z[:end], flat[:end]
    if end < 4 * SIDE:
        return []
    said = {} if cumulative or (z < 0).any() else _zeros(series)
    for cells in (1,) if cumulative else (2, 1):
        deviation = _of_blocks(flat, cells)
        size = np.nan_to_num(deviation / usual_size(deviation[SIDE:-cells], floor))
        past = np.abs(size[SIDE + cells : -cells])
        own, pooled, last = past.max(axis=0), past.max(), np.abs(size[-1])
        calm = abs(size[-1].clip(-SURE, SURE).mean()) < 1.0  # where most nodes go the same way, one is no error
        held = calm & (last > SURE) & (last > OWN * own) & (last > POOLED * (1 + YOUNG / len(past)) * pooled)
        doubt = ((last > DOUBT) & (last > own)) | ((last > NEW * own) & (last > NEW_LEAST))
        for i in np.flatnonzero(doubt & ((size[-1] > 0) | (not cumulative))).tolist():
            usual = z[-1, i] - deviation[-1, i]
            usual = usual * abs(usual) if floor > 0 else usual
            kind = ("leap" if held[i] else "jump") if cumulative else "spike"
            one = Outlier(i, end - cells, end - 1, kind, float(series[-cells, i]), float(usual), bool(held[i]))
            said.setdefault(i, one)
    return list(said.values())


def _zeros(series: np.ndarray) -> dict[int, Outlier]:
    """Nodes that end with up to seven values of 0, more in a row than ever before.

    They are held out where the node never was near 0 in the weeks before, and named where 0 was unlikely (Poisson's 1e-3).
    """
    said = {}
    for i in np.flatnonzero(series[-1] == 0).tolist():
        zero = series[:, i] == 0
        run = int(np.argmin(zero[::-1])) if not zero.all() else len(zero)
        before = series[: len(zero) - run, i]
        recent = before[np.isfinite(before)][-RECENT:]
        if run > 2 * WEEK or len(recent) < SIDE or longest_run(zero[: len(zero) - run]) >= run:
            continue
        usual = float(np.median(recent[-WEEK:]))
        held = run <= WEEK and recent.min() >= max(LEAST, 0.1 * usual)
        if held or usual * run > -np.log(1e-3):
            said[i] = Outlier(i, len(zero) - run, len(zero) - 1, "zeros", 0.0, usual, bool(held))
    return said


def _observed(z: np.ndarray) -> int:
    """One after the last snapshot at which anything was observed."""
    rows = np.flatnonzero(np.isfinite(z).any(axis=1))
    return int(rows[-1]) + 1 if len(rows) else 0


def _of_blocks(z: np.ndarray, length: int) -> np.ndarray:
    """How far all of the ``length`` snapshots up to each are from the three before them, shape (T, n).

    The smallest deviation where all are on one side, else 0; NaN where one was not observed.
    """
    before = around(z, SIDE, 0)[: len(z) - length + 1]
    off = np.full((length, *z.shape), np.nan)
    for k in range(length):
        off[k, length - 1 :] = z[length - 1 - k : len(z) - k] - before
    side = np.sign(off[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all NaN
        least = np.where((np.sign(off) == side).all(axis=0), side * np.abs(off).min(axis=0), 0.0)
    return np.where(np.isnan(off).any(axis=0), np.nan, least)
