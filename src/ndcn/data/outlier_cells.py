"""Wrong cells: codes for missing values, wrong signs, totals that fall, and spikes."""

from __future__ import annotations

import warnings

import numpy as np

from .outlier import DOUBT, SIDE, SURE, Outlier, around, of_others, runs, usual_size
from .series_kind import WRONG

SENTINELS = (-1.0, *(sign * (10.0**k - 1) for k in range(1, 9) for sign in (-1, 1)), 1e20, -1e20)  # 9, 99, 999, ...
EMPTY = 0.1  # of a total that is left after a fall, at most, if the total was not reported, rather than corrected
WEEK = 7  # snapshots at the end that a total may be so low; then it is taken for a new start
FEW = 3  # small falls of one node that are listed one by one
FAR = 5.0  # times the node's largest other value, beyond which a number such as 9999 means "missing"


def sentinels(x: np.ndarray) -> list[Outlier]:
    """Numbers such as -999 that lie far beyond all else that the node has; they become NaN."""
    code = np.isin(x, SENTINELS)
    rest = np.where(code | np.isnan(x), np.nan, x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nodes that have nothing else
        low, high, usual = np.nanmin(rest, axis=0), np.nanmax(rest, axis=0), np.nanmedian(rest, axis=0)
    wide = FAR * np.maximum(np.abs(low), np.abs(high))
    far = code & ((x > wide + 9) | ((x < 0) & (low >= 0)) | (x < -wide - 9))
    said = [Outlier(i, a, b, "sentinel", float(x[a, i]), float(usual[i]), True) for i, a, b in runs(far)]
    x[far] = np.nan
    return said


def negatives(x: np.ndarray) -> list[Outlier]:
    """Nodes of which most values are below 0, in data of at least 0: all these values become NaN."""
    below = x < 0
    nodes = np.flatnonzero(below.sum(axis=0) > 0.5 * np.maximum((np.isfinite(x) & (x != 0)).sum(axis=0), 1))
    said = []
    for i in nodes.tolist():
        rows = np.flatnonzero(below[:, i])
        middle = float(np.median(x[rows, i]))
        said.append(Outlier(i, int(rows[0]), int(rows[-1]), "negative", middle, -middle, True))
        x[rows, i] = np.nan
    return said


def signs(x: np.ndarray) -> list[Outlier]:
    """Values below 0 that are large for the node; small ones correct others and stay."""
    usual = np.nanmedian(np.where(np.isnan(x).all(axis=0), 0.0, np.abs(x)), axis=0)
    wrong = x < -WRONG * usual - 1e-12
    said = [Outlier(i, a, b, "sign", float(x[a, i]), float(usual[i]), True) for i, a, b in runs(wrong)]
    x[wrong] = np.nan
    return said


def falls(x: np.ndarray) -> list[Outlier]:
    """Totals that fall and recover (the low cells become NaN), rise and fall back (the high ones), or fall for good.

    A fall at the last snapshot, or to hardly anything in the last seven, becomes NaN until later totals confirm it. Falls of
    no more than 8 usual rises are named only.
    """
    said = []
    for i in np.flatnonzero((np.diff(np.nan_to_num(x), axis=0) < 0).any(axis=0) | np.isnan(x).any(axis=0)):
        seen = np.flatnonzero(~np.isnan(x[:, i]))
        if len(seen) < 3:
            continue
        said += _falls_of_one(x[:, i], seen, int(i))
    return said


def _falls_of_one(x: np.ndarray, seen: np.ndarray, node: int) -> list[Outlier]:
    said: list[Outlier] = []
    small: list[Outlier] = []
    rises = np.diff(x[seen])
    usual = SURE * float(np.median(rises[rises > 0])) if (rises > 0).any() else 0.0
    k = 1
    while k < len(seen):
        here, before = x[seen[k]], x[seen[k - 1]]
        if here >= before - usual:
            if here < before:
                small.append(Outlier(node, int(seen[k]), int(seen[k]), "fall", float(here), float(before), False))
            k += 1
            continue
        earlier = x[seen[k - 2]] if k > 1 else -np.inf
        after = x[seen[k : k + SIDE]]
        back = np.flatnonzero(x[seen[k:]] >= before - usual)
        if k > 1 and (after >= earlier - usual).all() and before > here + usual:
            said.append(Outlier(node, int(seen[k - 1]), int(seen[k - 1]), "spike", float(before), float(here), True))
            x[seen[k - 1]] = np.nan
            seen = np.delete(seen, k - 1)
            k = max(k - 1, 1)
        elif len(back) and back[0] <= max(SIDE, len(seen) // 10):
            wrong = seen[k : k + back[0]]
            said.append(Outlier(node, int(wrong[0]), int(wrong[-1]), "fall", float(here), float(before), True))
            x[wrong] = np.nan
            seen = np.delete(seen, np.arange(k, k + back[0]))
        elif k == len(seen) - 1 or (k >= len(seen) - WEEK and x[seen[k:]].max() <= EMPTY * before):
            said.append(Outlier(node, int(seen[k]), int(seen[-1]), "fall", float(here), float(before), True))
            x[seen[k:]] = np.nan
            break
        else:  # a revision for good: the past moves with it, so that there is no fall
            said.append(Outlier(node, int(seen[k]), int(seen[k]), "fall", float(here), float(before), False))
            x[: seen[k]] += here - before
            k += 1
    if len(small) > FEW:
        most = max(one.usual - one.value for one in small)
        small = [Outlier(node, small[0].first, small[-1].last, "falls", float(len(small)), most, False)]
    return said + small


def spikes(series: np.ndarray, z: np.ndarray, flat: np.ndarray, floor: float, cumulative: bool) -> list[Outlier]:
    """One or two cells far from those around them, reached and left in a single step.

    At both ends, where one side is missing, they must also exceed all that any other node did, and are compared without the
    pattern of a period (``flat``).
    """
    if len(z) < 4 * SIDE:
        return []
    middle, end = around(z, SIDE, SIDE), len(z) - 1
    deviation = z - middle
    deviation[0], deviation[end] = flat[0] - around(flat, 0, SIDE)[0], flat[end] - around(flat, SIDE, 0)[end]
    size = np.nan_to_num(deviation / usual_size(deviation[1:end], floor))
    most = np.nanmax(np.abs(np.nan_to_num(np.diff(z[:end], axis=0))), axis=0, initial=0.0)
    beyond = of_others(most)
    strange = np.abs(size) > DOUBT
    if cumulative:
        strange &= deviation > 0  # no increment at all is a day without a report
    said = []
    for i, a, b in runs(strange):
        k = a + int(np.abs(size[a : b + 1, i]).argmax())
        far = abs(deviation[k, i])
        steps = [abs(z[p, i] - z[q, i]) for p, q in ((a, a - 1), (b, b + 1)) if 0 <= q <= end]
        alone = b - a < 2 and all(not step < 0.6 * far for step in steps)
        sure = abs(size[k, i]) > (SURE if len(steps) == 2 else 2 * SURE) and (len(steps) == 2 or far > 1.5 * beyond[i])
        usual = z[k, i] - deviation[k, i]
        usual = usual * abs(usual) if floor > 0 else usual
        if alone or len(steps) < 2:
            kind = "jump" if cumulative else "spike"
            said.append(Outlier(i, a, b, kind, float(series[k, i]), float(usual), bool(sure and alone)))
    return said
