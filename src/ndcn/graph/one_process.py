"""What a graph does for those who compute with it, where one process holds all of it; parts of a graph do it together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy import sparse
from torch import nn

from .._support.world import World
from .adjacency_checks import is_symmetric
from .sparse import SparseMatrix

if TYPE_CHECKING:
    from .partition.partition import Partition


class OneProcess:
    """The base of ``Graph``: sums over nodes are what they are; ``PartGraph`` sums over processes as well.

    Example:
        >>> import ndcn
        >>> ndcn.networks.grid(4).in_parts
        False
    """

    in_parts = False
    """Whether this process holds only some of the nodes."""
    world = World(0, 1)
    """The processes that share the graph."""

    if TYPE_CHECKING:
        _adjacency: Any

        def edge_index(self, device: torch.device | str = "cpu") -> tuple[torch.Tensor, torch.Tensor]:
            """See ``Graph``."""

    def partition(self, parts: int, *, method: str = "auto") -> Partition:
        """The nodes cut into ``parts`` of alike work with few edges between them: for a network that several processes share.

        Args:
            parts: how many, one for each process.
            method: "metis" (needs ``pip install 'ndcn[metis]'``), "streaming" (our own: a few seconds for a million nodes), "blocks"
                of consecutive nodes, or "auto": METIS where it is installed, else streaming.

        Example:
            >>> import ndcn
            >>> ndcn.networks.grid(16).partition(2, method="blocks")
            Partition(2 parts of Graph(16 nodes, 42 edges, undirected) by blocks, 23.8 % of the edges cut, imbalance 1.000)
        """
        from .partition.partition import Partition  # noqa: PLC0415  # it is made of graphs

        return Partition.of(self, parts, method)  # type: ignore[arg-type]  # Graph is the only class made from this one

    @property
    def has_negative_weights(self) -> bool:
        """Whether any weight is below 0."""
        return bool((self._adjacency.csr.data < 0).any())

    def operator_of(
        self, build: Callable[[sparse.csr_array], sparse.sparray], *, symmetric: bool | None = None
    ) -> SparseMatrix:
        """The operator ``build(A)`` of this graph, where ``build`` maps a scipy matrix to another, in one process or in parts.

        In parts it works for operators whose entries [i, j] depend on A_ij, A_ji and on sums of rows and columns. Keep it with
        ``graph.cached``. ``symmetric=True`` says that it is symmetric where A is, which is found out by default.

        Example:
            >>> import ndcn
            >>> ndcn.networks.grid(4).operator_of(lambda a: 2 * a).nnz
            12
        """
        built = build(self._adjacency.csr)
        known = self._adjacency.symmetric and (symmetric or is_symmetric(sparse.csr_array(built)))
        return SparseMatrix(built, symmetric=known)

    def ends(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """x_i and x_j of every stored A[i, j], row by row: (..., n, d) to (..., nnz, d) each.

        Example:
            >>> import ndcn, torch
            >>> x_i, x_j = ndcn.Graph.from_edges([(0, 1)]).ends(torch.tensor([[1.0], [5.0]]))
            >>> (x_j - x_i).flatten()
            tensor([ 4., -4.])
        """
        i, j = self.edge_index(x.device)
        return x.index_select(-2, i), x.index_select(-2, j)

    def evaluate(self, field: nn.Module, t: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """field(t, x, graph)."""
        out: torch.Tensor = field(t, x, self)
        return out

    def total(self, values: torch.Tensor) -> torch.Tensor:
        """Sums over nodes, of all processes that share the graph."""
        return values

    def highest(self, values: torch.Tensor) -> torch.Tensor:
        """Largest values over nodes, of all processes that share the graph."""
        return values

    def everywhere(self, flag: bool) -> bool:
        """Whether it holds in all processes that share the graph."""
        return flag

    def joined(self, text: str) -> str:
        """One text for all processes that share the graph."""
        return text

    def mean_square_root(self, values: torch.Tensor) -> float:
        """sqrt(mean v^2) over all entries, of all processes that share the graph."""
        if not self.in_parts:
            return values.square().mean().sqrt().item()
        both = torch.stack([values.square().sum(dtype=torch.float64), values.new_tensor(values.numel()).double()])
        square, count = self.total(both).tolist()
        return float(np.sqrt(square / count))

    @staticmethod
    def _incidence(m: sparse.csr_array) -> SparseMatrix:
        columns = np.arange(m.nnz, dtype=m.indices.dtype)
        return SparseMatrix(sparse.csr_array((m.data, columns, m.indptr), shape=(m.shape[0], m.nnz)))
