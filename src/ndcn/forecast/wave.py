"""One wave for all nodes: a common course, a level and a delay for each node, and growth that ends by itself.

log(1 + y_i(t)) = a_i + W(t - d_i), where y_i is the mean over the last w steps and W the robust mean over nodes. Nodes that
are ahead tell the future of those behind (d_i > 0); beyond what is known, the growth of W follows a damped line.
"""

from __future__ import annotations

import numpy as np

from ..data import Panel, capped
from .ridge import filled, plain_mean
from .transforms import View

# The wave was made for COVID-19 in England, its constants at origins 10 to 32 there (docs/forecast.md, How far to trust this). Other values
# are recorded for the dampings alone.
MOST_DELAY = 7  # steps: a week of days
SPREAD = (
    3.0  # standard deviation of delays before anything is seen, in steps: few data leave a node in step with the others
)
BLUR = 0.01  # of logarithms: what differs by less than a percent says nothing about delays
LOOK_BACK = 4  # windows w over which a delay is fitted: of days, four weeks
# The two dampings were chosen by the errors of this model alone at origins that are not reported: COVID-19 in England from days 10
# to 32 and in the world from days 44 to 79, H1N1 from days 27 to 36. In England 14 days ahead, from days 20 to 32, they give 0.69
# of persistence's error; 0.95 and 0.8 give 0.75, 0.9 and 0.7 give 0.68; in the other two sets these differ by 1 %.
DAMPED = 0.9  # of growth and its slope, for every step ahead
ENDING = (
    0.8  # of growth above 0 besides: every rise ends, and who says too much is wrong by more than who says too little
)
FASTEST = 0.3  # change of the logarithm in a step that is still believed: a doubling in log(2) / 0.3 = 2.3 steps
CYCLES = 4  # windows over which the share of each weekday is taken: as for delays
CAUTION = 1.0  # windows without any shape that these are averaged with: four of them then count for 4/5, one for 1/2


def forecasts(panel: Panel, origins: np.ndarray, horizons: np.ndarray) -> np.ndarray:
    """x at each horizon after each origin, shape (O, len(horizons), n), from data up to the origin only.

    Args:
        panel: values of at least 0, or totals.
        origins, horizons: places of the last snapshots seen, and steps ahead.

    Example:
        >>> import ndcn, numpy as np
        >>> from ndcn.data import panel_of
        >>> from ndcn.forecast import wave
        >>> t = np.arange(50.0)[:, None] - [0, 0, 0, 0, 4]  # the last node is four days behind
        >>> cases = 1000 * np.exp(-(((t - 25) / 12) ** 2))
        >>> panel = panel_of(ndcn.Trajectory(times=np.arange(50.0), states=cases, graph=ndcn.networks.grid(5)))
        >>> said = wave.forecasts(panel, np.array([26]), np.array([3]))[0, 0]
        >>> bool(said[4] > said[0])  # the others' decline has begun
        True
    """
    x, w, far = panel.values, panel.kind.window, int(horizons.max())
    y = filled(View("log", panel.kind.cumulative, w).series(x), panel.observed)
    W = plain_mean(panel, y)[0][:, 0]  # nodes behind the others are far from it, and count all the same
    middle = (w - 1) // 2  # a mean over w steps is that of its middle
    course = _course(W, origins, far + middle + MOST_DELAY, 2 * w)
    ahead, delays = np.arange(1, far + 1) + middle, np.arange(-MOST_DELAY, MOST_DELAY + 1)
    rise = course[:, MOST_DELAY + ahead - delays[:, None]] - course[:, MOST_DELAY - delays[:, None]]
    path = y[origins][:, None] + np.einsum("odh,odn->ohn", rise, delay_weights(y, W, origins, w))
    flow = View("log").backward(path) * shape(panel, origins, far, w)
    return View(increments=panel.kind.cumulative).levels(flow, x[origins])[:, horizons - 1]


