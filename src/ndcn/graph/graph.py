"""Graph: who acts on whom, and how strongly."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
import torch
from scipy import sparse

from .._support.html import card, first_names
from .._support.lazy import networkx as nx
from .._support.wording import counted
from .adjacency_checks import check_real, is_networkx, is_symmetric
from .attributes import Described, checked_attributes
from .edge_table import edge_table_to_adjacency
from .labels import checked_labels, label_index
from .one_process import OneProcess
from .positions import checked_positions
from .sparse import SparseMatrix
from .sparse_parts import check_sparse

_T = TypeVar("_T")


class Graph(Described, OneProcess):
    """A network of n nodes, frozen: A[i, j] is the weight of node j acting on node i.

    Weighted or not, directed or not; isolated nodes, self-loops and negative weights are allowed. Use the ``from_*``
    constructors; every other library's convention is translated there and nowhere else.

    Args:
        adjacency: scipy.sparse matrix A, shape (n, n). Stored zeros are dropped.
        nodes: n distinct labels, by which tables name the nodes; 0..n-1 by default.
        directed: whether A may be unsymmetric; found out from A by default.
        positions: where pictures draw the nodes, shape (n, 2), y upwards, NaN where unknown; no part of what graphs are compared by.
        attributes: numbers of nodes by name, as {"population": [...]}, NaN where unknown; see ``with_attributes``. No part of that either.

    Guarantees: n >= 1; weights are finite; an undirected graph has A = A^T exactly; indices are sorted in each row.

    Raises:
        ValueError: A is not square, is empty, has NaN, infinite or complex weights, or is unsymmetric with
            ``directed=False``.

    Example:
        >>> import ndcn
        >>> ndcn.Graph.from_edges([("a", "b"), ("b", "c", 2.0)])
        Graph(3 nodes, 2 edges, undirected, weighted)
    """

    def __init__(
        self,
        adjacency: sparse.sparray,
        *,
        nodes: Sequence[Hashable] | None = None,
        directed: bool | None = None,
        positions: Any = None,
        attributes: Any = None,
    ) -> None:
        if not sparse.issparse(adjacency):
            raise _other_kind("adjacency must be a scipy.sparse matrix", adjacency)
        check_real(adjacency.dtype)
        check_sparse(adjacency)
        csr = sparse.csr_array(adjacency, dtype=np.float64, copy=True)
        if csr.ndim != 2 or csr.shape[0] != csr.shape[1]:
            raise ValueError(f"the adjacency matrix must be square, got {' x '.join(map(str, csr.shape))}")
        if csr.shape[0] == 0:
            raise ValueError("the graph is empty: a graph needs at least one node")
        csr.sum_duplicates()
        csr.eliminate_zeros()
        bad = np.flatnonzero(~np.isfinite(csr.data))
        if len(bad):
            row = int(np.searchsorted(csr.indptr, bad[0], side="right")) - 1
            raise ValueError(
                f"{len(bad)} edge weights are NaN or infinite, the first acts from node {csr.indices[bad[0]]} on node "
                f"{row}; drop those edges or give them a finite weight"
            )
        symmetric = is_symmetric(csr)
        if directed is False and not symmetric:
            raise ValueError("directed=False, but the adjacency matrix is not symmetric; use True or (A + A.T) / 2")
        set_once = object.__setattr__
        set_once(self, "_adjacency", SparseMatrix(csr, symmetric=symmetric))
        set_once(self, "directed", not symmetric if directed is None else directed)
        set_once(self, "nodes", checked_labels(nodes, csr.shape[0]))
        set_once(self, "positions", checked_positions(positions, csr.shape[0]))
        set_once(self, "attributes", checked_attributes(attributes, self.nodes))
        set_once(self, "_cache", {})
        for array in (csr.data, csr.indices, csr.indptr):
            array.flags.writeable = False

    if TYPE_CHECKING:
        _adjacency: SparseMatrix
        _cache: dict[Any, Any]
        directed: bool
        nodes: Sequence[Hashable]
        positions: np.ndarray | None
        attributes: Mapping[str, np.ndarray]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Graph is frozen: make a new one instead of setting {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Graph is frozen: make a new one instead of deleting {name!r}")

    # What it is -------------------------------------------------------------------------------------------------

    @property
    def num_nodes(self) -> int:
        """n."""
        return self._adjacency.shape[0]

    @property
    def num_edges(self) -> int:
        """How many edges there are; an undirected edge counts once."""
        loops = int(np.count_nonzero(self._adjacency.csr.diagonal()))
        return self._adjacency.nnz if self.directed else (self._adjacency.nnz + loops) // 2

    @property
    def adjacency(self) -> SparseMatrix:
        """A as an operator: ``graph.adjacency @ x`` is sum_j A_ij x_j."""
        return self._adjacency

    @property
    def degrees(self) -> torch.Tensor:
        """sum_j A_ij, shape (n,), float64."""
        return torch.from_numpy(np.asarray(self._adjacency.csr.sum(axis=1), dtype=np.float64))

    @property
    def weighted(self) -> bool:
        """Whether any weight differs from 1."""
        return bool((self._adjacency.csr.data != 1).any())

    def cached(self, key: Hashable, build: Callable[[], _T]) -> _T:
        """What ``build()`` makes, made once for this graph and kept with it; copies between processes do not carry it.

        Example:
            >>> import ndcn
            >>> graph = ndcn.networks.grid(9)
            >>> graph.cached("twice", lambda: 2 * graph.num_nodes)
            18
        """
        if key not in self._cache:
            self._cache[key] = build()
        value: _T = self._cache[key]
        return value

    def edge_index(self, device: torch.device | str = "cpu") -> tuple[torch.Tensor, torch.Tensor]:
        """(i, j) of every stored A[i, j], row by row: who is acted on, and who acts; each of shape (nnz,)."""

        def build() -> tuple[torch.Tensor, torch.Tensor]:
            m = self._adjacency.csr
            target = np.repeat(np.arange(self.num_nodes), np.diff(m.indptr))
            i, j = (torch.from_numpy(np.array(part, dtype=np.int64)).to(device) for part in (target, m.indices))
            return i, j

        return self.cached(("edge_index", torch.device(device)), build)

    def aggregate(self, messages: torch.Tensor) -> torch.Tensor:
        """sum_j A_ij m_ij for messages in the order of ``edge_index``: (..., nnz, d) to (..., n, d)."""
        return self.cached("incidence", lambda: self._incidence(self._adjacency.csr)) @ messages

    @property
    def fingerprint(self) -> str:
        """SHA-256 of edges, weights and labels, in hexadecimal."""

        def build() -> str:
            m = self._adjacency.csr
            digest = hashlib.sha256(repr((m.shape, self.directed)).encode())
            for array in (m.indptr.astype(np.int64), m.indices.astype(np.int64), m.data):
                digest.update(np.ascontiguousarray(array).tobytes())
            if not isinstance(self.nodes, range):
                digest.update(repr(self.nodes).encode())
            return digest.hexdigest()

        return self.cached("fingerprint", build)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies between processes carry the edges, not what was computed from them."""
        kept: dict[str, Any] = {"nodes": self.nodes, "directed": self.directed, "positions": self.positions}
        return functools.partial(Graph, **kept, attributes=dict(self.attributes)), (self.to_scipy(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and (self is other or self.fingerprint == other.fingerprint)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"Graph({counted(self.num_nodes, 'node')}, {counted(self.num_edges, 'edge')}, {self._kind})"

    def _repr_html_(self) -> str:
        names = first_names([str(name) for name in self.nodes[:20]], self.num_nodes)
        low, mean, high = (f"{value:.4g}" for value in (self.degrees.min(), self.degrees.mean(), self.degrees.max()))
        degrees = ("degree", f"{low} to {high}, mean {mean}")
        return card(
            "Graph",
            [("nodes", f"{self.num_nodes:,} ({names})"), ("edges", f"{self.num_edges:,}, {self._kind}"), degrees],
        )

    @property
    def _kind(self) -> str:
        return ("directed" if self.directed else "undirected") + ", weighted" * self.weighted

    # From and to other kinds ------------------------------------------------------------------------------------

    @classmethod
    def from_scipy(
        cls, matrix: sparse.sparray, *, nodes: Sequence[Hashable] | None = None, directed: bool | None = None
    ) -> Graph:
        """From a scipy.sparse matrix that is A itself: entry [i, j] is the weight of j acting on i.

        Example:
            >>> import ndcn, scipy.sparse
            >>> ndcn.Graph.from_scipy(scipy.sparse.eye_array(3, k=1)).directed
            True
        """
        return cls(matrix, nodes=nodes, directed=directed)

    @classmethod
    def from_dense(cls, matrix: Any, *, nodes: Sequence[Hashable] | None = None, directed: bool | None = None) -> Graph:
        """From a dense array or tensor that is A itself: entry [i, j] is the weight of j acting on i.

        Example:
            >>> import ndcn
            >>> ndcn.Graph.from_dense([[0, 1], [1, 0]]).num_edges
            1
        """
        if sparse.issparse(matrix) or is_networkx(matrix):
            raise _other_kind("the adjacency matrix must be a dense array", matrix)
        array = np.asarray(matrix.detach().cpu() if isinstance(matrix, torch.Tensor) else matrix)
        check_real(array.dtype)
        if array.ndim != 2:
            raise ValueError(f"the adjacency matrix must have two axes, got shape {array.shape}")
        return cls(sparse.csr_array(array.astype(np.float64)), nodes=nodes, directed=directed)

    @classmethod
    def from_edges(
        cls,
        edges: pd.DataFrame | np.ndarray | torch.Tensor | Iterable[Sequence[Any]],
        *,
        nodes: Sequence[Hashable] | None = None,
        num_nodes: int | None = None,
        directed: bool = False,
        duplicates: str = "error",
    ) -> Graph:
        """From a table of edges: source, target and, if there is a third column, weight.

        Args:
            edges: a pandas table (columns ``source``, ``target`` and perhaps ``weight``, or two or three columns of other
                names in that order), an array of shape (E, 2) or (E, 3), or an iterable of (source, target) or
                (source, target, weight).
            nodes: all labels in the order wanted, also of nodes without edges. Labels that occur in the table, sorted
                where they can be, by default.
            num_nodes: the entries are positions 0..num_nodes-1 instead of labels.
            directed: a row (u, v) then means that u acts on v: A[v, u]. Otherwise each edge acts both ways; listing it
                in both directions is fine if the weights agree.
            duplicates: what to do with a repeated edge: "error", "sum" its weights, or keep the "first".

        Raises:
            ValueError: an unknown label, a column that is none of these, repeated edges, weights that are not real and
                finite, or that disagree between the two directions.

        Example:
            >>> import ndcn
            >>> graph = ndcn.Graph.from_edges([("fox", "hare", 0.5), ("hare", "grass")], directed=True)
            >>> graph.to_pandas()
              source target  weight
            0    fox   hare     0.5
            1   hare  grass     1.0
        """
        adjacency, labels = edge_table_to_adjacency(edges, nodes, num_nodes, directed, duplicates)
        return cls(adjacency, nodes=labels, directed=directed)

    @classmethod
    def from_networkx(cls, graph: nx.Graph, *, weight: str | None = "weight") -> Graph:
        """From networkx: a directed edge u -> v means that u acts on v, so it becomes A[v, u]; parallel edges add up.

        Example:
            >>> import ndcn, networkx
            >>> ndcn.Graph.from_networkx(networkx.path_graph(["a", "b", "c"])).nodes
            ('a', 'b', 'c')
        """
        if not isinstance(graph, nx.Graph):
            raise _other_kind("expected a networkx graph", graph)
        if graph.number_of_nodes() == 0:
            raise ValueError("the graph is empty: a graph needs at least one node")
        labels = list(graph.nodes)
        matrix = sparse.csr_array(nx.to_scipy_sparse_array(graph, nodelist=labels, weight=weight, dtype=np.float64))
        return cls(matrix.T if graph.is_directed() else matrix, nodes=labels, directed=graph.is_directed())

    @classmethod
    def from_pyg(cls, data: Any, *, num_nodes: int | None = None) -> Graph:
        """From PyTorch Geometric: a ``Data`` object, or an ``edge_index`` tensor of shape (2, E) (source, target).

        An edge u -> v means that u acts on v: A[v, u]. Weights are taken from ``edge_weight``, or from an ``edge_attr``
        with one column; parallel edges add up. PyTorch Geometric need not be installed.

        Example:
            >>> import ndcn, torch
            >>> ndcn.Graph.from_pyg(torch.tensor([[0, 1], [1, 0]]), num_nodes=3)
            Graph(3 nodes, 1 edge, undirected)
        """
        index = data if isinstance(data, torch.Tensor) else getattr(data, "edge_index", None)
        if index is None or index.dim() != 2 or index.shape[0] != 2 or index.is_floating_point():
            got = type(data).__name__ if index is None else f"a tensor of shape {tuple(index.shape)}, {index.dtype}"
            raise ValueError(f"expected a PyG Data object or an integer edge_index of shape (2, E), got {got}")
        weight = getattr(data, "edge_weight", None)
        attribute = getattr(data, "edge_attr", None)
        if weight is None and attribute is not None and attribute.numel() == index.shape[1]:
            weight = attribute.reshape(-1)
        n = num_nodes or getattr(data, "num_nodes", None) or (int(index.max()) + 1 if index.numel() else 0)
        source, target = index.detach().cpu().numpy()
        outside = index[(index < 0) | (index >= n)]
        if len(outside):
            raise ValueError(f"edge_index names node {int(outside[0])}, but there are {n} nodes (0..{n - 1})")
        if weight is not None and weight.is_complex():
            check_real(weight.detach().cpu().numpy().dtype)
        values = np.ones(len(source)) if weight is None else weight.detach().cpu().double().numpy()
        return cls(sparse.coo_array((values, (target, source)), shape=(n, n)))

    def to_scipy(self) -> sparse.csr_array:
        """A copy of A as a scipy CSR array (float64)."""
        return self._adjacency.to_scipy()

    def to_dense(self) -> torch.Tensor:
        """A as a dense tensor (n, n), float64: only for small graphs."""
        return self._adjacency.to_dense()

    def to_networkx(self) -> nx.Graph:
        """As networkx ``Graph`` or ``DiGraph`` with the labels as nodes and a ``weight`` on each edge."""
        graph: nx.Graph = nx.DiGraph() if self.directed else nx.Graph()
        graph.add_nodes_from(self.nodes)
        edges = zip(*(part.tolist() for part in self._edge_list()), strict=True)
        graph.add_weighted_edges_from((self.nodes[u], self.nodes[v], weight) for u, v, weight in edges)
        return graph

    def to_pandas(self) -> pd.DataFrame:
        """As a table with columns source, target, weight by label; an undirected edge appears once."""
        source, target, weight = self._edge_list()
        labels = label_index(self.nodes)
        return pd.DataFrame({"source": labels[source], "target": labels[target], "weight": weight})

    def to_pyg(self) -> Any:
        """As a PyTorch Geometric ``Data`` object with edge_index, edge_weight and num_nodes (needs PyG: ``pip install ndcn[pyg]``)."""
        try:
            from torch_geometric.data import Data  # noqa: PLC0415  # an extra
        except ImportError as error:
            raise ImportError("Graph.to_pyg needs PyTorch Geometric: pip install 'ndcn[pyg]'") from error
        target, source = self.edge_index()
        weight = torch.from_numpy(self._adjacency.csr.data.copy()).float()
        return Data(edge_index=torch.stack([source, target]), edge_weight=weight, num_nodes=self.num_nodes)

    def _edge_list(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        target, source = (part.numpy() for part in self.edge_index())
        weight = self._adjacency.csr.data
        if not self.directed:
            keep = target >= source
            source, target, weight = source[keep], target[keep], weight[keep]
        order = np.lexsort((target, source))
        return source[order], target[order], weight[order].copy()


def _other_kind(expected: str, value: object) -> TypeError:
    """The error for something that another constructor takes, naming that one."""
    if sparse.issparse(value):
        way = "Graph.from_scipy"
    elif is_networkx(value):
        way = "Graph.from_networkx"
    elif isinstance(value, (np.ndarray, torch.Tensor)):
        way = "Graph.from_dense for an adjacency matrix, Graph.from_edges for a list of edges"
    elif isinstance(value, Graph):
        way = "it as it is"
    else:
        way = "Graph.from_edges, from_dense, from_scipy, from_networkx or from_pyg, whichever fits"
    return TypeError(f"{expected}, got {type(value).__name__}; use {way}")
