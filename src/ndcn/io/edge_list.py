"""EdgeList: who acts on whom, as a file says it, or a graph in memory: ndcn.Graph, networkx, a matrix, a square table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from .._support.lazy import networkx as nx
from ..graph import Graph, check_sparse
from .cells import plain
from .column_names import find
from .table import Table
from .time_columns import Times

NAMES = ("label", "name", "title", "id", "code")  # attributes of nodes that may hold their names


@dataclass(frozen=True)
class EdgeList:
    """Who acts on whom, by name.

    Attributes:
        title: the name of the file.
        labels: the names of the nodes; "0", "1", ... for a matrix.
        source, target: positions in ``labels``, shape (E,).
        weight: shape (E,).
        weighted: whether the file has weights.
        directed: what the file says; None if it does not.
        time: when each edge is there, if the file says so.
        positions: whether nodes have no names, only positions in a matrix.
        aliases: other names of the nodes, by the attribute that holds them.
        unused: a sentence on the columns that are not read; empty if all are.
        notes: what was understood.
        place: where an edge is in the file, for messages.
        heading: the headings of source and target, if they are unusual and may be names of nodes: a file without header.
    """

    title: str
    labels: list[str]
    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    weighted: bool = False
    directed: bool | None = None
    time: Times | None = None
    positions: bool = False
    aliases: Mapping[str, list[str]] = field(default_factory=dict)
    unused: str = ""
    notes: tuple[str, ...] = ()
    place: Callable[[int], str] = lambda edge: f"edge {edge + 1}"
    heading: tuple[str, str] | None = None


def no_edges(labels: list[str]) -> EdgeList:
    """Nodes of these names and no edges: the network is not known.

    Example:
        >>> len(no_edges(["ann", "bob"]).source)
        0
    """
    none = np.zeros(0, dtype=np.int64)
    notes = ("no edges were given: the network is not known",)
    return EdgeList("no file of edges", list(labels), none, none, np.zeros(0), directed=True, notes=notes)


def from_object(source: Any) -> EdgeList | None:
    """Edges from an ``ndcn.Graph``, a networkx graph or a scipy matrix; None for a pandas table; else a TypeError."""
    if isinstance(source, Graph):
        matrix = source.to_scipy().tocoo()
        labels = [plain(label) for label in source.nodes]
        return EdgeList("the graph", labels, matrix.col, matrix.row, matrix.data, source.weighted, source.directed)
    if sparse.issparse(source):
        return from_matrix(source, "the matrix")
    if type(source).__module__.partition(".")[0] == "networkx":
        return from_networkx(source, "the graph")
    if isinstance(source, pd.DataFrame):
        return None
    raise TypeError(
        f"edges must be the name of a file, a pandas table, a networkx graph, a scipy.sparse matrix or an ndcn.Graph, got "
        f"{type(source).__name__}"
    )


def from_matrix_table(table: Table) -> EdgeList | None:
    """Edges from a square table of numbers, with or without the names of nodes above and beside it; else None."""
    width = len(table.columns)
    names = [plain(name) for name in table.columns[1:]]
    beside = [plain(cell) for cell in table.sample(0)]
    if table.headed:
        if width < 3 or not beside or beside != names[: len(beside)] or find(names, {"target", "to"}) is not None:
            return None
        columns = range(1, width)
    else:
        if width < 5 or len(beside) > width or any(table.kind(k) not in ("number", "empty") for k in range(width)):
            return None
        columns = range(width)
    loaded = table.load(dict.fromkeys(columns, "number"))
    if len(loaded[columns[0]]) != len(columns):
        return None
    for k in columns:
        bad = np.flatnonzero(~np.isfinite(loaded[k]))
        if len(bad):
            where = f"{table.place(int(bad[0]))}: the matrix has no finite weight in column {table.name(k)}"
            raise ValueError(f"{where}; write 0 where there is no edge")
    matrix = sparse.coo_array(np.stack([loaded[k] for k in columns], axis=1))
    return from_matrix(matrix, table.title, names if table.headed else None)


def from_matrix(matrix: Any, title: str, labels: list[str] | None = None) -> EdgeList:
    """Edges from an adjacency matrix; entry [i, j] is the weight of j acting on i.

    Raises:
        ValueError: it is not square, real and finite.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ValueError(f"{title}: a matrix of edges must be square, got {' x '.join(map(str, matrix.shape))}")
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"{title}: a matrix of edges must hold real numbers, got {matrix.dtype}")
    try:
        check_sparse(matrix)
    except ValueError as error:
        raise ValueError(f"{title}: {error}; write it again") from None
    coo = sparse.coo_array(matrix)
    data = coo.data.astype(np.float64)

    def place(edge: int) -> str:
        return f"row {coo.row[edge] + 1}, column {coo.col[edge] + 1}"

    bad = np.flatnonzero(~np.isfinite(data))
    if len(bad):
        first = f"{len(bad)} weights are NaN or infinite, the first in {place(bad[0])}"
        raise ValueError(f"{title}: {first}; give them a finite weight")
    return EdgeList(
        title,
        [str(k) for k in range(coo.shape[0])] if labels is None else labels,
        coo.col,
        coo.row,
        data,
        weighted=bool((data != 1).any()),
        directed=bool(abs(coo.tocsr() - coo.T.tocsr()).nnz),
        positions=labels is None,
        notes=(f"{title}: a matrix of {coo.shape[0]} nodes; entry [i, j] is the weight of j acting on i",),
        place=lambda edge: f"{title} {place(edge)}",
    )


def from_networkx(graph: nx.Graph, title: str) -> EdgeList:
    """Edges from a networkx graph; other names of the nodes are kept as aliases.

    Raises:
        ValueError: it has no nodes, two of one name, or a weight that is no finite number.
    """
    if graph.number_of_nodes() == 0:
        raise ValueError(f"{title} holds no nodes; export the graph again")
    position = {node: k for k, node in enumerate(graph.nodes)}
    edges = list(graph.edges(data=True))
    key = next((k for k in ("weight", "value") if any(k in data for _, _, data in edges)), None)
    weight = np.ones(len(edges))
    for k, (u, v, data) in enumerate(edges if key is not None else ()):
        try:
            weight[k] = float(data.get(key, 1.0))
        except (TypeError, ValueError, OverflowError):
            weight[k] = np.nan
        if not np.isfinite(weight[k]):
            edge = f"the {key} of the edge {u!r} to {v!r}"
            raise ValueError(f"{title}: {edge} is {data.get(key)!r}, and must be a finite number")
    labels = [plain(node) for node in graph.nodes]
    if len(set(labels)) < len(labels):
        raise ValueError(f"{title}: two nodes have the same name; give each its own")
    aliases = {}
    for attribute in NAMES:
        values = [plain(data.get(attribute)) for _, data in graph.nodes(data=True)]
        if all(values) and len(set(values)) == len(values) and values != labels:
            aliases[attribute] = values
    return EdgeList(
        title,
        labels,
        np.array([position[u] for u, _, _ in edges], dtype=np.int64),
        np.array([position[v] for _, v, _ in edges], dtype=np.int64),
        weight,
        weighted=key is not None,
        directed=graph.is_directed(),
        aliases=aliases,
        notes=(f"{title}: {graph.number_of_nodes()} nodes and {graph.number_of_edges()} edges",),
        place=lambda edge: f"{title} edge {edge + 1}",
    )
