"""Paths through gaps: monotone cubics or straight lines between what was seen of each series, for all series at once."""

from __future__ import annotations

import numpy as np


def interpolated(
    times: np.ndarray, values: np.ndarray, seen: np.ndarray, at: np.ndarray, *, straight: bool = False
) -> np.ndarray:
    """Each series (T, N) between what was seen of it, by monotone cubics or straight lines; constant beyond, NaN if nothing was.

    The cubics are those of Fritsch and Butland (SIAM J. Sci. Stat. Comput. 5, 1984): between two observations they leave neither's range.
    """
    counts = seen.sum(0)
    most = int(counts.max(initial=0))
    if most == 0:
        return np.full((len(at), values.shape[1]), np.nan)
    order = np.argsort(~seen, axis=0, kind="stable")[:most]  # what was seen comes first, in order of time
    t = times[order]
    x = np.take_along_axis(np.where(seen, values, 0.0), order, 0)
    series = np.arange(values.shape[1])
    last = np.maximum(counts - 1, 0)
    clipped = np.clip(at[:, None], t[0], t[last, series])
    passed = np.concatenate([np.zeros((1, len(series)), int), np.cumsum(seen, 0)])
    where = np.clip(passed[np.searchsorted(times, clipped, side="right"), series] - 1, 0, np.maximum(last - 1, 0))
    after = np.minimum(where + 1, last)
    left, right = t[where, series], t[after, series]
    low, high = x[where, series], x[after, series]
    length = np.where(right > left, right - left, 1.0)
    u = (clipped - left) / length
    if straight:
        out = low + u * (high - low)
    else:
        slopes = _slopes(t, x, counts)
        a, b = length * slopes[where, series], length * slopes[after, series]
        rise = high - low
        out = low + u * (a + u * (3 * rise - 2 * a - b + u * (a + b - 2 * rise)))
    return np.where(counts > 0, out, np.nan)


def _slopes(t: np.ndarray, x: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Of monotone cubics at their observations, the first ``counts`` of each column."""
    out = np.zeros_like(x)
    if len(t) < 2:
        return out
    series = np.arange(t.shape[1])
    inside = np.arange(1, len(t))[:, None] < counts  # intervals between two observations
    h = np.where(inside, np.diff(t, axis=0), 1.0)
    steep = np.where(inside, np.diff(x, axis=0) / h, 0.0)
    w, v = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    same = steep[:-1] * steep[1:] > 0
    one, two = np.where(same, steep[:-1], 1.0), np.where(same, steep[1:], 1.0)
    out[1:-1] = np.where(same & inside[1:], (w + v) / (w / one + v / two), 0.0)
    end = np.maximum(counts - 1, 0)
    near, next_ = np.maximum(end - 1, 0), np.maximum(end - 2, 0)
    second = np.minimum(1, len(h) - 1)
    many = counts > 2
    out[0] = np.where(many, _at_end(h[0], h[second], steep[0], steep[second]), steep[0])
    final = _at_end(h[near, series], h[next_, series], steep[near, series], steep[next_, series])
    out[end, series] = np.where(many, final, np.where(counts == 2, steep[0], out[end, series]))
    return out


def _at_end(h: np.ndarray, beside: np.ndarray, steep: np.ndarray, steep_beside: np.ndarray) -> np.ndarray:
    """The slope of a parabola through three observations at the first of them, cut where it would leave their range."""
    slope = ((2 * h + beside) * steep - h * steep_beside) / (h + beside)
    slope = np.where(np.sign(slope) != np.sign(steep), 0.0, slope)
    turns = (np.sign(steep) != np.sign(steep_beside)) & (np.abs(slope) > 3 * np.abs(steep))
    return np.where(turns, 3 * steep, slope)
