"""A table of features as a matrix: numbers, indicators of texts, and what can be wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import sparse

if TYPE_CHECKING:
    from .table_files import Table


def feature_matrix(
    table: Table, everyone: list[str], place: dict[str, int], fill: float | None, scale: bool
) -> sparse.csr_array:
    """F, (n, d): the numbers, then the indicators of texts; rows in the order of ``everyone``."""
    names, rest = table.names, table.rest
    if rest.shape[1] == 0:
        raise ValueError(f"{table.title} has no column beside that of the nodes: there is no feature")
    repeated = pd.Series(names)[pd.Series(names).duplicated()].unique().tolist()
    if repeated:
        raise ValueError(f"{table.title} has more than one row for {count(len(repeated), 'node')}: {listed(repeated)}")
    lost = sorted(set(everyone) - set(names), key=place.__getitem__)
    if lost and fill is None:
        raise ValueError(
            f"{count(len(lost), 'node')} without a row in {table.title}: {listed(lost)}; add the rows, drop the edges and "
            "labels of these nodes, or fill what is missing (fill=0)"
        )
    numbers, blocks = [], []
    for k in range(rest.shape[1]):
        column = rest.iloc[:, k]
        if _is_text(column, names, table.title):
            blocks.append(_indicators(column))
        else:
            numbers.append(k)
    if numbers:
        blocks.insert(0, _numbers(rest.iloc[:, numbers], names, table.title, fill))
    where = [place[name] for name in names]
    spread = sparse.csr_array((np.ones(len(names)), (where, np.arange(len(names)))), shape=(len(everyone), len(names)))
    matrix = sparse.csr_array(spread @ sparse.hstack(blocks, format="csr"))
    if lost and fill and numbers:
        at = np.repeat([place[name] for name in lost], len(numbers))
        cells = (np.full(len(at), float(fill)), (at, np.tile(np.arange(len(numbers)), len(lost))))
        matrix = sparse.csr_array(matrix + sparse.csr_array(cells, shape=matrix.shape))
    if scale:
        matrix = _comparable(matrix, len(numbers))
    matrix = matrix.astype(np.float32)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


BINS = 8


def _comparable(matrix: sparse.csr_array, numbers: int) -> sparse.csr_array:
    """Columns that can stand beside each other: indicators of quantiles for measurements, parts of the largest for the rest.

    Of the first ``numbers`` columns, those that are mostly zero (words, counts) or have two values keep their zeros. Others, such as
    an age or a year, say little by their size, and nothing once a row is divided by its sum.
    """
    table = sparse.csc_array(matrix)
    kept, bins = [], []
    for k in range(table.shape[1]):
        column = table[:, [k]].toarray().ravel()
        if k < numbers and np.count_nonzero(column) > len(column) / 2 and len(np.unique(column)) > 2:
            edges = np.unique(np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1]))
            codes = np.searchsorted(edges, column, side="right")
            cells = (np.ones(len(column)), (np.arange(len(column)), codes))
            bins.append(sparse.csc_array(cells, shape=(len(column), len(edges) + 1)))
        else:
            kept.append(table[:, [k]] / (np.abs(column).max() or 1.0))
    return sparse.csr_array(sparse.hstack([*kept, *bins], format="csr"))


def _is_text(column: pd.Series, names: list[str], title: str) -> bool:
    """Whether a column is text, or numbers; an error that says what it is if it is neither."""
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype):
        return False
    if isinstance(column.dtype, pd.CategoricalDtype):
        return True
    values = column.dropna()
    texts = values.map(lambda value: isinstance(value, str))
    if not texts.any() and (values.map(type).isin((int, float, bool)).all() or values.empty):
        return False  # also a column that is empty: its numbers are missing
    if not texts.all():
        other = values[~texts].iloc[0]
        raise ValueError(
            f"{title}: column {column.name} has a {type(other).__name__} ({other!s:.40}); features are numbers or text"
        )
    parsed = pd.to_numeric(values, errors="coerce").notna()
    if len(values) / 2 < parsed.sum() < len(values):
        row = parsed.index.get_loc(parsed.idxmin()) if parsed.index.is_unique else 0
        place = column.index.get_loc(parsed.index[row]) if parsed.index.is_unique else 0
        raise ValueError(
            f"{title}: column {column.name} has numbers, but {values.iloc[row]!r} for node {names[place]!r}; write a number there, or "
            "leave it empty and fill it (fill=0)"
        )
    return True


def _indicators(column: pd.Series) -> sparse.csr_array:
    codes, texts = pd.factorize(column, sort=True)
    rows = np.flatnonzero(codes >= 0)
    return sparse.csr_array((np.ones(len(rows)), (rows, codes[rows])), shape=(len(codes), len(texts)))


def _numbers(frame: pd.DataFrame, names: list[str], title: str, fill: float | None) -> sparse.csr_array:
    if all(isinstance(dtype, pd.SparseDtype) and dtype.fill_value == 0 for dtype in frame.dtypes):
        matrix = sparse.csr_array(frame.sparse.to_coo(), dtype=np.float64)
    else:
        values = np.empty(frame.shape)
        for k in range(frame.shape[1]):
            values[:, k] = frame.iloc[:, k].astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan)
        matrix = sparse.csr_array(values)
    bad = np.flatnonzero(~np.isfinite(matrix.data) if fill is None else np.isinf(matrix.data))
    if len(bad):
        row, column = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1, matrix.indices[bad[0]]
        raise ValueError(
            f"{count(len(bad), 'number')} in {title} missing or infinite, the first for node {names[row]!r} in column "
            f"{frame.columns[column]}; write numbers there, or fill those that are missing (fill=0)"
        )
    if fill is not None:
        matrix.data[np.isnan(matrix.data)] = fill
    return matrix


# Classes --------------------------------------------------------------------------------------------------------


def listed(names: Sequence[object], most: int = 5) -> str:
    """The first few, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def count(number: int, word: str) -> str:
    """So many of something."""
    return f"{number} {word}{'s' * (number != 1)}"
