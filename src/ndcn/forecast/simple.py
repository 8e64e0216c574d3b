"""Guesses that look at one node alone: persistence, drift, season, mean, and exponential smoothing, all nodes at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Panel, capped
from .transforms import trailing_mean

# A grid of the constants of smoothing, among which past errors choose: ALPHAS from a mean over ten steps to persistence, BETAS from no trend
# to one of a few steps. PHIS lie where damping is usually sought, 0.8 to 0.98 (Hyndman and Athanasopoulos, Forecasting: Principles and
# Practice, 3rd edition, section 8.2).
ALPHAS = (0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0)
BETAS = (0.0, 0.05, 0.1, 0.2, 0.4)
PHIS = (0.8, 0.9, 0.95)
CYCLES = 8  # periods over which a seasonal mean is taken: its noise is 8^-1/2 = 0.35 of one season's. A round number; no comparison is recorded
# Of past one-step errors, by which these constants are chosen: about the last 1 / (1 - 0.98) = 50 steps. A round number; no comparison is recorded.
FORGET = 0.98


def persistence(x: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
    """x(o + h) = x(o). Shapes as everywhere here: (T, n) to (O, horizon, n)."""
    return np.repeat(x[origins][:, None], horizon, axis=1)


def mean(x: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
    """x(o + h) = the mean of x up to o."""
    so_far = np.cumsum(x, axis=0) / np.arange(1, len(x) + 1)[:, None]
    return np.repeat(so_far[origins][:, None], horizon, axis=1)


def drift(x: np.ndarray, origins: np.ndarray, horizon: int, window: int | None = None) -> np.ndarray:
    """x(o + h) = x(o) + h (x(o) - x(o - w)) / w, with w = ``window`` or everything.

    Example:
        >>> import numpy as np
        >>> from ndcn.forecast.simple import drift
        >>> drift(np.arange(5.0)[:, None], np.array([4]), 3).ravel()
        array([5., 6., 7.])
    """
    back = np.zeros_like(origins) if window is None else np.maximum(origins - window, 0)
    slope = (x[origins] - x[back]) / np.maximum(origins - back, 1)[:, None]
    return x[origins][:, None] + np.arange(1, horizon + 1)[:, None] * slope[:, None]


def seasonal(x: np.ndarray, origins: np.ndarray, horizon: int, period: int) -> np.ndarray:
    """x(o + h) = the last x at the same place of the period; x(o) before there was one."""
    ahead = np.arange(horizon) % period
    at = origins[:, None] - period + 1 + ahead
    return x[np.where(at >= 0, at, origins[:, None])]


def same_phase(x: np.ndarray, origins: np.ndarray, horizon: int, period: int, middle: bool = False) -> np.ndarray:
    """x(o + h) = the mean (or median) of x at the same place of the last 8 periods; x(o) before there was one.

    Example:
        >>> import numpy as np
        >>> from ndcn.forecast.simple import same_phase
        >>> same_phase(np.array([[1.0], [5.0], [3.0], [6.0]]), np.array([3]), 2, period=2).ravel()
        array([2. , 5.5])
    """
    at = origins[:, None] + 1 + np.arange(horizon)
    at = at - period * np.ceil((at - origins[:, None]) / period).astype(int)  # the last known place of that phase
    places = at[None] - period * np.arange(CYCLES)[:, None, None]
    past = np.where((places >= 0)[..., None], x[np.maximum(places, 0)], np.nan)
    past[0] = np.where((at >= 0)[..., None], past[0], x[origins][:, None])
    return np.asarray(np.nanmedian(past, axis=0) if middle else np.nanmean(past, axis=0))


@dataclass(frozen=True)
class Smoothing:
    """Damped-trend exponential smoothing with level l and trend b (Gardner and McKenzie; Hyndman's A_d).

    e = y(t) - l - phi b;  l <- l + phi b + alpha e;  b <- phi b + alpha beta e;
    y(t + h) = l + (phi + ... + phi^h) b. Starts from l = y(0), b = 0. Of the constants, those with the smallest
    discounted one-step absolute error so far are used: of each node, or (``pooled``) of all nodes together.

    Args:
        alphas, betas, phis: what is tried; betas = (0,) has no trend.
        pooled: the same constants for all nodes.

    Example:
        >>> import numpy as np
        >>> from ndcn.forecast.simple import Smoothing
        >>> line = np.arange(40.0)[:, None]
        >>> Smoothing(alphas=(1.0,), betas=(1.0,), phis=(1.0,)).forecasts(line, np.array([39]), 2).ravel()
        array([40., 41.])
    """

    alphas: tuple[float, ...] = ALPHAS
    betas: tuple[float, ...] = BETAS
    phis: tuple[float, ...] = PHIS
    pooled: bool = False

    def forecasts(self, y: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
        """y at steps 1 .. horizon after each origin, shape (O, horizon, n), from y up to the origin only."""
        grid = [(a, b, p) for a in self.alphas for b in self.betas for p in (self.phis if b > 0 else self.phis[:1])]
        alpha, beta, phi = (np.array(part)[:, None] for part in zip(*grid, strict=True))
        damped = np.cumsum(phi ** np.arange(1, horizon + 1), axis=1)
        n = y.shape[1]
        level, trend, error = np.repeat(y[:1], len(grid), axis=0), np.zeros((len(grid), n)), np.zeros((len(grid), n))
        out, wanted = np.empty((len(origins), horizon, n)), {int(o): k for k, o in enumerate(origins)}
        for t in range(int(origins.max()) + 1):
            if t > 0:
                surprise = y[t] - level - phi * trend
                error = FORGET * error + np.abs(surprise)
                level = level + phi * trend + alpha * surprise
                trend = phi * trend + alpha * beta * surprise
            if t in wanted:
                best, nodes = self._best(error), np.arange(n)
                out[wanted[t]] = level[best, nodes] + damped[best].T * trend[best, nodes]
        return out

    def _best(self, error: np.ndarray) -> np.ndarray:
        if not self.pooled:
            return np.asarray(error.argmin(axis=0))
        relative = error / np.maximum(error.mean(axis=0), 1e-12)
        return np.full(error.shape[1], int(relative.sum(axis=1).argmin()))


def profile(flow: np.ndarray, origins: np.ndarray, horizon: int, period: int, cycles: int = 4) -> np.ndarray:
    """How much of the mean falls on each coming step, by the last ``cycles`` periods of all nodes: shape (O, horizon, 1).

    1 on average over a period; 1 everywhere where there were fewer than two periods or no flow.

    Example:
        >>> import numpy as np
        >>> from ndcn.forecast.simple import profile
        >>> profile(np.tile([[1.0], [3.0]], (4, 1)), np.array([7]), 3, period=2).ravel()
        array([0.5, 1.5, 0.5])
    """
    total = capped(flow).sum(axis=1)
    out = np.ones((len(origins), horizon, 1))
    for k, o in enumerate(origins):
        count = min(cycles, (o + 1) // period)
        block = total[o + 1 - count * period : o + 1].reshape(count, period)
        if count >= 2 and block.mean() > 0:
            out[k, :, 0] = (block.mean(axis=0) / block.mean())[np.arange(horizon) % period]
    return out


def recent_change(
    x: np.ndarray, origins: np.ndarray, horizon: int, window: int = 28, observed: np.ndarray | None = None
) -> np.ndarray:
    """Mean of |x(t) - x(t - horizon)| over the last ``window`` steps up to each origin, shape (O, n).

    Where the data are shorter than ``horizon``, over what there is. Held values are no news: of a node that was not ``observed``
    for a while, what was known when it was.
    """
    lag = min(horizon, max(1, len(x) // 4))
    size = np.abs(x - x[np.maximum(np.arange(len(x)) - lag, 0)])
    plain = trailing_mean(size, window)
    if observed is None or observed.all():
        return plain[origins]
    both = observed & observed[np.maximum(np.arange(len(x)) - lag, 0)]
    count = trailing_mean(both * 1.0, window)
    mean = np.divide(
        trailing_mean(size * both, window), count, out=np.full(x.shape, np.nan), where=count > 0.5 / window
    )
    rows = np.maximum.accumulate(
        np.where(both, np.arange(len(x))[:, None], -1), axis=0
    )  # the last change that was seen
    known = np.take_along_axis(mean, np.maximum(rows, 0), axis=0)
    return np.where((rows >= 0) & np.isfinite(known), known, plain)[origins]


def long_change(panel: Panel, origins: np.ndarray, horizon: int) -> np.ndarray:
    """Mean of |x(t) - x(t - horizon)| over all of the past in which both were observed, at each origin: shape (O, n)."""
    lag = min(horizon, max(1, len(panel) // 4))
    both = panel.observed[lag:] & panel.observed[:-lag]
    size = np.cumsum(np.where(both, np.abs(panel.values[lag:] - panel.values[:-lag]), 0.0), axis=0)
    count = np.cumsum(both, axis=0)
    mean = np.concatenate([np.zeros((lag, size.shape[1])), size / np.maximum(count, 1)])
    return np.asarray(mean[origins])
