"""PartNetwork: the edges of one part of a graph that several processes share, as the identification computes with it."""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse

from ..graph import Graph, PartGraph
from .model import Model
from .network import Network


class PartNetwork(Network):
    """A ``Network`` of own nodes and, after them, those of the halo, which act on own ones and have no edges themselves.

    ``rate`` and ``tangent`` take states of own nodes, exchange those of the halo, and return rates of own nodes: all processes call them together.
    Everything else computes on own nodes and halo, whose states are then given.

    Args:
        graph: one part.

    Attributes:
        own: how many nodes are own ones.
    """

    in_parts = True

    def __init__(self, graph: PartGraph) -> None:
        rows, self.own = graph.part.rows, graph.num_nodes
        size = rows.shape[1]
        indptr = np.concatenate([rows.indptr, np.full(size - self.own, rows.indptr[-1], dtype=rows.indptr.dtype)])
        closed = Graph(sparse.csr_array((rows.data, rows.indices, indptr), shape=(size, size)), directed=True)
        super().__init__(closed, graph.world)
        self.nodes = graph.num_nodes_total
        self._halo = graph.halo

    def extended(self, values: torch.Tensor) -> torch.Tensor:
        """Values of own nodes (..., own, d), and after them those of the halo."""
        return self._halo.extended(values)

    def rate(self, model: Model, x: torch.Tensor) -> torch.Tensor:
        """See ``Network.rate``."""
        whole = self.extended(x)
        kernel = model.kernel(self)
        rate = model.rate(whole, self) if kernel is None else torch.from_numpy(kernel.rate(whole.numpy()))
        return rate[:, : self.own]

    def tangent(self, model: Model, x: torch.Tensor, along: np.ndarray) -> tuple[torch.Tensor, np.ndarray]:
        """See ``Network.tangent``."""
        whole = self.extended(x)
        K, m, d = whole.shape
        kernel = model.kernel(self)
        if kernel is None:
            s = model.slopes(whole, self)
            rate, columns, jacobian = s.rate, s.columns, self.jacobian(s.own, s.edges)
        else:
            rate, own, entries, columns = map(torch.from_numpy, kernel.slopes(whole.numpy()))
            jacobian = self.weighted_jacobian(own, entries)
        P = along.shape[1]
        everywhere = self.extended(torch.from_numpy(along).reshape(K, self.own, d * P)).reshape(K * m * d, P)
        slope = torch.from_numpy(jacobian @ everywhere.numpy()).reshape(K, m, d, P) + columns
        return rate[:, : self.own], slope[:, : self.own].reshape(along.shape).numpy()
