"""Direct ridge regression for every horizon, pooled over nodes: own past, common mean, neighbours."""

from __future__ import annotations

import numpy as np
from scipy.stats import trim_mean

from ..data import Panel, even_weights
from .transforms import View, delayed, trailing_mean

TRIM = 0.05  # share of the nodes left out at each end of the common mean: a twentieth, as ``backtest.MOST``
# Relative to each feature's own sum of squares: shrinks a coefficient by a thousandth, and decides where features say the same. A round
# number; no comparison is recorded.
PENALTY = 1e-3
# Of the sum of squares that one node may have: far from the others, it would bend the fit to itself. How much one node may count was
# among about 30 variants that differ by 1 or 2 % on average (docs/forecast.md, How far to trust this).
LARGEST = 0.02
COMMON = 1.5  # even parts of the common mean that one node may have; 1.25 to 2 differ little on simulated counts
RECENT = 28  # steps that say how far a node usually is from the common mean: four weeks of days
BLOCKS = ("own", "mean", "neighbours")


def features(
    panel: Panel, y: np.ndarray, lags: int, blocks: tuple[str, ...], order: np.ndarray | None = None
) -> np.ndarray:
    """Z, shape (T, n, p): for each block, what a node can know at each time, and 1 at the end.

    "own" is y_i(t) and its last changes y_i(t - k) - y_i(t - k - 1), k = 0 .. lags - 2, and the node's mean so far;
    "mean" is the same of the mean over nodes, without the lowest and highest twentieth; "neighbours" is the mean over the neighbours in the graph in force at t,
    less the mean of that over nodes, now and over the last ``lags - 1`` steps.

    y is the series, shape (T, n); ``order`` shuffles the nodes for "neighbours".
    """
    parts: list[np.ndarray] = []
    if "own" in blocks:
        so_far = np.cumsum(y, axis=0) / np.arange(1, len(y) + 1)[:, None]
        parts += [*_past(y, lags), so_far - y] if y.min() < 0 else _past(y, lags)
    quiet = filled(y, panel.observed) if len(blocks) > ("own" in blocks) else y
    if "mean" in blocks:
        parts += _past(np.repeat(common_mean(panel, quiet), y.shape[1], axis=1), lags)
    if "neighbours" in blocks:
        if panel.shifted.any():  # no example for others: its neighbours see the mean in its place
            quiet = np.where(panel.shifted, trim_mean(quiet, TRIM, axis=1)[:, None], quiet)
        around = panel.neighbours(quiet, order)
        around = around - trim_mean(around, TRIM, axis=1)[:, None]
        parts += [around, trailing_mean(around, lags - 1)]
    return np.stack([*parts, np.ones_like(y)], axis=-1)


