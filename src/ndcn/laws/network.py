"""A graph as the identification computes with it: sums over neighbours, and Jacobians as sparse matrices."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from scipy import sparse

from .._support.world import World
from ..graph import Graph
from ..solve import GraphArrays, law_kernel_in_use

if TYPE_CHECKING:
    from .model import Model

AT_ONCE = 400_000  # nodes and edges whose derivatives are taken together: some tens of megabytes
STARS_KEPT = 6  # graphs of copies for as many batch sizes: shots come in groups of a few sizes
M = TypeVar("M", sparse.csr_array, sparse.csc_array)


class Network:
    """The edges of a graph, for batches of K states of shape (K, n, d).

    A field x -> f(x_i) + sum_j A_ij g(x_i, x_j) has the Jacobian J = own + edges: ``own`` (K, n, d, d) is what a node's
    rate owes to its own state, ``edges`` (K, E, d, d) what it owes to the state of the neighbour at each edge.

    Args:
        graph: whose edges they are.
        world: the processes over which sums over nodes reach; this one alone by default.

    Attributes:
        n: nodes here.
        nodes: nodes of the whole network, which several processes may share (``PartNetwork``).
    """

    in_parts = False

    def __init__(self, graph: Graph, world: World | None = None) -> None:
        self.graph = graph
        self.world = world or World(0, 1)
        self.n = self.nodes = graph.num_nodes
        matrix = graph.to_scipy()
        self.i = torch.from_numpy(np.repeat(np.arange(self.n), np.diff(matrix.indptr)))
        self.j = torch.from_numpy(matrix.indices.astype(np.int64))
        self.weights = torch.from_numpy(matrix.data)
        self.degrees = torch.from_numpy(np.asarray(matrix.sum(1)).ravel())
        edges = len(self.i)
        self._adjacency = matrix
        self._sums = sparse.csr_array((matrix.data, np.arange(edges), matrix.indptr), shape=(self.n, edges))
        self._patterns: dict[tuple[int, int], tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        self._stars: dict[int, tuple[Graph, torch.Tensor]] = {}

    @functools.cached_property
    def arrays(self) -> GraphArrays | None:
        """For the compiled kernel; None where there is none."""
        return graph_arrays(self.graph)

    def __getstate__(self) -> dict[str, Any]:
        """All but what holds addresses, for copies and other processes."""
        return {name: value for name, value in vars(self).items() if name != "arrays"}

    def together(self, width: int = 1) -> int:
        """How many states, with so many numbers for each node and edge, are differentiated at once."""
        return max(1, AT_ONCE // (width * (self.n + len(self.i))))

    def rate(self, model: Model, x: torch.Tensor) -> torch.Tensor:
        """A model's dx/dt at states (K, n, d)."""
        return model.rate(x, self)

    def tangent(self, model: Model, x: torch.Tensor, along: np.ndarray) -> tuple[torch.Tensor, np.ndarray]:
        """A model's dx/dt, and its derivatives by parameters if those of the states are ``along`` (K n d, P)."""
        s = model.slopes(x, self)
        return s.rate, self.jacobian(s.own, s.edges) @ along + s.columns.reshape(along.shape).numpy()

    def neighbours(self, values: torch.Tensor) -> torch.Tensor:
        """sum_j A_ij v_j for values of shape (K, n, ...)."""
        return self._multiply(self._adjacency, values)

    def gathered(self, messages: torch.Tensor) -> torch.Tensor:
        """sum_j A_ij m_ij for messages of shape (K, E, ...)."""
        return self._multiply(self._sums, messages)

    def summed(self, values: np.ndarray) -> np.ndarray:
        """Sums of values (K, E, ...) over the edges of each node, without their weights, (K, n, ...)."""
        nothing = np.zeros((len(values), 1, *values.shape[2:]), dtype=values.dtype)
        total = np.concatenate([nothing, np.cumsum(values, axis=1)], axis=1)
        return total[:, self._adjacency.indptr[1:]] - total[:, self._adjacency.indptr[:-1]]

    @staticmethod
    def _multiply(matrix: sparse.csr_array, values: torch.Tensor) -> torch.Tensor:
        width = values.shape[0] * int(np.prod(values.shape[2:]))
        columns = values.detach().movedim(1, 0).reshape(values.shape[1], width)
        product = torch.from_numpy(matrix @ np.ascontiguousarray(columns.numpy()))
        return product.reshape(matrix.shape[0], values.shape[0], *values.shape[2:]).movedim(0, 1)

    def jacobian(self, own: torch.Tensor, edges: torch.Tensor) -> sparse.csr_array:
        """J of all K states as one block-diagonal matrix, shape (K n d, K n d)."""
        return self.weighted_jacobian(own, edges * self.weights[:, None, None])

    def weighted_jacobian(self, own: torch.Tensor, entries: torch.Tensor) -> sparse.csr_array:
        """The same from ``edges`` that were multiplied by A_ij."""
        K, _, d, _ = own.shape
        indptr, indices, order = self._pattern(K, d)
        return _compressed(sparse.csr_array, _entries(own, entries, order).ravel(), indices, indptr)

    def jacobians(self, own: torch.Tensor, edges: torch.Tensor) -> list[tuple[sparse.csr_array, sparse.csc_array]]:
        """J of each of K states, shape (n d, n d), and its transpose."""
        indptr, indices, order = self._pattern(1, own.shape[-1])
        return [
            (_compressed(sparse.csr_array, data, indices, indptr), _compressed(sparse.csc_array, data, indices, indptr))
            for data in _entries(own, edges * self.weights[:, None, None], order)
        ]

    def star(self, K: int) -> tuple[Graph, torch.Tensor]:
        """K times the graph, in which each edge comes from a copy of its own of the acting node, and which node each is.

        The first K n nodes are those acted on; the copies, in the order of edges, follow.
        """
        if K not in self._stars:
            edges = len(self.i)
            first = torch.arange(K)[:, None] * self.n
            copies = torch.cat([torch.arange(K * self.n), (first + self.j).reshape(-1)])
            counts = np.bincount(self.i.numpy(), minlength=self.n)
            indptr = np.concatenate([[0], np.cumsum(np.tile(counts, K)), np.full(K * edges, K * edges)])
            weights = np.tile(self.weights.numpy(), K)
            entries = (weights, K * self.n + np.arange(K * edges), indptr)
            graph = Graph(sparse.csr_array(entries, shape=(len(copies), len(copies))), directed=True)
            while len(self._stars) >= STARS_KEPT:
                del self._stars[next(iter(self._stars))]
            self._stars[K] = graph, copies
        return self._stars[K]

    def _pattern(self, K: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if (K, d) not in self._patterns:
            a, b = np.meshgrid(np.arange(d), np.arange(d), indexing="ij")
            own = np.arange(self.n)
            rows = np.concatenate([(np.asarray(r)[:, None, None] * d + a).ravel() for r in (self.i, own)])
            cols = np.concatenate([(np.asarray(c)[:, None, None] * d + b).ravel() for c in (self.j, own)])
            order = np.argsort(rows, kind="stable")
            counts = np.bincount(rows, minlength=self.n * d)
            total = len(rows)
            size = self.n * d
            kind = np.int32 if K * max(total, size) < 2**31 else np.int64
            indptr = np.concatenate([[0], np.cumsum(np.tile(counts, K))]).astype(kind)
            indices = (np.arange(K)[:, None] * size + cols[order]).ravel().astype(kind)
            self._patterns = {(K, d): (indptr, indices, order), **dict(list(self._patterns.items())[:3])}
        return self._patterns[K, d]


def _entries(own: torch.Tensor, entries: torch.Tensor, order: np.ndarray) -> np.ndarray:
    return torch.cat([entries.flatten(1), own.flatten(1)], dim=1).numpy()[:, order]


def graph_arrays(graph: Graph) -> GraphArrays | None:
    """A graph for the compiled kernel, kept with it; None where there is no such kernel."""
    if law_kernel_in_use() == "torch" or graph.in_parts:
        return None
    return graph.cached("law arrays", lambda: GraphArrays.of(graph.to_scipy()))


def _compressed(kind: type[M], data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> M:
    """A square matrix whose parts need no checks."""
    matrix = kind((len(indptr) - 1, len(indptr) - 1))
    matrix.data = data
    matrix.indices = indices
    matrix.indptr = indptr
    return matrix
