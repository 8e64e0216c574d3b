"""Nodes that are no example for others: their level shifts, or they are in another unit or mirrored."""

from __future__ import annotations

import warnings

import numpy as np

from .outlier import NOISE, SIDE, SURE, Outlier, around, of_others, runs, usual_size

FEWEST = 10  # nodes, so that one can be told from the others
GIANT = 3.0  # times the largest step of any other node
DISTINCT = 6  # values that are all multiples of 10: by chance once in a million
AGAINST = 3.0  # standard errors of a correlation with the other nodes


def giants(x: np.ndarray, flow: np.ndarray) -> list[Outlier]:
    """Nodes that move more than three times as far as any other ever did, or whose whole numbers are multiples of 10, 100, ...

    One step, or the two of a spike, make no other unit: they are a level that shifts, or a step with its date.

    Args:
        x: values, shape (T, n); flow: the same, or increments of totals.
    """
    if x.shape[1] < FEWEST:
        return []
    steps = np.nan_to_num(np.abs(np.diff(flow, axis=0)))
    most = steps.max(axis=0, initial=0.0)
    beyond, said, single = of_others(most), {}, []
    for i in np.flatnonzero(most > GIANT * beyond).tolist():
        if (steps[:, i] > GIANT * beyond[i]).sum() > 2:
            said[i] = ("giant", float(most[i]), float(beyond[i]))
        else:
            single.append(_step(flow, i, int(steps[:, i].argmax()) + 1, float(beyond[i])))
    tens = np.array([_tens(column[np.isfinite(column)]) for column in x.T])
    if (tens <= 0).mean() > 0.9:
        said |= {i: ("unit", 10.0 ** tens[i], 1.0) for i in np.flatnonzero(tens > 0).tolist()}
    whole = [Outlier(i, 0, len(x) - 1, kind, value, usual, True) for i, (kind, value, usual) in said.items()]
    return whole + [one for one in single if one.node not in said]


def _step(flow: np.ndarray, node: int, row: int, beyond: float) -> Outlier:
    """A step at ``row`` beyond all of other nodes: the level shifts where it stays, else it is a step."""
    step = abs(flow[row, node] - flow[row - 1, node])
    left, right = flow[max(0, row - SIDE) : row, node], flow[row : row + SIDE, node]
    before, after = (float(np.nanmedian(side)) for side in (left, right))
    if len(right) == SIDE and abs(after - before) > 0.5 * step:
        return Outlier(node, row, row, "shift", after, before, True)
    return Outlier(node, row, row, "step", float(step), beyond, True)


def _tens(values: np.ndarray) -> int:
    """The largest k so that all values are multiples of 10^k; 0 where they are few or not whole."""
    some = np.unique(values[values != 0])
    if len(some) < DISTINCT or np.abs(some).max() >= 2**53 or (some != np.round(some)).any():
        return 0
    return next((k for k in range(15, 0, -1) if (some % 10**k == 0).all()), 0)


def mirrored(x: np.ndarray) -> list[Outlier]:
    """Nodes that go against the others, where nearly all go together; they are named only."""
    if x.shape[1] < FEWEST or len(x) < 6 * SIDE:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nodes that were never observed
        away = x - np.nanmedian(x, axis=0)
        sign = np.nan_to_num(away / np.nanmean(np.abs(away), axis=0), posinf=0.0, neginf=0.0).clip(-3.0, 3.0)
    common = sign.mean(axis=1)[:, None] - sign / sign.shape[1]
    size = np.sqrt((sign**2).sum(axis=0) * (common**2).sum(axis=0))
    r = np.divide((sign * common).sum(axis=0), size, out=np.zeros_like(size), where=size > 0)
    if np.quantile(r, 0.1) <= 0:
        return []
    rows = np.flatnonzero(r < -AGAINST / np.sqrt(len(x))).tolist()
    return [Outlier(i, 0, len(x) - 1, "mirror", float(r[i]), float(np.median(r)), False) for i in rows]


def spread(z: np.ndarray) -> np.ndarray:
    """log of how far each value is from its node's median: a change of unit shifts it, whatever the sign of the values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nodes that were never observed
        away = np.abs(z - np.nanmedian(z, axis=0))
        usual = np.nanmedian(away, axis=0)
    return np.log(away + 0.3 * np.maximum(usual, 1e-12))


def shifts(x: np.ndarray, z: np.ndarray, floor: float) -> list[Outlier]:
    """One step after which a node's level stays elsewhere, while the others go on.

    Counts are compared by their logarithms, and a node must have had some before, or jump further than any other ever did: an
    outbreak is no shift.
    """
    if len(z) < 6 * SIDE:
        return []
    z, floor = (np.log1p(np.maximum(x, 0.0)), NOISE / 2) if floor > 0 else (z, 0.0)
    left, right = around(z, SIDE, 0), around(z, 0, SIDE)
    change = right - left
    size = change / usual_size(change, floor, rare=0.2)  # a shift is in sight of 2 * SIDE snapshots
    common = np.median(np.nan_to_num(np.abs(size)), axis=1)
    step = np.abs(np.diff(z, axis=0, prepend=z[:1]))
    good = (np.abs(size) > SURE) & (step > 0.7 * np.abs(change)) & (common < 2.0)[:, None]
    if floor > 0:
        jump = np.nan_to_num(np.abs(np.diff(x, axis=0, prepend=x[:1])))
        good &= (left > np.log1p(2.0)) | (jump > 3 * of_others(jump.max(axis=0)))
    good[:SIDE], good[-SIDE:] = False, False
    said = []
    for i, a, b in runs(good):
        k = a + int(np.abs(size[a : b + 1, i]).argmax())
        before, after = np.nanmedian(x[k - SIDE : k, i]), np.nanmedian(x[k : k + SIDE, i])
        said.append(Outlier(i, k, k, "shift", float(after), float(before), True))
    return said