def filled(y: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """y in which a node that was not observed moves as the median of those that were: its silence is no news."""
    if observed.all():
        return y
    out = y.copy()
    for t in range(1, len(y)):
        both = observed[t] & observed[t - 1]
        step = np.median(y[t, both] - y[t - 1, both]) if both.any() else 0.0
        out[t] = np.where(observed[t], y[t], out[t - 1] + step)
    return out


def common_mean(panel: Panel, y: np.ndarray) -> np.ndarray:
    """The mean over nodes at each time, shape (T, 1).

    What a node is further from its usual distance to ``plain_mean`` than it was on average of late does not count.
    """
    plain, weight = plain_mean(panel, y)
    if not panel.kind.positive:
        return plain
    away = y - plain
    away -= trailing_mean(away, RECENT)
    most = trailing_mean(np.abs(away), RECENT)
    return np.asarray(plain + (weight * (np.clip(away, -most, most) - away)).sum(axis=1, keepdims=True))


def plain_mean(panel: Panel, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean over nodes at each time, shape (T, 1), and their weights, shape (T, n).

    Where values are at least 0, nodes count by their mean so far, as far as ``even_weights`` lets them (the logarithm of a
    small count is mostly noise), and the highest fortieth is cut off. Else all count alike, without the ends.
    """
    if not panel.kind.positive:
        return np.asarray(trim_mean(y, TRIM, axis=1)[:, None]), np.full(y.shape, 1.0 / y.shape[1])
    flow = np.diff(panel.values, axis=0, prepend=panel.values[:1]) if panel.kind.cumulative else panel.values
    size = np.where(panel.shifted, 0.0, np.cumsum(np.maximum(flow, 0.0), axis=0)) + 1e-12
    weight = size * even_weights(size, 0.0, COMMON)
    weight /= weight.sum(axis=1, keepdims=True)
    low, high = np.quantile(y, [0.0, 1 - TRIM / 2], axis=1)[..., None]
    return (weight * np.clip(y, low, high)).sum(axis=1, keepdims=True), weight


def _past(z: np.ndarray, lags: int) -> list[np.ndarray]:
    return [z] + [delayed(z, k) - delayed(z, k + 1) for k in range(lags - 1)]


def targets(values: np.ndarray, y: np.ndarray, view: View, h: int) -> np.ndarray:
    """What is regressed at horizon h, shape (T - h, n): the change of y, or of the mean increment over the h steps."""
    ahead = np.maximum(values[h:] - values[:-h], 0.0) / h if view.increments else values[h:]
    return np.asarray(view.forward(ahead) - y[:-h])


def coefficients(
    Z: np.ndarray,
    target: np.ndarray,
    known: np.ndarray,
    ends: np.ndarray,
    forget: float = 1.0,
    penalty: float = PENALTY,
    even: np.ndarray | None = None,
) -> np.ndarray:
    """w = argmin sum_t f^(e - t) |Z(t) w - target(t)|^2 + penalty w' diag(Z'Z) w over t <= e, for each e in ``ends``.

    A node whose targets or first feature have more than a fiftieth of the sum of squares so far counts less.

    Args:
        Z: shape (T, n, p); the last feature is 1 and is not penalised.
        target, known: targets and whether each counts, shape (T', n) with T' <= T.
        ends: the last times used, shape (E,); below 0 nothing is known and w = 0.
        forget: f.
        penalty: relative to the diagonal.
        even: weights (T, n) by the first feature, where they are known already.

    Returns:
        w, shape (E, p).
    """
    p, target = Z.shape[2], np.where(known, target, 0.0)
    weight = known * np.minimum(_even(target), _even(Z[..., 0])[: len(known)] if even is None else even[: len(known)])
    times, which = np.unique(ends, return_inverse=True)
    grams, rights = np.zeros((len(times), p, p)), np.zeros((len(times), p))
    gram, right, start = np.zeros((p, p)), np.zeros(p), 0
    for k, end in enumerate(times):
        if end >= start:  # what came since the last of them
            new = slice(start, end + 1)
            z = Z[new].reshape(-1, p)
            weighted = z * (weight[new] * forget ** np.arange(end - start, -1, -1)[:, None]).reshape(-1, 1)
            older = forget ** (end + 1 - start)
            gram, right = older * gram + weighted.T @ z, older * right + weighted.T @ target[new].reshape(-1)
            start = end + 1
        grams[k], rights[k] = gram, right
    size = np.diagonal(grams, axis1=1, axis2=2)
    least = 1e-9 * (size.max(axis=1, keepdims=True) + 1e-12)
    add = np.concatenate([penalty * size[:, :-1] + least, least], axis=1)
    return np.asarray(np.linalg.solve(grams + add[:, None] * np.eye(p), rights[..., None])[which, :, 0])


def _even(part: np.ndarray) -> np.ndarray:
    """Weights (T, n) by the squares of targets, or of the first feature, up to each time."""
    return even_weights(np.cumsum(part**2, axis=0), LARGEST)


def _seasonal(y: np.ndarray, h: int, period: int) -> list[np.ndarray]:
    """y one period before t + h less y(t), and the same of the mean over the periods before; 0 where there was none."""
    back = period * -(-h // period) - h
    last = np.concatenate([np.full((back, y.shape[1]), np.nan), y[: len(y) - back]]) if back else y
    phases = [
        np.concatenate([np.full((k * period, y.shape[1]), np.nan), last[: len(y) - k * period]]) for k in range(4)
    ]
    phases = [p for p in phases if len(p) == len(y)]
    count = np.sum([np.isfinite(p) for p in phases], axis=0)
    mean = np.nansum(phases, axis=0) / np.maximum(count, 1)
    return [np.nan_to_num(last - y), np.where(count > 0, mean - y, 0.0)]


def forecasts(
    panel: Panel,
    view: View,
    lags: int,
    blocks: tuple[str, ...],
    origins: np.ndarray,
    horizons: np.ndarray,
    forget: float = 1.0,
    period: int | None = None,
) -> np.ndarray:
    """x at each horizon after each origin, shape (O, len(horizons), n), from data up to the origin only."""
    x, y = panel.values, view.series(panel.values)
    Z = plain = features(panel, y, lags, blocks)
    even = _even(Z[..., 0]) if period is None else None
    out = np.empty((len(origins), len(horizons), x.shape[1]))
    for k, h in enumerate(horizons):
        known = panel.pairs(int(h))
        if period is not None:
            Z = np.concatenate([np.stack(_seasonal(y, int(h), period), axis=-1), plain], axis=-1)
        w = coefficients(Z, targets(x, y, view, int(h)), known, origins - h, forget, even=even)
        answer = view.backward(y[origins] + np.einsum("onp,op->on", Z[origins], w))
        out[:, k] = x[origins] + np.maximum(answer, 0.0) * h if view.increments else answer
    return out
