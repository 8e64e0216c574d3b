"""Partition: the nodes of a graph cut into parts, and what that costs."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._support.checks import check_whole
from .assignment import assigned
from .part import Part, each_part, halos_of

if TYPE_CHECKING:
    from ..graph import Graph


class Partition:
    """The nodes of a graph cut into P parts: ``graph.partition(P)``.

    Attributes:
        graph: the whole graph.
        assignment: the part of each node, shape (n,), int32.
        parts: P.
        method: "metis", "streaming", "blocks" or "given".

    Example:
        >>> import ndcn
        >>> halves = ndcn.networks.grid(100).partition(2, method="streaming")
        >>> halves.parts, halves.imbalance < 1.05
        (2, True)
        >>> halves.cut < 40
        True
    """

    def __init__(self, graph: Graph, assignment: np.ndarray, parts: int, method: str = "given") -> None:
        place = np.asarray(assignment)
        if place.shape != (graph.num_nodes,) or place.dtype.kind not in "iu":
            raise ValueError(f"an assignment names a part for each of {graph.num_nodes} nodes, got {place.shape}")
        counts = np.bincount(place, minlength=parts) if place.min() >= 0 else np.zeros(0)
        if len(counts) != parts or not counts.all():
            raise ValueError(f"every part 0..{parts - 1} needs a node, and there are no others; change the assignment")
        self.graph, self.assignment, self.parts, self.method = graph, place.astype(np.int32), parts, method

    @classmethod
    def of(cls, graph: Graph, parts: int, method: str = "auto") -> Partition:
        """See ``Graph.partition``."""
        check_whole("parts", parts, 1, graph.num_nodes)
        place, used = assigned(graph.adjacency.csr, parts, method, symmetric=graph.adjacency.symmetric)
        return cls(graph, place, parts, used)

    @functools.cached_property
    def halos(self) -> list[np.ndarray]:
        """For each part the nodes of others that act on its own."""
        return halos_of(self.graph.adjacency.csr, self.assignment, self.parts)

    @property
    def cut(self) -> int:
        """How many edges join two parts; an undirected edge counts once."""
        csr = self.graph.adjacency.csr
        crossing = np.repeat(self.assignment, np.diff(csr.indptr)) != self.assignment[csr.indices]
        return int(crossing.sum()) // (1 if self.graph.directed else 2)

    @property
    def imbalance(self) -> float:
        """Nodes of the largest part over those of the mean part."""
        return float(np.bincount(self.assignment, minlength=self.parts).max() * self.parts / self.graph.num_nodes)

    @property
    def work_imbalance(self) -> float:
        """Entries of A in the part that has most of them, over the mean part."""
        rows = np.diff(self.graph.adjacency.csr.indptr)
        held = np.bincount(self.assignment, weights=rows, minlength=self.parts)
        return float(held.max() * self.parts / max(held.sum(), 1))

    def bytes_per_evaluation(self, width: int = 20, itemsize: int = 4) -> int:
        """Bytes that all processes together send when a field of ``width`` features is evaluated once; its gradient sends as many.

        Example:
            >>> import ndcn
            >>> path = ndcn.Graph.from_edges([(0, 1), (1, 2), (2, 3)])
            >>> path.partition(2, method="blocks").bytes_per_evaluation(width=20)
            160
        """
        return sum(len(halo) for halo in self.halos) * width * itemsize

    def part(self, k: int) -> Part:
        """The arrays of part k."""
        return self.some(range(k, k + 1))[0]

    def some(self, wanted: range) -> list[Part]:
        """The arrays of some parts, made together."""
        return each_part(self.graph.adjacency.csr, self.assignment, self.parts, wanted, self.halos)

    def report(self, width: int = 20, itemsize: int = 4) -> dict[str, Any]:
        """Cut, imbalance, halos and bytes per evaluation, as plain values."""
        edges = self.graph.num_edges
        return {
            "parts": self.parts,
            "method": self.method,
            "nodes": self.graph.num_nodes,
            "edges": edges,
            "cut": self.cut,
            "cut_share": self.cut / edges if edges else 0.0,
            "imbalance": self.imbalance,
            "work_imbalance": self.work_imbalance,
            "halo": [len(halo) for halo in self.halos],
            "bytes_per_evaluation": self.bytes_per_evaluation(width, itemsize),
        }

    def __repr__(self) -> str:
        share = self.cut / max(self.graph.num_edges, 1)
        return (
            f"Partition({self.parts} parts of {self.graph!r} by {self.method}, {100 * share:.3g} % of the edges cut, "
            f"imbalance {self.imbalance:.3f})"
        )
