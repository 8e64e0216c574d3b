"""Paths through observations: integrated Wiener processes whose smoothness and noise are those of each node."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..data import Inputs, Trajectory

# Ratios of the process to the noise that are compared, times the cube of the run's length: from a parabola to interpolation. Neighbours
# differ by a factor of 5.6, within which the path hardly changes.
RATIOS = 10.0 ** np.arange(-2.0, 15.1, 0.75)
# Clocks on which paths are smooth, log(1 + k u) of the share u of the run that has passed: 0 is time itself, larger k are for runs that relax, fast at
# first. Errors of the path in units of the noise at k = 0, 1, 3, 8, 20 (Lotka-Volterra, 10 runs, 5 % noise, seed 20): .59, .54, .49, .42, .43; the
# likelihood was largest at the best or its neighbour in all of nine systems.
CLOCKS = (0.0, 1.0, 3.0, 8.0, 20.0)
LONGEST = 400  # snapshots of a piece: a path costs the cube of it
GAUSS = 4  # points in each interval: exact for polynomials of degree 7
DRIFT = 3  # a path is a parabola and an integral of white noise, three times


@dataclass(frozen=True)
class Piece:
    """A run, or a part of a long one: what was observed, the smooth path, and the path between snapshots.

    Attributes:
        times: (T,).
        observed: (T, n, d), with the path where nothing was observed.
        path: (T, n, d).
        inner: the path at the Gauss points of all intervals, (4 (T - 1), n, d).
        weights: of the Gauss points, (4 (T - 1),).
        run: which run it is of.
        inputs: what acted on that run from outside, or None.
    """

    times: np.ndarray
    observed: np.ndarray
    path: np.ndarray
    inner: np.ndarray
    weights: np.ndarray
    run: int
    inputs: Inputs | None = None


@dataclass(frozen=True)
class Paths:
    """All pieces, and the standard deviation of the noise of each node and feature, (n, d)."""

    pieces: tuple[Piece, ...]
    noise: np.ndarray

    @property
    def nodes(self) -> int:
        """n."""
        return self.noise.shape[0]

    @property
    def features(self) -> int:
        """d."""
        return self.noise.shape[1]

    def inner(self) -> np.ndarray:
        """States at the Gauss points of all pieces, (Q, n, d)."""
        return np.concatenate([piece.inner for piece in self.pieces])


class _Grid:
    """What depends on the times of observation alone: contrasts free of parabolas, and their eigenvectors."""

    def __init__(self, times: np.ndarray, clock: float = 0.0) -> None:
        self.length = float(times[-1] - times[0]) or 1.0
        self.origin, self.clock = float(times[0]), clock
        self.u = self._read(times)
        self.drift = min(DRIFT, len(times) - 1)
        self.parabola = np.vander(self.u, self.drift, increasing=True)
        q, _ = np.linalg.qr(self.parabola, mode="complete")
        self.free = q[:, self.drift :]
        kernel = _kernel(self.u, self.u)
        self.values, turned = np.linalg.eigh(self.free.T @ kernel @ self.free)
        self.values = np.maximum(self.values, 0.0)
        self.turned = self.free @ turned  # contrasts whose variances are values * ratio + 1

    def _read(self, times: np.ndarray) -> np.ndarray:
        """The clock at these times, 0 to 1."""
        u = (times - self.origin) / self.length
        return u if self.clock == 0 else np.log1p(self.clock * u) / np.log1p(self.clock)

    def smoother(self, ratio: float, at: np.ndarray) -> np.ndarray:
        """The matrix (len(at), T) that takes observations to the path at these times."""
        u = self._read(at)
        inner = self.turned @ np.diag(ratio / (1 + ratio * self.values)) @ self.turned.T
        kernel = _kernel(u, self.u) @ inner
        parabola = np.vander(u, self.drift, increasing=True)
        rest = np.eye(len(self.u)) - _kernel(self.u, self.u) @ inner
        return kernel + parabola @ np.linalg.lstsq(self.parabola, rest, rcond=None)[0]


def _kernel(s: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Covariance of white noise that is integrated three times: int_0^min (s - u)^2 (t - u)^2 / 4 du."""
    a = np.minimum(s[:, None], t[None, :])
    b = np.abs(s[:, None] - t[None, :])
    return (a**5 / 5 + a**4 * b / 2 + a**3 * b**2 / 3) / 4


