"""Edges from graphs in memory: ndcn.Graph, networkx, scipy matrices, and tables that are adjacency matrices."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from scipy import sparse

from ..graph import Graph
from .cells import plain
from .column_names import find
from .edge_list import EdgeList
from .table import Table

NAMES = ("label", "name", "title", "id", "code")  # attributes of nodes that may hold their names


def from_object(source: Any) -> EdgeList | None:
    """Edges from an ``ndcn.Graph``, a networkx graph or a scipy matrix; None for anything else."""
    if isinstance(source, Graph):
        matrix = source.to_scipy().tocoo()
        labels = [plain(label) for label in source.nodes]
        return EdgeList(
            "the graph", labels, matrix.col, matrix.row, matrix.data, source.weighted, source.directed,
        )  # fmt: skip
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
    if (
        table.headed
        and width > 2
        and beside
        and beside == names[: len(beside)]
        and find(names, {"target", "to"}) is None
    ):
        columns, labels = range(1, width), names
    elif not table.headed and width > 4 and len(beside) <= width:
        if any(table.kind(k) not in ("number", "empty") for k in range(width)):
            return None
        columns, labels = range(width), [str(k) for k in range(width)]
    else:
        return None
    loaded = table.load(dict.fromkeys(columns, "number"))
    n = len(labels)
    if len(loaded[columns[0]]) != n:
        return None
    for k in columns:
        bad = np.flatnonzero(~np.isfinite(loaded[k]))
        if len(bad):
            raise ValueError(
                f"{table.place(int(bad[0]))}: the matrix has no finite weight in column {table.name(k)}; write 0 where there "
                "is no edge"
            )
    matrix = sparse.coo_array(np.stack([loaded[k] for k in columns], axis=1))
    return from_matrix(matrix, table.title, labels if table.headed else None)


def from_matrix(matrix: Any, title: str, labels: list[str] | None = None) -> EdgeList:
    """Edges from an adjacency matrix; entry [i, j] is the weight of j acting on i.

    Raises:
        ValueError: it is not square, real and finite.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ValueError(f"{title}: a matrix of edges must be square, got {' x '.join(map(str, matrix.shape))}")
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"{title}: a matrix of edges must hold real numbers, got {matrix.dtype}")
    coo = sparse.coo_array(matrix)
    data = coo.data.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(data))
    if len(bad):
        raise ValueError(
            f"{title}: {len(bad)} weights are NaN or infinite, the first in row {coo.row[bad[0]] + 1}, column "
            f"{coo.col[bad[0]] + 1}; give them a finite weight"
        )
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
        place=lambda edge: f"{title} row {coo.row[edge] + 1}, column {coo.col[edge] + 1}",
    )


def from_networkx(graph: nx.Graph, title: str) -> EdgeList:
    """Edges from a networkx graph; other names of the nodes are kept as aliases.

    Raises:
        ValueError: it has no nodes, two of one name, or a weight that is no finite number.
    """
    if graph.number_of_nodes() == 0:
        raise ValueError(f"{title} holds no nodes; export the graph again")
    nodes = list(graph.nodes)
    place = {node: k for k, node in enumerate(nodes)}
    key = next((k for k in ("weight", "value") if any(k in data for _, _, data in graph.edges(data=True))), None)
    source, target, weight = [], [], []
    for u, v, data in graph.edges(data=True):
        value = 1.0 if key is None else data.get(key, 1.0)
        try:
            value = float(value)
        except (TypeError, ValueError, OverflowError):
            value = float("nan")
        if not np.isfinite(value):
            raise ValueError(
                f"{title}: the {key} of the edge {u!r} to {v!r} is {data.get(key)!r}, and must be a finite number"
            )
        source.append(place[u])
        target.append(place[v])
        weight.append(value)
    labels = [plain(node) for node in nodes]
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
        np.array(source, dtype=np.int64),
        np.array(target, dtype=np.int64),
        np.array(weight, dtype=np.float64),
        weighted=key is not None,
        directed=graph.is_directed(),
        aliases=aliases,
        notes=(f"{title}: {graph.number_of_nodes()} nodes and {graph.number_of_edges()} edges",),
        place=lambda edge: f"{title} edge {edge + 1}",
    )
