"""A table of features as a sparse matrix: numbers, indicators of texts, and what can be wrong with them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from ..._support.wording import counted, some
from ...io import Names, Table, column_names
from .node_rows import NodeRows, read_node_rows

BINS = 8  # quantiles of a measurement: octiles keep its order, and each holds enough nodes to learn from
TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class Features:
    """N rows of features."""

    rows: NodeRows  # the node of each row, and the table they come from
    numbers: sparse.csc_array  # shape (N, a), NaN where missing
    headings: list[str]  # the names of its columns
    indicators: sparse.csc_array  # of the texts in each column of text, shape (N, b)


def read_features(source: Any, known: Collection[str], node: str | None) -> Features:
    """Features from a file or a pandas table; sparse columns of pandas stay sparse.

    Raises:
        FileNotFoundError, TypeError, ValueError: see ``read_node_rows``; also if there is no feature.
    """
    block = None
    where = [k for k, kind in enumerate(source.dtypes) if _is_sparse(kind)] if isinstance(source, pd.DataFrame) else []
    if where:
        block = sparse.csc_array(source.iloc[:, where].sparse.to_coo(), dtype=np.float64)
        headings = [str(source.columns[k]) for k in where]
        left = [k for k in range(source.shape[1]) if k not in set(where)]
        source = source.iloc[:, left]
    rows = read_node_rows(source, "features", column_names.FEATURES, known, node, _roles)
    if not rows.columns and block is None:
        raise ValueError(f"{rows.title} has no column beside that of the nodes: there is no feature")
    table, numbers, texts = rows.table, {}, []
    for k, column in rows.columns.items():
        if not isinstance(column, Names):
            numbers[k] = column
        elif table.declared(k) is None and (truth := _truth(column)) is not None:
            numbers[k] = truth
        else:
            if table.kind(k) == "number":
                table.numbers_of(column, k)  # refuses text among numbers; numbers alone are categories by their type
            texts.append(_indicators(column))
    matrix, names = _columns(list(numbers.values()), len(rows.rows)), [table.name(k) for k in numbers]
    if block is not None:
        added = len(table.columns) - len(left)  # an index that became columns comes first
        order = np.argsort([*(left[k - added] if k >= added else -1 for k in numbers), *where], kind="stable")
        matrix = sparse.csc_array(sparse.hstack([matrix, block[rows.rows]], format="csc")[:, order])
        names = [[*names, *map(repr, headings)][k] for k in order]
    empty = sparse.csc_array((len(rows.rows), 0))
    return Features(rows, matrix, names, sparse.hstack([empty, *texts], format="csc"))


def _roles(table: Table, node: int) -> dict[int, str]:
    """Numbers as numbers; text as names, also text that is numbers in a table with types; other types are refused there."""
    roles = {}
    for k in range(len(table.columns)):
        if k == node or (table.headed and table.columns[k].strip().lower() in column_names.INDEX):
            continue
        declared = table.declared(k)
        numeric = table.kind(k) in ("number", "empty") if declared is None else declared != "text"
        roles[k] = "number" if numeric else "name"
    return roles


def _is_sparse(kind: Any) -> bool:
    return isinstance(kind, pd.SparseDtype) and kind.subtype.kind in "biuf" and bool(kind.fill_value == 0)


def _truth(column: Names) -> np.ndarray | None:
    """1 for true, 0 for false, NaN where missing; None if the column says anything else."""
    words = {column.labels[code].lower() for code in np.unique(column.codes[column.codes >= 0])}
    if not words or not words <= set(TRUTH):
        return None
    values = [TRUTH.get(label.lower(), np.nan) for label in column.labels]
    return np.array([*values, np.nan])[column.codes]


def _columns(columns: Sequence[np.ndarray], n: int) -> sparse.csc_array:
    """Dense columns as a sparse matrix, without a dense copy of all of them."""
    filled = [np.flatnonzero(column) for column in columns]
    indptr = np.cumsum([0, *map(len, filled)])
    if not columns:
        return sparse.csc_array((n, 0))
    data = np.concatenate([column[rows] for column, rows in zip(columns, filled, strict=True)])
    return sparse.csc_array((data, np.concatenate(filled), indptr), shape=(n, len(columns)))


def _indicators(column: Names) -> sparse.csc_array:
    """A column of zeros and ones for each text, in order of the texts; a missing one is none of them."""
    rows = np.flatnonzero(column.codes >= 0)
    texts = sorted({column.labels[code] for code in np.unique(column.codes[rows])})
    rank = {text: k for k, text in enumerate(texts)}
    code = np.array([rank.get(text, -1) for text in column.labels], dtype=np.int64)
    return sparse.csc_array((np.ones(len(rows)), (rows, code[column.codes[rows]])), shape=(len(column), len(texts)))


def feature_matrix(features: Features, place: dict[str, int], fill: float | None, scale: bool) -> sparse.csr_array:
    """F, (n, d), float32: the numbers, then the indicators of texts; ``place`` is the row of each node.

    Raises:
        ValueError: a node with several rows, or without one; a number that is missing or infinite.
    """
    names, title = features.rows.names, features.rows.title
    repeated = pd.Series(names)[pd.Series(names).duplicated()].unique().tolist()
    if repeated:
        raise ValueError(f"{title} has more than one row for {counted(len(repeated), 'node')}: {some(repeated)}")
    lost = sorted(set(place) - set(names), key=place.__getitem__)
    if lost and fill is None:
        raise ValueError(
            f"{counted(len(lost), 'node')} without a row in {title}: {some(lost)}; add the rows, drop the edges and "
            "labels of these nodes, or fill what is missing with fill=0 (--fill 0)"
        )
    numbers = _filled(features, fill)
    where = [place[name] for name in names]
    spread = sparse.csr_array((np.ones(len(names)), (where, np.arange(len(names)))), shape=(len(place), len(names)))
    matrix = sparse.csr_array(spread @ sparse.hstack([numbers, features.indicators], format="csr"))
    count = numbers.shape[1]
    if lost and fill and count:
        at = np.repeat([place[name] for name in lost], count)
        cells = (np.full(len(at), float(fill)), (at, np.tile(np.arange(count), len(lost))))
        matrix = sparse.csr_array(matrix + sparse.csr_array(cells, shape=matrix.shape))
    if scale:
        matrix = _comparable(matrix, count)
    matrix = matrix.astype(np.float32)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def _filled(features: Features, fill: float | None) -> sparse.csr_array:
    """The numbers with ``fill`` where they are missing."""
    matrix = sparse.csr_array(features.numbers)
    bad = np.flatnonzero(~np.isfinite(matrix.data) if fill is None else np.isinf(matrix.data))
    if len(bad):
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        raise ValueError(
            f"{features.rows.title}: {counted(len(bad), 'number')} missing or infinite, the first for node "
            f"{features.rows.names[row]!r} in column {features.headings[matrix.indices[bad[0]]]}; write numbers there, or fill "
            "those that are missing with fill=0 (--fill 0)"
        )
    if fill is not None:
        matrix.data[np.isnan(matrix.data)] = fill
    return matrix


def _comparable(matrix: sparse.csr_array, numbers: int) -> sparse.csr_array:
    """Columns that can stand beside each other: indicators of quantiles for measurements, parts of the largest for the rest.

    Of the first ``numbers`` columns, those that are mostly zero (words, counts) or have two values keep their zeros. Others, such as
    an age or a year, say little by their size, and nothing once a row is divided by its sum.
    """
    table = sparse.csc_array(matrix)
    table.eliminate_zeros()
    n, d = table.shape
    filled = np.diff(table.indptr)
    bins: dict[int, sparse.csc_array] = {}
    for k in np.flatnonzero(filled[:numbers] > n / 2).tolist():
        inside = slice(table.indptr[k], table.indptr[k + 1])
        column = np.zeros(n)
        column[table.indices[inside]] = table.data[inside]
        if len(np.unique(column)) > 2:
            edges = np.unique(np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1]))
            codes = np.searchsorted(edges, column, side="right")
            bins[k] = sparse.csc_array((np.ones(n), (np.arange(n), codes)), shape=(n, len(edges) + 1))
    largest = np.ones(d)
    if table.nnz:
        largest[filled > 0] = np.maximum.reduceat(np.abs(table.data), table.indptr[:-1][filled > 0])
    table.data /= np.repeat(largest, filled)
    kept = [k for k in range(d) if k not in bins]
    return sparse.csr_array(sparse.hstack([table[:, kept], *bins.values()], format="csr"))