def paths_of(runs: Sequence[Trajectory]) -> Paths:
    """Smooth paths through all runs.

    The smoothness of each node and feature is that of the largest restricted likelihood over all runs together, its noise
    the one that belongs to it; the clock is that of the largest likelihood over all nodes.
    """
    cut = [part for k, run in enumerate(runs) for part in _pieces(run, k)]
    _, grids, best, noise = min((_fitted(cut, clock) for clock in CLOCKS), key=lambda one: one[0])
    pieces = (_followed(part, grids, best) for part in cut)
    return Paths(tuple(replace(piece, inputs=runs[piece.run].inputs) for piece in pieces), noise)


class _Grids(dict[bytes, _Grid]):
    """Those of all times of observation, on one clock."""

    def __init__(self, clock: float) -> None:
        super().__init__()
        self.clock = clock

    def of(self, times: np.ndarray) -> _Grid:
        """That of some times."""
        key = times.tobytes()
        if key not in self:
            self[key] = _Grid(times, self.clock)
        return self[key]


_Part = tuple[np.ndarray, np.ndarray, np.ndarray, int]


def _fitted(cut: Sequence[_Part], clock: float) -> tuple[float, _Grids, np.ndarray, np.ndarray]:
    """On a clock, minus twice the log restricted likelihood of all nodes, up to a constant; grids; which ratio, and what noise, each node and feature has."""
    n, d = cut[0][1].shape[1:]
    grids = _Grids(clock)
    likelihood = np.zeros((len(RATIOS), n, d, 2))  # sum of log variances, and count
    squares = np.zeros((len(RATIOS), n, d))
    for times, states, seen, _ in cut:
        for (i, a), mask in _alike(seen):
            if mask.sum() <= DRIFT:
                continue
            grid = grids.of(times[mask])
            z = np.tensordot(grid.turned, states[mask][:, i, a], axes=(0, 0))
            variances = 1 + RATIOS[:, None] * grid.values
            squares[:, i, a] += (1 / variances) @ (z**2)
            likelihood[:, i, a] += np.stack([np.log(variances).sum(1), np.full(len(RATIOS), len(grid.values))], 1)[
                :, None
            ]
    count = np.maximum(likelihood[..., 1], 1.0)
    floor = 1e-24 * np.maximum(squares.max(0), 1e-300)
    variance = np.maximum(squares, floor) / count
    with np.errstate(divide="ignore"):
        score = likelihood[..., 0] + count * np.log(variance)
    best = score.argmin(0)
    least = score.min(0)  # -inf of nodes that never move
    return float(least[np.isfinite(least)].sum()), grids, best, np.sqrt(np.take_along_axis(variance, best[None], 0)[0])


def _pieces(run: Trajectory, number: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, int]]:
    """Times, states, what was observed, number of the run; long runs are cut, neighbouring pieces share a snapshot."""
    times, states = run.times.double().numpy(), run.states.double().numpy()
    seen = np.isfinite(states)
    count = max(1, -(-(len(times) - 1) // LONGEST))
    bounds = np.linspace(0, len(times) - 1, count + 1).round().astype(int)
    return [
        (times[a : b + 1], states[a : b + 1], seen[a : b + 1], number)
        for a, b in itertools.pairwise(bounds.tolist())
        if b > a
    ]


def _alike(seen: np.ndarray) -> list[tuple[tuple[np.ndarray, np.ndarray], np.ndarray]]:
    """Groups of series (node, feature) that were observed at the same times, and at which."""
    T, n, d = seen.shape
    patterns, group = np.unique(seen.reshape(T, n * d), axis=1, return_inverse=True)
    out = []
    for k in range(patterns.shape[1]):
        members = np.flatnonzero(group.ravel() == k)
        out.append(((members // d, members % d), patterns[:, k]))
    return out


def _followed(part: _Part, grids: _Grids, best: np.ndarray) -> Piece:
    times, states, seen, run = part
    nodes, weights = np.polynomial.legendre.leggauss(GAUSS)
    gaps = np.diff(times)
    at = (times[:-1, None] + gaps[:, None] * (nodes + 1) / 2).ravel()
    both = np.concatenate([times, at])
    out = np.zeros((len(both), *states.shape[1:]))
    for (i, a), mask in _alike(seen):
        if mask.sum() <= DRIFT:  # too little for a path: the mean of what there is
            some = np.where(mask[:, None], states[:, i, a], np.nan)
            out[:, i, a] = np.nan_to_num(np.nanmean(some, axis=0)) if mask.any() else 0.0
            continue
        grid = grids.of(times[mask])
        for k in np.unique(best[i, a]):
            mine = best[i, a] == k
            out[:, i[mine], a[mine]] = grid.smoother(RATIOS[k], both) @ states[mask][:, i[mine], a[mine]]
    path = out[: len(times)]
    return Piece(
        times, np.where(seen, states, path), path, out[len(times) :], (gaps[:, None] * weights / 2).ravel(), run
    )
