"""Large networks: a path that is computed where it is asked for, and some nodes with their neighbours in place of all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy import sparse
from scipy.interpolate import PchipInterpolator

from ..graph import Graph
from ..laws import Network

if TYPE_CHECKING:
    from .observations import Observations

# Nodes whose increments the weak form explains; as many as ``LARGE`` of search.py, up to which it takes all. With 4000 nodes and 10
# intervals the shares that terms leave open have a standard error below 1 %.
SAMPLED = 4000
SAMPLED_ABOVE = 50_000  # nodes; of fewer, all are taken, which takes seconds
AT_ONCE = 2_000_000  # numbers of the path that are computed together


class LaterPath:
    """A monotone cubic path through snapshots at Gauss points inside each interval, (T - 1, 4, n, d), computed when it is indexed.

    For a million nodes and 40 snapshots it would take 1.2 GiB, and the interpolation of all nodes at once five times that.

    Args:
        times: (T,).
        states: (T, n, d), complete.
        unit: the path is a cubic in asinh(x / unit), (d,).
        nodes: Gauss points on [-1, 1].
        floor: least values, (d,).
    """

    def __init__(
        self,
        times: torch.Tensor,
        states: torch.Tensor,
        unit: torch.Tensor,
        nodes: np.ndarray,
        floor: torch.Tensor | None = None,
    ) -> None:
        self.times, self.states, self.unit, self.nodes, self.floor = times, states, unit, nodes, floor

    def __len__(self) -> int:
        return len(self.times) - 1

    def __getitem__(self, which: Any) -> torch.Tensor:
        """The path in some intervals, by index tensor or slice."""
        chosen = np.arange(len(self))[which.numpy() if isinstance(which, torch.Tensor) else which]
        t = self.times.numpy()
        points = (t[chosen, None] + np.diff(t)[chosen, None] * (1 + self.nodes) / 2).ravel()
        _, n, d = self.states.shape
        out = torch.empty(len(chosen), len(self.nodes), n, d, dtype=torch.float64)
        each = max(1, AT_ONCE // (len(t) * d))
        for first in range(0, n, each):
            here = slice(first, min(first + each, n))
            z = torch.asinh(self.states[:, here] / self.unit).flatten(1).numpy()
            path = np.sinh(PchipInterpolator(t, z, axis=0)(points).reshape(len(points), -1, d)) * self.unit.numpy()
            out[:, :, here] = torch.from_numpy(path).reshape(len(chosen), len(self.nodes), -1, d)
        return out if self.floor is None else torch.maximum(out, self.floor)

    @property
    def shape(self) -> tuple[int, ...]:
        """(T - 1, Gauss points, n, d)."""
        return (len(self), len(self.nodes), *self.states.shape[1:])

    def of_nodes(self, nodes: torch.Tensor) -> torch.Tensor:
        """The path of some nodes."""
        return LaterPath(self.times, self.states[:, nodes], self.unit, self.nodes, self.floor)[:]

    def split(self, each: int) -> Iterator[torch.Tensor]:
        """The path, so many intervals at a time."""
        return (self[first : first + each] for first in range(0, len(self), each))

    def flatten(self, first: int, last: int) -> torch.Tensor:
        """All of it, as a tensor is flattened."""
        return self[:].flatten(first, last)

    def above(self, floor: torch.Tensor) -> LaterPath:
        """The same, nowhere below ``floor``."""
        return LaterPath(self.times, self.states, self.unit, self.nodes, floor)


def some_nodes(one: Observations, count: int = SAMPLED) -> Observations:
    """``count`` nodes drawn evenly, and their neighbours' paths, which their rates need: only the first ``counted`` are explained.

    Of several processes that share the network each draws a share of them among its own.
    """
    a = one.network.graph.adjacency.csr
    n = a.shape[0]
    count = min(-(-count // one.network.world.size), one.counted or n)
    drawn = np.sort(np.random.default_rng(0).choice(one.counted or n, size=count, replace=False))
    rows = a[drawn]
    around = np.setdiff1d(np.unique(rows.indices), drawn)
    nodes = np.concatenate([drawn, around])
    place = np.zeros(n, dtype=np.int64)
    place[nodes] = np.arange(len(nodes))
    indptr = np.concatenate([rows.indptr, np.full(len(around), rows.indptr[-1])])
    graph = Graph(
        sparse.csr_array((rows.data, place[rows.indices], indptr), shape=(len(nodes), len(nodes))), directed=True
    )
    here = torch.from_numpy(nodes)
    parts = {name: getattr(one, name)[:, here] for name in ("states", "seen", "level", "noise")}
    inner = one.inner.of_nodes(here) if isinstance(one.inner, LaterPath) else one.inner[:, :, here]
    return replace(one, network=Network(graph, one.network.world), inner=inner, counted=count, sampled=True, **parts)
