"""Smooth paths through noisy or incomplete observations, and how noisy these are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.interpolate import BSpline
from scipy.optimize import nnls

# Penalties that cross-validation compares: from interpolation to straight lines.
LAMBDAS = 10.0 ** np.arange(-5, 4.1, 0.75)
# For each snapshot, at least, and at most: penalties decide how smooth a path is, fewer knots only save time.
KNOTS = (0.6, 4, 40)
# Degrees of freedom count for so much more in cross-validation, against too rough paths. Kim and Gu (J. R. Stat. Soc. B 66, 2004) take
# 1.4; less leaves more of fast transients.
GCV_FACTOR = 1.2
LEAST_LEFT = 0.1  # share of the observations that a path must not use up
MEDIAN_TO_SIGMA = 0.6745  # the median |z| of a normal distribution
NOISE_BINS = 12  # of states by size, in each of which noise is measured by a median: two numbers are fitted to them
SMALL_STATE = 1e-3  # of the largest: states below it do not tell a share


@dataclass(frozen=True)
class Noise:
    """Standard deviation of an observation of x: sqrt(additive^2 + (share x)^2), for each feature."""

    additive: torch.Tensor
    share: torch.Tensor

    def at(self, x: torch.Tensor) -> torch.Tensor:
        """Its size for states (..., d)."""
        return (self.additive.square() + (self.share * x).square()).sqrt()

    def at_least(self, additive: torch.Tensor) -> Noise:
        """With no less additive noise than this, (d,)."""
        return Noise(torch.maximum(self.additive, additive), self.share)


def roughness(times: torch.Tensor, states: torch.Tensor, seen: torch.Tensor) -> float:
    """The typical share by which observations miss a cubic through their neighbours in time: an upper bound on noise."""
    t = times.numpy()
    values = states.numpy()
    found = []
    for k in range(2, len(t) - 2):
        others = [k - 2, k - 1, k + 1, k + 2]
        w = np.array([np.prod([(t[k] - t[m]) / (t[o] - t[m]) for m in others if m != o]) for o in others])
        size = np.sqrt(1 + (w**2).sum())
        miss = np.abs(values[k] - np.tensordot(w, values[others], 1)) / size
        level = np.abs(values[others]).mean(0)
        good = seen[[*others, k]].numpy().all(0) & (level > SMALL_STATE * np.nanmax(np.abs(values), axis=(0, 1)))
        found.append((miss[good] / level[good]).ravel())
    every = np.concatenate(found) if found else np.zeros(0)
    return float(np.median(every)) / MEDIAN_TO_SIGMA if len(every) else 0.0


class Smoother:
    """Penalised splines through each node's observations, as smooth as generalised cross-validation wants them.

    Time is warped so that the splines are finer at the start, where most trajectories are fastest.
    """

    def __init__(self, times: np.ndarray) -> None:
        gaps = np.diff(times)
        self.origin = times[0]
        self.unit = float(np.median(gaps[: max(3, len(gaps) // 20)]))
        warped = self._warp(times)
        count = int(np.clip(round(KNOTS[0] * len(times)), *KNOTS[1:]))
        knots = np.quantile(warped, np.linspace(0, 1, count))
        self._knots = np.concatenate([[knots[0]] * 3, knots, [knots[-1]] * 3])
        self.size = count + 2
        self.matrix = self._basis(times)
        D = np.diff(np.eye(self.size), 2, axis=0)
        self.penalty = D.T @ D

    def _warp(self, t: np.ndarray) -> np.ndarray:
        return np.log1p(np.maximum(t - self.origin, 0) / (5 * self.unit))

    def _basis(self, t: np.ndarray) -> np.ndarray:
        warped = np.clip(self._warp(t), self._knots[0], self._knots[-1])
        return BSpline.design_matrix(warped, self._knots, 3).toarray()

    def fit(self, values: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (m, N) for series (T, N), and how many degrees of freedom each uses, (N,)."""
        N = values.shape[1]
        B = self.matrix
        filled = np.where(seen, values, 0.0)
        coefficients = np.zeros((self.size, N))
        freedom = np.zeros(N)
        best = np.full(N, np.inf)
        whole = seen.all()
        count = seen.sum(0)
        right = (B.T @ filled).T
        for penalty in LAMBDAS:
            if whole:
                A = (B.T @ B + penalty * self.penalty)[None]
            else:
                A = np.einsum("tk,tn,tl->nkl", B, seen.astype(float), B, optimize=True) + penalty * self.penalty
            A = A + 1e-9 * np.eye(self.size)
            c = np.linalg.solve(A[0], right.T).T if whole else np.linalg.solve(A, right[..., None])[..., 0]
            hat = np.einsum("tk,nkl,tl->nt", B, np.linalg.inv(A), B, optimize=True)
            used = np.full(N, hat.sum()) if whole else (hat * seen.T).sum(1)
            rest = (np.where(seen, values - B @ c.T, 0.0) ** 2).sum(0)
            free = count - GCV_FACTOR * used
            score = np.where(free > LEAST_LEFT * count, rest * count / np.maximum(free, 1e-9) ** 2, 1e300)
            better = score < best
            best[better] = score[better]
            freedom[better] = used[better]
            coefficients[:, better] = c.T[:, better]
        return coefficients, freedom

    def path(self, coefficients: np.ndarray, t: np.ndarray) -> np.ndarray:
        """The splines at times t, (len(t), N)."""
        return self._basis(t) @ coefficients


def estimated_noise(level: torch.Tensor, states: torch.Tensor, seen: torch.Tensor, inflation: torch.Tensor) -> Noise:
    """Additive and proportional noise that explain the residuals of a smooth path ``level`` (T, n, d), robustly.

    ``inflation`` (n, d) is by how much residuals are too small because the path followed them.
    """
    found = []
    for a in range(states.shape[2]):
        good = seen[..., a]
        x = level[..., a][good].abs().numpy()
        rest = ((states[..., a] - level[..., a]).abs() * inflation[:, a])[good].numpy()
        bins = [b for b in np.array_split(np.argsort(x), NOISE_BINS) if len(b)]
        size = np.array([np.median(x[b]) for b in bins])
        spread = np.array([np.median(rest[b]) / MEDIAN_TO_SIGMA for b in bins])
        weight = 1 / (spread**2 + 1e-4 * spread.max() ** 2 + 1e-300)
        solution, _ = nnls(np.stack([np.ones_like(size), size**2], 1) * weight[:, None], spread**2 * weight)
        found.append(np.sqrt(solution))
    additive, share = torch.tensor(np.array(found)).T.contiguous()
    return Noise(additive, share)
