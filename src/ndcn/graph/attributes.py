"""What is known of nodes besides their edges: places, attributes; and graphs of the same nodes, or some of them, with other edges."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .._support.wording import some
from .labels import label_index

if TYPE_CHECKING:
    from scipy import sparse

    from .graph import Graph

DEGREE = "degree"


class Described:
    """The part of ``Graph`` that is about its nodes.

    Example:
        >>> import ndcn
        >>> graph = ndcn.networks.grid(4).with_attributes({"population": [5.0, 1.0, 2.0, 8.0]})
        >>> graph.attribute("population").max()
        np.float64(8.0)
    """

    if TYPE_CHECKING:
        nodes: Sequence[Hashable]
        directed: bool
        positions: np.ndarray | None
        attributes: Mapping[str, np.ndarray]

        @property
        def degrees(self) -> Any:
            """See ``Graph``."""

        def to_scipy(self) -> sparse.csr_array:
            """See ``Graph``."""

    def attribute(self, name: str) -> np.ndarray:
        """One number for each node, NaN where it is not known, shape (n,); "degree" is always there: sum_j A_ij.

        Raises:
            ValueError: the graph has no such attribute.

        Example:
            >>> import ndcn
            >>> ndcn.Graph.from_edges([("a", "b"), ("b", "c")]).attribute("degree")
            array([1., 2., 1.])
        """
        if name in self.attributes:
            return self.attributes[name]
        if name == DEGREE:
            out: np.ndarray = self.degrees.numpy()
            return out
        known = ", ".join(map(repr, (*self.attributes, DEGREE)))
        raise ValueError(
            f"the graph has no attribute {name!r}, only {known}: add it by graph.with_attributes({{{name!r}: values}}), or read a "
            'table of nodes with that column, ndcn.read(..., nodes="nodes.csv")'
        )

    def with_attributes(self, table: Any) -> Graph:
        """The same graph with these attributes beside its own; those of the same name are replaced.

        Args:
            table: names to one number for each node, in order, or to numbers by node; or a pandas table, whose index has the
                names of nodes, or 0, 1, ... for their order. NaN, or no row, where a number is not known.

        Raises:
            ValueError: another number of values, a name that is no node, a node twice, or something that is not a number.

        Example:
            >>> import ndcn
            >>> chain = ndcn.Graph.from_edges([("a", "b"), ("b", "c")])
            >>> chain.with_attributes({"population": {"c": 3.0, "a": 1.0}}).attributes["population"]
            array([ 1., nan,  3.])
        """
        both = {**self.attributes, **checked_attributes(table, self.nodes)}
        return self._like(self.to_scipy(), attributes=both)

    def with_positions(self, positions: Any) -> Graph:
        """The same graph, its nodes at these places: see ``positions``.

        Example:
            >>> import ndcn
            >>> ndcn.networks.grid(4).with_positions([[0, 0], [1, 0], [0, 1], [1, 1]]).positions.shape
            (4, 2)
        """
        return self._like(self.to_scipy(), positions=positions)

    def with_adjacency(
        self, adjacency: sparse.sparray, keep: Sequence[int] | None = None, directed: bool | None = None
    ) -> Graph:
        """Other edges between the same nodes, or between those at the places ``keep``, whose positions and attributes they keep.

        Args:
            adjacency: scipy.sparse matrix A among the nodes that are kept, in the order of ``keep``.
            keep: places of nodes; all by default.
            directed: whether A may be unsymmetric; as in this graph by default.

        Example:
            >>> import ndcn
            >>> graph = ndcn.Graph.from_edges([("a", "b"), ("b", "c")]).with_attributes({"size": [1, 2, 3]})
            >>> part = graph.with_adjacency(graph.to_scipy()[[1, 2]][:, [1, 2]], keep=[1, 2])
            >>> part.nodes, part.attributes["size"]
            (('b', 'c'), array([2., 3.]))
        """
        one_way = self.directed if directed is None else directed
        if keep is None:
            return self._like(adjacency, directed=one_way)
        places = np.asarray(keep, dtype=np.int64)
        return self._like(
            adjacency,
            nodes=[self.nodes[k] for k in places.tolist()],
            directed=one_way,
            positions=None if self.positions is None else self.positions[places],
            attributes={name: values[places] for name, values in self.attributes.items()},
        )

    def _like(self, adjacency: sparse.sparray, **other: Any) -> Graph:
        """A graph with what is known of these nodes, but for ``other``."""
        known = {"nodes": self.nodes, "directed": self.directed, "positions": self.positions}
        return type(self)(adjacency, **{**known, "attributes": self.attributes, **other})  # type: ignore[call-arg, return-value]  # Graph is the only class made from this one


def checked_attributes(table: Any, nodes: Sequence[Hashable]) -> Mapping[str, np.ndarray]:
    """Attributes by name, (n,) each, frozen; see ``Graph.with_attributes``."""
    if table is None:
        return MappingProxyType({})
    columns = {name: table[name] for name in table.columns} if isinstance(table, pd.DataFrame) else table
    if not isinstance(columns, Mapping):
        raise ValueError(
            f"attributes are names with a number for each node, as {{'population': [...]}}, or a pandas table; got {type(table).__name__}"
        )
    out = {}
    for name, values in columns.items():
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"an attribute has a name, as 'population'; got {name!r}")
        out[name] = _column(name, values, nodes)
        out[name].flags.writeable = False
    return MappingProxyType(out)


def _column(name: str, values: Any, nodes: Sequence[Hashable]) -> np.ndarray:
    n = len(nodes)
    if isinstance(values, Mapping):
        values = pd.Series(values)
    if isinstance(values, pd.Series) and not (isinstance(values.index, pd.RangeIndex) and len(values) == n):
        index = label_index(values.index)
        if not index.is_unique:
            raise ValueError(f"{name!r} has several values for the node {index[index.duplicated()][0]!r}: keep one")
        if len(strange := index.difference(label_index(nodes), sort=False)):
            raise ValueError(
                f"{name!r} has values for {some(list(strange))}, which {'is no node' if len(strange) == 1 else 'are no nodes'} of the graph"
            )
        values = values.reindex(label_index(nodes))
    try:
        numbers = np.array(np.asarray(values), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name!r} must hold a number for each node, NaN where it is not known: leave out columns of texts"
        ) from None
    if numbers.shape != (n,) or np.isinf(numbers).any():
        raise ValueError(
            f"{name!r} must hold {n} numbers, one for each node, finite or NaN; got shape {numbers.shape}"
            + (" with infinite ones" if np.isinf(numbers).any() else "")
        )
    return numbers
