"""Direct ridge regression for every horizon, pooled over nodes: own past, common mean, neighbours."""

from __future__ import annotations

import numpy as np

from ..data import Panel
from .transforms import View, delayed, trailing_mean

PENALTY = 1e-3  # relative to each feature's own sum of squares
BLOCKS = ("own", "mean", "neighbours")


def features(
    panel: Panel, y: np.ndarray, lags: int, blocks: tuple[str, ...], order: np.ndarray | None = None
) -> np.ndarray:
    """Z, shape (T, n, p): for each block, what a node can know at each time, and 1 at the end.

    "own" is y_i(t) and its last changes y_i(t - k) - y_i(t - k - 1), k = 0 .. lags - 2, and the node's mean so far;
    "mean" is the same of the mean over nodes; "neighbours" is the mean over the neighbours in the graph in force at t,
    less the mean of that over nodes, now and over the last ``lags - 1`` steps.

    y is the series, shape (T, n); ``order`` shuffles the nodes for "neighbours".
    """
    parts: list[np.ndarray] = []
    if "own" in blocks:
        so_far = np.cumsum(y, axis=0) / np.arange(1, len(y) + 1)[:, None]
        parts += [*_past(y, lags), so_far - y] if y.min() < 0 else _past(y, lags)
    if "mean" in blocks:
        parts += _past(np.repeat(y.mean(axis=1, keepdims=True), y.shape[1], axis=1), lags)
    if "neighbours" in blocks:
        around = panel.neighbours(y, order)
        around = around - around.mean(axis=1, keepdims=True)
        parts += [around, trailing_mean(around, lags - 1)]
    return np.stack([*parts, np.ones_like(y)], axis=-1)


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
) -> np.ndarray:
    """w = argmin sum_t f^(e - t) |Z(t) w - target(t)|^2 + penalty w' diag(Z'Z) w over t <= e, for each e in ``ends``.

    Args:
        Z: shape (T, n, p); the last feature is 1 and is not penalised.
        target, known: targets and whether each counts, shape (T', n) with T' <= T.
        ends: the last times used, shape (E,); below 0 nothing is known and w = 0.
        forget: f.
        penalty: relative to the diagonal.

    Returns:
        w, shape (E, p).
    """
    p = Z.shape[2]
    wanted: dict[int, list[int]] = {}
    for k, e in enumerate(ends):
        wanted.setdefault(int(e), []).append(k)
    out, gram, right = np.zeros((len(ends), p)), np.zeros((p, p)), np.zeros(p)
    for t in range(int(ends.max()) + 1):
        z = Z[t] * known[t][:, None]
        gram, right = forget * gram + z.T @ Z[t], forget * right + z.T @ np.where(known[t], target[t], 0.0)
        if t in wanted:
            size = np.diag(gram)
            add = penalty * size + 1e-9 * (size.max() + 1e-12)
            add[-1] = 1e-9 * (size.max() + 1e-12)
            out[wanted[t]] = np.linalg.solve(gram + np.diag(add), right)
    return out


def forecasts(
    panel: Panel,
    view: View,
    lags: int,
    blocks: tuple[str, ...],
    origins: np.ndarray,
    horizons: np.ndarray,
    forget: float = 1.0,
) -> np.ndarray:
    """x at each horizon after each origin, shape (O, len(horizons), n), from data up to the origin only."""
    x, y = panel.values, view.series(panel.values)
    Z = features(panel, y, lags, blocks)
    out = np.empty((len(origins), len(horizons), x.shape[1]))
    for k, h in enumerate(horizons):
        known = panel.observed[h:] & panel.observed[:-h]
        w = coefficients(Z, targets(x, y, view, int(h)), known, origins - h, forget)
        answer = view.backward(y[origins] + np.einsum("onp,op->on", Z[origins], w))
        out[:, k] = x[origins] + np.maximum(answer, 0.0) * h if view.increments else answer
    return out
