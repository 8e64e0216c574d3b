"""How much numbers spread among nodes: the likeliest spreads of deviations whose information is known."""

from __future__ import annotations

import math

import numpy as np
from scipy import linalg

SPREAD_RANGE = (
    1e-4,
    10.0,
)  # times the typical error of a deviation, and times the largest deviation: where a spread is looked for
GRIDS = (10, 7, 7, 7)  # spreads that are compared, each grid around the best of the one before: to a few percent
UNTOLD = 1e-6  # times the typical information on a deviation: parameters in common explain those with less
SWEEPS = 2  # over the spreads, each given the others


def likeliest_spreads(F: np.ndarray, b: np.ndarray, n: int, q: int, start: np.ndarray) -> np.ndarray:
    """Spreads under which b = F (u, theta) + noise with covariance F is likeliest, theta free; ``start`` where F is not finite."""
    if not (np.isfinite(F).all() and np.isfinite(b).all()):
        return np.asarray(start, dtype=float)
    nq = n * q
    T, c = F[nq:, nq:], F[:nq, nq:]
    inner = inverse(T)
    A = F[:nq, :nq] - c @ inner @ c.T  # what parameters in common could explain taken out
    v = b[:nq] - c @ inner @ b[nq:]
    spread = np.asarray(start, dtype=float).copy()
    diagonal = np.maximum(A.diagonal().reshape(n, q), 1e-300)
    error = np.median(diagonal, axis=0) ** -0.5
    told = diagonal > UNTOLD * np.median(diagonal, axis=0)
    size = np.maximum(np.where(told, np.abs(v.reshape(n, q) / diagonal), 0.0).max(0), error)

    if q == 1:  # all spreads at once by eigenvalues
        values, vectors = np.linalg.eigh((A + A.T) / 2)
        held = values > 1e-14 * max(values[-1], 1e-300)
        values, along = values[held], (vectors.T @ v)[held] ** 2

        def loss(taus: np.ndarray) -> float:
            t = float(taus[0]) ** 2
            return float(np.log1p(t * values).sum() + (along / values / (1 + t * values)).sum())
    else:
        free = inverse(A) @ v  # deviations that no spread holds back

        def loss(taus: np.ndarray) -> float:
            both = np.tile(taus, n)
            M = np.eye(nq) + both[:, None] * A * both
            try:
                factor = linalg.cho_factor(M, lower=True, check_finite=False)
            except linalg.LinAlgError:
                return math.inf
            u = both * linalg.cho_solve(factor, both * v, check_finite=False)
            away = u - free
            return float(2 * np.log(factor[0].diagonal()).sum() + away @ A @ away + (u**2 / both**2).sum())

    for _ in range(SWEEPS if q > 1 else 1):
        for k in range(q):

            def one(log: float, k: int = k) -> float:
                return loss(np.concatenate([spread[:k], [math.exp(log)], spread[k + 1 :]]))

            low, high = math.log(SPREAD_RANGE[0] * error[k]), math.log(SPREAD_RANGE[1] * size[k])
            for points in GRIDS:
                grid = np.linspace(low, high, points)
                best = grid[int(np.argmin([one(x) for x in grid]))]
                width = grid[1] - grid[0]
                low, high = best - width, best + width
            spread[k] = math.exp(best)
    return spread


def solved(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A^-1 b of a symmetric matrix of any scaling; NaN where it is not finite, a step that nobody takes."""
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        return np.full_like(b, np.nan)
    size = np.sqrt(np.maximum(A.diagonal(), 1e-300))
    scaled = A / np.outer(size, size)
    try:
        factor = linalg.cho_factor(scaled + 1e-13 * np.eye(len(A)), lower=True, check_finite=False)
        out: np.ndarray = linalg.cho_solve(factor, b / size, check_finite=False) / size
    except linalg.LinAlgError:
        out = np.linalg.lstsq(scaled, b / size, rcond=1e-12)[0] / size
    return out


def inverse(A: np.ndarray) -> np.ndarray:
    """Of a symmetric matrix of any scaling."""
    if not len(A):
        return A
    size = np.sqrt(np.maximum(A.diagonal(), 1e-300))
    out: np.ndarray = np.linalg.pinv(A / np.outer(size, size), rcond=1e-13, hermitian=True) / np.outer(size, size)
    return out