def delay_weights(y: np.ndarray, W: np.ndarray, origins: np.ndarray, window: int) -> np.ndarray:
    """How likely each delay -7 .. 7 of each node is by what was seen up to each origin: shape (O, 15, n), sums 1.

    p_i(d) ~ exp(-d^2 / 2 s^2) S_i(d)^(-m/2), where S is the variance of y_i(t) - W(t - d) over the last four windows and m
    the number of windows: means over a window are not news at every step.

    Args:
        y: the nodes' series, shape (T, n).
        W: the common course, shape (T,).
        origins: the last times seen, shape (O,).
        window: steps that y was averaged over.
    """
    zero = np.zeros((1, y.shape[1]))
    apart = np.full((len(origins), 2 * MOST_DELAY + 1, y.shape[1]), np.inf)
    for k, d in enumerate(range(-MOST_DELAY, MOST_DELAY + 1)):
        late, early = max(d, 0), max(-d, 0)
        if late + early >= len(y):
            continue
        r = y[late : len(y) - early] - W[early : len(W) - late][:, None]  # at t = late, late + 1, ...
        sums, squares = (np.concatenate([zero, np.cumsum(part, axis=0)]) for part in (r, r * r))
        stop = np.maximum(origins - early - late + 1, 0)
        begin = np.maximum(stop - LOOK_BACK * window, 0)
        count = np.maximum(stop - begin, 1)[:, None]
        variance = (squares[stop] - squares[begin]) / count - ((sums[stop] - sums[begin]) / count) ** 2
        enough = (stop - begin >= window) | (d == 0)
        apart[enough, k] = np.maximum(variance[enough], BLUR**2)
    prior = -0.5 * (np.arange(-MOST_DELAY, MOST_DELAY + 1) / SPREAD) ** 2
    score = prior[:, None] - 0.5 * LOOK_BACK * np.log(apart)
    likely = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(likely / likely.sum(axis=1, keepdims=True))


def _course(W: np.ndarray, origins: np.ndarray, far: int, span: int) -> np.ndarray:
    """W(o + s) - W(o) for s = -7 .. far, shape (O, 8 + far): what is known, and then growth on a damped line.

    The line goes through the last ``span`` growths; its slope counts as far as it is larger than its standard error.
    """
    known = W[np.maximum(origins[:, None] + np.arange(-MOST_DELAY, 1), 0)] - W[origins][:, None]
    at = origins[:, None] + np.arange(1 - span, 1)
    growth = W[np.maximum(at, 0)] - W[np.maximum(at - 1, 0)]
    weight = (at >= 1) * 1.0
    count = np.maximum(weight.sum(axis=1, keepdims=True), 1.0)
    time = np.arange(1.0 - span, 1.0) - (weight * np.arange(1.0 - span, 1.0)).sum(axis=1, keepdims=True) / count
    mean = (weight * growth).sum(axis=1, keepdims=True) / count
    room = np.maximum((weight * time**2).sum(axis=1, keepdims=True), 1e-12)
    slope = (weight * time * (growth - mean)).sum(axis=1, keepdims=True) / room
    error = (weight * (growth - mean - slope * time) ** 2).sum(axis=1, keepdims=True) / np.maximum(count - 2, 1)
    doubt = (span // 2) * error / room  # growths of means over a window are alike
    slope = slope * slope**2 / (slope**2 + doubt + 1e-12)
    now = mean + slope * time[:, -1:]
    step = np.arange(1, far + 1)
    ahead = now * DAMPED**step + slope * np.cumsum(DAMPED**step)
    ahead = np.clip(np.where(ahead > 0, ahead * ENDING**step, ahead), -FASTEST, FASTEST)
    return np.concatenate([known, np.cumsum(ahead, axis=1)], axis=1)


def shape(panel: Panel, origins: np.ndarray, horizon: int, period: int) -> np.ndarray:
    """How much of the mean falls on each coming step, by the last four periods of all nodes: shape (O, horizon, 1).

    Each step is compared with the mean over the period around it, so that a rise is no shape; 1 everywhere where there was
    less than a period and a half.
    """
    total = capped(View(increments=panel.kind.cumulative).flow(panel.values)).sum(axis=1)
    before, after = period - 1 - (period - 1) // 2, (period - 1) // 2
    around = np.full(len(total), np.nan)
    around[before : len(total) - after] = np.convolve(total, np.ones(period) / period, mode="valid")
    good = (total > 0) & (np.nan_to_num(around) > 0)
    relative = np.log(np.divide(total, around, out=np.ones_like(total), where=good))
    out = np.ones((len(origins), horizon, 1))
    for k, o in enumerate(origins):
        t = np.arange(max(0, o - after - CYCLES * period + 1), o - after + 1)
        t = t[good[t]]
        count = np.bincount(t % period, minlength=period)
        if len(t) and count.min() > 0:
            mean = np.bincount(t % period, relative[t], minlength=period) / (count + CAUTION)
            out[k, :, 0] = np.exp(mean - mean.mean())[(o + 1 + np.arange(horizon)) % period]
    return out
