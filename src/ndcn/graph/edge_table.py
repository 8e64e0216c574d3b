"""Edge tables: from rows (source, target, weight) with labels to an adjacency matrix."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy import sparse

from .labels import checked_labels, label_index


def edge_table_to_adjacency(
    edges: Any, nodes: Sequence[Hashable] | None, num_nodes: int | None, directed: bool, duplicates: str
) -> tuple[sparse.coo_array, Sequence[Hashable] | None]:
    """A with A[target, source] = weight, and the labels in its order (None for 0..n-1)."""
    if duplicates not in ("error", "sum", "first"):
        raise ValueError(f'duplicates must be "error", "sum" or "first", got {duplicates!r}')
    if nodes is not None and num_nodes is not None:
        raise ValueError("give nodes (labels) or num_nodes (positions), not both")
    source, target, weight = _columns(edges)
    source, target, labels, n = _positions(source, target, nodes, num_nodes)

    def name(position: Any) -> str:
        return repr(int(position) if labels is None else labels[int(position)])

    infinite = np.flatnonzero(~np.isfinite(weight))
    if len(infinite):
        raise ValueError(
            f"{len(infinite)} edge weights are NaN or infinite, the first from {name(source[infinite[0]])} to "
            f"{name(target[infinite[0]])}; drop those edges or give them a finite weight"
        )
    # one number for each edge: sorted, repeated edges are neighbours, and rows of A follow one another
    key = target.astype(np.int64) * n + source.astype(np.int64)
    order = np.argsort(key, kind="stable")
    key, weight = key[order], weight[order]
    repeats = key[1:] == key[:-1]
    if repeats.any():
        if duplicates == "error":
            row = order[1:][repeats].min()
            raise ValueError(
                f"{int(repeats.sum())} edges are listed more than once, the first is {name(source[row])} to "
                f'{name(target[row])}; use duplicates="sum" or duplicates="first"'
            )
        first = np.flatnonzero(np.concatenate([[True], ~repeats]))
        key, weight = key[first], np.add.reduceat(weight, first) if duplicates == "sum" else weight[first]
    target, source = np.divmod(key, n)
    if not directed:
        key = np.minimum(source, target) * n + np.maximum(source, target)
        order = np.argsort(key, kind="stable")
        key, weight = key[order], weight[order]
        both_ways = key[1:] == key[:-1]  # by now an edge occurs at most twice, once in each direction
        disagree = np.flatnonzero(both_ways & (weight[1:] != weight[:-1]))
        if len(disagree):
            u, v = (name(position) for position in divmod(key[disagree[0]], n))
            raise ValueError(
                f"{len(disagree)} edges have another weight in each direction, the first between {u} and {v}; "
                "use directed=True to keep both"
            )
        if both_ways.any():
            first = np.flatnonzero(np.concatenate([[True], ~both_ways]))
            key, weight = key[first], weight[first]
        low, high = np.divmod(key, n)
        apart = low != high
        source, target = np.concatenate([low, high[apart]]), np.concatenate([high, low[apart]])
        weight = np.concatenate([weight, weight[apart]])
    return sparse.coo_array((weight, (target, source)), shape=(n, n)), labels


def _columns(edges: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if isinstance(edges, pd.DataFrame):
        if {"source", "target"} <= set(edges.columns):
            names = [c for c in ("source", "target", "weight") if c in edges.columns]
            extra = [c for c in edges.columns if c not in names]
            if extra:
                rename = "" if "weight" in names else f'rename {extra[0]!r} to "weight" if it holds the weights, or '
                raise ValueError(
                    f"an edge table has columns source, target and perhaps weight, but this one also has {extra}; "
                    f"{rename}pass table[{names}]"
                )
        elif edges.shape[1] in (2, 3):
            names = list(edges.columns)
        else:
            found = list(edges.columns)
            raise ValueError(f"an edge table needs columns source, target and perhaps weight; this one has {found}")
        columns = [edges[c].to_numpy() for c in names]
    elif isinstance(edges, (np.ndarray, torch.Tensor)):
        array = np.asarray(edges)
        if array.ndim != 2 or array.shape[1] not in (2, 3):
            raise ValueError(f"an edge array must have shape (E, 2) or (E, 3), got {array.shape}")
        if array.dtype.kind == "c":
            raise ValueError(f"an edge array must hold real numbers, got {array.dtype}")
        columns = [array[:, k] for k in range(array.shape[1])]
        if array.dtype.kind == "f":
            if (array[:, :2] != np.round(array[:, :2])).any():
                raise ValueError("the first two columns of an edge array must be whole numbers")
            columns[:2] = [c.astype(np.int64) for c in columns[:2]]
    else:
        rows = [tuple(row) for row in edges]
        wrong = next((row for row in rows if len(row) not in (2, 3)), None)
        if wrong is not None:
            raise ValueError(f"an edge is (source, target) or (source, target, weight), got {wrong!r}")
        columns = [pd.Series([row[k] for row in rows], dtype=None if rows else "int64").to_numpy() for k in (0, 1)]
        columns.append(np.array([row[2] if len(row) == 3 else 1.0 for row in rows]))
    source, target = columns[:2]
    for name, column in (("source", source), ("target", target)):
        missing = np.flatnonzero(pd.isna(column))
        if len(missing):
            raise ValueError(f"the {name} of {len(missing)} edges is missing, first in row {missing[0]}; drop them")
    if len(columns) == 2:
        return source, target, np.ones(len(source))
    weight = np.asarray(columns[2])
    if weight.dtype.kind in "cmM":
        raise ValueError(f"edge weights must be real numbers, got {weight.dtype}")
    try:
        return source, target, weight.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"edge weights must be numbers: {error}") from None


def _positions(
    source: np.ndarray, target: np.ndarray, nodes: Sequence[Hashable] | None, num_nodes: int | None
) -> tuple[np.ndarray, np.ndarray, Sequence[Hashable] | None, int]:
    if num_nodes is not None:
        both = np.concatenate([source, target])
        if len(both) and both.dtype.kind not in "iu":
            raise ValueError(
                f"num_nodes means that edges name positions 0..num_nodes-1, but they are of type {both.dtype}; "
                "use integers, or nodes= for labels"
            )
        outside = both[(both < 0) | (both >= num_nodes)]
        if len(outside):
            positions = f"num_nodes={num_nodes} (positions 0..{num_nodes - 1})"
            raise ValueError(f"the edges name node {outside[0]}, but {positions}")
        return source, target, None, num_nodes
    if nodes is not None:
        known = checked_labels(nodes, len(nodes))
        index = label_index(known)
        u, v = (index.get_indexer(label_index(column)) for column in (source, target))
        unknown = pd.unique(np.concatenate([source[u < 0], target[v < 0]]))
        if len(unknown):
            shown = ", ".join(repr(x) for x in unknown[:5].tolist())
            raise ValueError(f"{len(unknown)} labels in the edge table are not in nodes: {shown}")
        return u, v, known, len(known)
    codes, found = pd.factorize(pd.Series(np.concatenate([source, target])))
    labels = found.tolist()
    try:
        order = sorted(range(len(labels)), key=labels.__getitem__)
    except TypeError:  # labels of several kinds have no order: keep the order in which they occur
        order = list(range(len(labels)))
    codes = np.argsort(order)[codes]  # from the order of occurrence to the sorted one
    return codes[: len(source)], codes[len(source) :], [labels[k] for k in order], len(labels)
