"""Edges from files that hold whole graphs (GraphML, GML, JSON, npz, Matrix Market), from matrices, and from objects."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from scipy import sparse

from ..graph import Graph
from .columns import plain
from .edge_list import EdgeList
from .matrix_market import read_matrix_market
from .table import Table, ending, one_line
from .words import find

NAMES = ("label", "name", "title", "id", "code")  # attributes of nodes that may hold their names


def read(path: Path) -> EdgeList:
    """Edges from such a file.

    Raises:
        ValueError: it cannot be read.
    """
    kind = ending(path)
    try:
        if kind == ".npz":
            return _from_scipy(_npz(path), path.name)
        if kind == ".mtx":
            return _from_scipy(read_matrix_market(path), path.name)
        return _from_networkx({".graphml": _graphml, ".gml": _gml, ".json": _json}[kind](path), path.name)
    except MemoryError:
        raise
    except ValueError as error:
        if str(error).startswith(path.name):
            raise
        raise ValueError(_cannot(path, kind, error)) from None
    except Exception as error:  # parsers of other libraries raise whatever comes
        raise ValueError(_cannot(path, kind, error)) from None


def _cannot(path: Path, kind: str, error: Exception) -> str:
    return f"{path.name} cannot be read as {kind[1:]}: {one_line(error)}; correct it or export it again, or give edges as CSV"


def from_object(source: Any) -> EdgeList | None:
    """Edges from an ``ndcn.Graph``, a networkx graph or a scipy matrix; None for anything else."""
    if isinstance(source, Graph):
        matrix = source.to_scipy().tocoo()
        labels = [plain(label) for label in source.nodes]
        return EdgeList(
            "the graph", labels, matrix.col, matrix.row, matrix.data, source.weighted, source.directed,
        )  # fmt: skip
    if sparse.issparse(source):
        return _from_scipy(source, "the matrix")
    if type(source).__module__.partition(".")[0] == "networkx":
        return _from_networkx(source, "the graph")
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
    return _from_scipy(matrix, table.title, labels if table.headed else None)


def _from_scipy(matrix: Any, title: str, labels: list[str] | None = None, directed: bool | None = None) -> EdgeList:
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
    if directed is None:
        directed = bool(abs(coo.tocsr() - coo.T.tocsr()).nnz)
    return EdgeList(
        title,
        [str(k) for k in range(coo.shape[0])] if labels is None else labels,
        coo.col,
        coo.row,
        data,
        weighted=bool((data != 1).any()),
        directed=directed,
        positions=labels is None,
        notes=(f"{title}: a matrix of {coo.shape[0]} nodes; entry [i, j] is the weight of j acting on i",),
        place=lambda edge: f"{title} row {coo.row[edge] + 1}, column {coo.col[edge] + 1}",
    )


def _npz(path: Path) -> Any:
    try:
        return sparse.load_npz(path)
    except (ValueError, KeyError, OSError, zipfile.BadZipFile, EOFError) as error:
        raise ValueError(
            f"{path.name} is no matrix that scipy.sparse.save_npz wrote ({one_line(error, 80)}); write it with that"
        ) from None


def _graphml(path: Path) -> Any:
    if b"<!ENTITY" in path.read_bytes()[: 1 << 16]:
        raise ValueError(f"{path.name} defines XML entities, which a graph does not need; export it again without")
    return nx.read_graphml(path)


def _gml(path: Path) -> Any:
    try:
        return nx.read_gml(path)
    except nx.NetworkXError as error:
        if "label" not in str(error):
            raise
        return nx.read_gml(path, label="id")


def _json(path: Path) -> Any:
    raw = path.read_bytes()
    try:
        data = json.loads(raw.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError(f"{path.name} is nested too deeply to be a graph") from None
    edges = next(
        (key for key in ("links", "edges") if isinstance(data, dict) and isinstance(data.get(key), list)), None
    )
    if edges is None:
        raise ValueError(
            f'{path.name} is no node-link graph: expected {{"nodes": [{{"id": ...}}], "links": [{{"source": ..., "target": ...}}]}}'
        )
    if not isinstance(data.get("nodes"), list):
        data["nodes"] = [{"id": x} for x in dict.fromkeys(e[end] for e in data[edges] for end in ("source", "target"))]
    if all(isinstance(node, dict) and "id" not in node for node in data["nodes"]):  # edges name places, as in older d3
        data["nodes"] = [{**node, "id": k} for k, node in enumerate(data["nodes"])]
    return nx.node_link_graph(data, edges=edges)


def _from_networkx(graph: nx.Graph, title: str) -> EdgeList:
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
        except (TypeError, ValueError):
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
