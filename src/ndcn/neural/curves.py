"""Curves through the observations of each node: no training, no graph. What any learned model has to beat."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import torch
from scipy.interpolate import CubicSpline

from ..data import Trajectory
from ..graph import Graph
from .continuation import Continuation


class Curve(Continuation):
    """x_i(t) = curve through the observations of node i; each node and feature for itself.

    Before its first observation an entry has the value of that.
    """

    @abstractmethod
    def through(self, t: np.ndarray, x: np.ndarray, at: np.ndarray) -> np.ndarray:
        """The curve through x (T, m) at the times t (T,), evaluated at times ``at`` (K,) >= t[0]; shape (K, m)."""

    def forward(self, x0: torch.Tensor, times: torch.Tensor, graph: Graph, t0: float = 0.0) -> torch.Tensor:
        """Always refused: a curve goes through what was observed and starts nowhere else."""
        raise ValueError(self.stays)

    @property
    def stays(self) -> str:
        """Why it cannot start elsewhere, for messages."""
        return (
            f"{type(self).__name__.lower()} continues the data it was fitted to and cannot start from another state or "
            "run on another graph: drop x0 and graph, or fit it to data from there"
        )

    def go_on(self, seen: Trajectory, times: torch.Tensor) -> torch.Tensor:
        """The curves at ``times``, shape (K, n, d), in float64."""
        _, n, d = seen.states.shape
        t, at = seen.times.numpy(), torch.as_tensor(times, dtype=torch.float64).cpu().numpy()
        x = seen.states.detach().cpu().double().flatten(1).numpy()
        if seen.mask is None:
            patterns, which = np.ones((len(t), 1), dtype=bool), np.zeros(n * d, dtype=int)
        else:  # entries that were observed at the same times share one call
            patterns, which = np.unique(seen.mask.cpu().flatten(1).numpy(), axis=1, return_inverse=True)
        out = np.empty((len(at), n * d))
        for k, observed in enumerate(patterns.T):
            columns, when = np.flatnonzero(which.reshape(-1) == k), t[observed]
            out[:, columns] = self.through(when, x[np.ix_(observed, columns)], np.maximum(at, when[0]))
        return torch.from_numpy(out).reshape(-1, n, d)


class Persistence(Curve):
    """x_i(t) = x_i(t_k), t_k the last observation at or before t.

    Example:
        >>> import ndcn
        >>> data = ndcn.Trajectory(times=[0, 1, 2], states=[[0.0], [1.0], [4.0]], graph=ndcn.networks.grid(1))
        >>> ndcn.DynamicsRegressor("persistence").fit(data).predict([1.5, 3.0]).states.flatten()
        tensor([1., 4.])
    """

    def through(self, t: np.ndarray, x: np.ndarray, at: np.ndarray) -> np.ndarray:
        """The last value."""
        return x[np.searchsorted(t, at, side="right") - 1]


class Linear(Curve):
    """x_i(t) = x_i(t_k) + (t - t_k) (x_i(t_k+1) - x_i(t_k)) / (t_k+1 - t_k); the last slope goes on.

    Example:
        >>> import ndcn
        >>> data = ndcn.Trajectory(times=[0, 1, 2], states=[[0.0], [1.0], [4.0]], graph=ndcn.networks.grid(1))
        >>> ndcn.DynamicsRegressor("linear").fit(data).predict([1.5, 3.0]).states.flatten()
        tensor([2.5000, 7.0000])
    """

    def through(self, t: np.ndarray, x: np.ndarray, at: np.ndarray) -> np.ndarray:
        """The polygon."""
        if len(t) == 1:
            return x[np.zeros(len(at), dtype=int)]
        k = np.clip(np.searchsorted(t, at, side="right") - 1, 0, len(t) - 2)
        share = ((at - t[k]) / (t[k + 1] - t[k]))[:, None]
        return (1 - share) * x[k] + share * x[k + 1]


class Spline(Curve):
    """x_i(t) = cubic spline through the observations (not-a-knot), with its last slope afterwards.

    Example:
        >>> import ndcn
        >>> data = ndcn.Trajectory(times=[0, 1, 2, 3], states=[[0.0], [1.0], [8.0], [27.0]], graph=ndcn.networks.grid(1))
        >>> ndcn.DynamicsRegressor("spline").fit(data).predict([0.5, 4.0]).states.flatten()
        tensor([ 0.1250, 54.0000])
    """

    def through(self, t: np.ndarray, x: np.ndarray, at: np.ndarray) -> np.ndarray:
        """The spline."""
        if len(t) == 1:
            return x[np.zeros(len(at), dtype=int)]
        spline, last = CubicSpline(t, x), t[-1]
        after = np.maximum(at - last, 0.0)[:, None]
        inside: np.ndarray = spline(np.minimum(at, last))
        return inside + after * spline(last, 1)
