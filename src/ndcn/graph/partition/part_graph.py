"""PartGraph: a Graph of which this process holds one part, and fields see no difference."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NoReturn

import numpy as np
import torch
from scipy import sparse
from torch import nn

from ..._support.memory import give_back
from ..._support.wording import counted
from ..._support.world import World
from ..adjacency_checks import is_symmetric
from ..graph import Graph
from .halo import Halo
from .halo_matrix import HaloMatrix
from .part import Part


class _NeedsNeighbours(Exception):  # no error: it says which way to take
    """A field asked for the places of both ends of edges: it is to be given the states of the halo as well."""


class PartGraph(Graph):
    """One part of a graph that several processes share: states have a row for each of its own nodes.

    ``graph.adjacency @ x``, the operators, ``graph.ends(x)`` and ``graph.aggregate`` exchange boundary states with the other
    processes, which must make the same calls in the same order; so a field written with them runs unchanged. A field that takes
    ``graph.edge_index()`` is evaluated on own nodes and halo together, and the rates of its own nodes are kept.

    Args:
        part: rows and exchange plan of this part.
        world: the processes, one for each part.
        identity: of the partition, the same in all processes.
        directed: whether the whole graph is.
        nodes: labels of its own nodes, in its order; numbers in the whole graph by default.
        num_nodes_total: nodes of the whole graph.

    Attributes:
        part, world, identity: as given.
        places: the number of each of its nodes in the whole graph, shape (own,).
    """

    def __init__(
        self,
        part: Part,
        world: World,
        *,
        identity: str,
        directed: bool,
        num_nodes_total: int,
        nodes: Sequence[Hashable] | None = None,
    ) -> None:
        halo = Halo(part, world)
        labels = tuple(part.own.tolist()) if nodes is None else tuple(nodes)
        values: dict[str, Any] = {
            "_cache": {},
            "directed": directed,
            "nodes": labels,
            "positions": None,
            "attributes": {},
            "part": part,
            "world": world,
            "identity": identity,
            "num_nodes_total": num_nodes_total,
            "halo": halo,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    part: Part
    world: World
    halo: Halo
    identity: str
    num_nodes_total: int
    in_parts = True

    @property
    def num_nodes(self) -> int:
        """Nodes of this part."""
        return len(self.part.own)

    @property
    def num_edges(self) -> int:
        """Entries of A in the rows of this part."""
        return len(self.part.weights)

    @property
    def adjacency(self) -> Any:
        """The rows of A of its own nodes as an operator on states of its own nodes."""
        made = lambda: HaloMatrix(self.part.rows, self.halo, self.part.inner, symmetric=not self.directed)  # noqa: E731
        return self.cached("adjacency", made)

    @property
    def has_negative_weights(self) -> bool:
        """Whether any weight of the whole graph is below 0."""
        return self.cached("negative", lambda: not self.everywhere(bool((self.part.weights >= 0).all())))

    @property
    def places(self) -> torch.Tensor:
        """The number of each of its nodes in the whole graph."""
        return torch.from_numpy(self.part.own)

    @property
    def degrees(self) -> torch.Tensor:
        """sum_j A_ij of its own nodes, shape (own,), float64."""
        return torch.from_numpy(np.asarray(self.part.rows.sum(axis=1), dtype=np.float64))

    @property
    def weighted(self) -> bool:
        """Whether any weight of its rows differs from 1."""
        return bool((self.part.weights != 1).any())

    @property
    def fingerprint(self) -> str:
        """Of this part of this partition."""
        return hashlib.sha256(f"{self.identity} {self.world.rank}".encode()).hexdigest()

    def operator_of(self, build: Callable[[sparse.csr_array], sparse.sparray], *, symmetric: bool | None = None) -> Any:
        """See ``Graph.operator_of``.

        Raises:
            ValueError: an entry of the operator depends on more than A_ij and sums of rows and columns.
        """
        n, m = self.num_nodes, self.num_nodes + self.halo.size
        whole = sparse.csr_array(build(self.part.closed()))
        rows = whole[:n]
        beyond = rows[:, m:]
        lone = rows[: self.part.inner, n:m]
        if abs(beyond).sum() > 0 or lone.nnz:
            raise ValueError(
                "this operator joins nodes that are no neighbours, as powers of A do, and a part knows neighbours only: apply "
                "operators one after the other instead, as in graph.adjacency @ (graph.adjacency @ x)"
            )
        known = not self.directed and (symmetric or is_symmetric(sparse.csr_array(rows[:, :n])))
        made = HaloMatrix(rows[:, :m], self.halo, self.part.inner, symmetric=known)
        del whole, rows, beyond, lone
        give_back()
        return made

    def edge_index(self, device: torch.device | str = "cpu") -> NoReturn:
        """Not in parts: ``ends`` and ``evaluate`` take its place."""
        raise _NeedsNeighbours(
            "one part of a graph does not hold the states of both ends of its edges: take x_i, x_j = graph.ends(x), or let the "
            "field be called by ndcn.integrate, which sees to it"
        )

    def ends(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """See ``Graph.ends``: of the edges that act on its own nodes."""
        i, j = self._places_of_ends(x.device)
        wide = self.halo.extended(x)
        return x.index_select(-2, i), wide.index_select(-2, j)

    def _places_of_ends(self, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        def build() -> tuple[torch.Tensor, torch.Tensor]:
            target = np.repeat(np.arange(self.num_nodes), np.diff(self.part.indptr))
            return torch.from_numpy(target).to(device), torch.from_numpy(self.part.indices.copy()).to(device)

        return self.cached(("ends", device), build)

    def aggregate(self, messages: torch.Tensor) -> torch.Tensor:
        """See ``Graph.aggregate``."""
        return self.cached("incidence", lambda: self._incidence(self.part.rows)) @ messages

    def evaluate(self, field: nn.Module, t: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """See ``Graph.evaluate``: on own nodes and halo together for a field that asks for places of edges."""
        wide: set[int] = self.cached("wide fields", set)
        if id(field) not in wide:
            try:
                out: torch.Tensor = field(t, x, self)
                return out
            except _NeedsNeighbours:
                wide.add(id(field))
                self.cached(("field", id(field)), lambda: field)  # so that its identity stays its own
        closed = self.cached("closed", lambda: Graph(self.part.closed(), directed=True))
        extended = self.halo.extended(x)
        rest = x.detach().narrow(-2, 0, 1)  # states at which the field is defined, for nodes that stand for the rest
        rate: torch.Tensor = field(t, torch.cat([extended, rest, rest], dim=-2), closed)
        return rate.narrow(-2, 0, self.num_nodes)

    # What is true of all processes ------------------------------------------------------------------------------

    def total(self, values: torch.Tensor) -> torch.Tensor:
        """The sum over all processes."""
        return self.world.total(values.detach().cpu()).to(values.device)

    def highest(self, values: torch.Tensor) -> torch.Tensor:
        """The largest over all processes."""
        return self.world.highest(values.detach().cpu()).to(values.device)

    def everywhere(self, flag: bool) -> bool:
        """Whether it holds in all processes."""
        return self.world.everywhere(flag)

    def joined(self, text: str) -> str:
        """One text made of those of all processes."""
        return hashlib.sha256(" ".join(self.world.texts(text)).encode()).hexdigest()

    def own_of(self, values: Any) -> torch.Tensor:
        """Of values for all nodes of the whole graph, shape (n, ...), those of its own nodes."""
        return torch.as_tensor(values).index_select(0, self.places)

    # What no process can do alone -------------------------------------------------------------------------------

    def to_scipy(self) -> NoReturn:
        """Not in parts."""
        raise TypeError("no process holds the whole graph: gather it with ndcn.distributed.whole_graph(graph)")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a part of a graph belongs to its process and cannot be sent to another")

    def __repr__(self) -> str:
        total, mine = counted(self.num_nodes_total, "node"), counted(self.num_nodes, "node")
        return f"PartGraph({mine} of {total}, part {self.world.rank} of {self.world.size})"
