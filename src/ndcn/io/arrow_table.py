"""ArrowTable: a table whose columns have types, from Parquet, NetCDF or pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.types as types

from .cells import Names
from .table import Table

SAMPLE = 500  # rows from which the kind of a column of text is judged, as many as of a text file


class ArrowTable(Table):
    """A table of Arrow."""

    def __init__(self, table: pa.Table, title: str) -> None:
        self.table, self.title, self.notes = table, title, []
        self.columns = [str(name) for name in table.column_names]

    @classmethod
    def from_pandas(cls, source: pd.DataFrame, title: str) -> ArrowTable:
        """A pandas table; a named index, or one of dates, becomes columns.

        Raises:
            ValueError: two columns of the same name, or complex numbers.
        """
        named = source.index.name is not None or isinstance(source.index, pd.MultiIndex)
        dated = isinstance(source.index, (pd.DatetimeIndex, pd.PeriodIndex))
        frame = source.reset_index() if named or dated else source
        frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
        if frame.columns.has_duplicates:
            twice = frame.columns[frame.columns.duplicated()][0]
            raise ValueError(f"{title} has two columns called {twice!r}; rename one")
        try:
            return cls(pa.Table.from_pandas(frame, preserve_index=False), title)
        except (pa.ArrowException, TypeError):  # a column that Arrow has no type for
            return cls(pa.table({name: _converted(frame[name], title) for name in frame}), title)

    def sample(self, k: int) -> list[str]:
        """The first cells of a column, as text."""
        cells = self.table.column(k)[:SAMPLE].to_pylist()
        return ["" if value is None or value != value else str(value) for value in cells]

    def declared(self, k: int) -> str | None:
        """The kind that the type of a column says."""
        t = self.table.schema.field(k).type
        if types.is_timestamp(t) or types.is_date(t):
            return "date"
        if _is_number(t):
            return "number"
        if types.is_nested(t) or types.is_temporal(t):
            return "other"
        return "text" if types.is_string(t) or types.is_large_string(t) or types.is_dictionary(t) else None

    def load(self, roles: Mapping[int, str]) -> dict[int, Any]:
        """See ``Table.load``."""
        out = {k: self._names(k) if role == "name" else self._numbers(k) for k, role in roles.items()}
        self.tell_notation()
        return out

    def _names(self, k: int) -> Names:
        column = self.table.column(k)
        if types.is_null(column.type):  # a column in which every cell is missing
            column = column.cast(pa.string())
        if self.declared(k) == "date":
            zone = column.type.tz if types.is_timestamp(column.type) else None
            column = column.cast(pa.timestamp("ms", zone), safe=False).cast(pa.string())
        if types.is_nested(column.type):
            raise ValueError(f"{self.title}: column {self.name(k)} holds lists or records; keep one value in a cell")
        return names_of(column)

    def _numbers(self, k: int) -> np.ndarray:
        column = self.table.column(k)
        if _is_number(column.type):
            return np.array(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
        if types.is_nested(column.type) or types.is_temporal(column.type):
            title = f"{self.title}: column {self.name(k)}"
            raise ValueError(f"{title} must hold numbers, and holds {column.type}; convert or drop it")
        return self.numbers_of(self._names(k), k)

    def places(self, rows: Sequence[int]) -> list[str]:
        """Rows are counted from 1."""
        return [f"row {row + 1}" for row in rows]


def _converted(column: pd.Series, title: str) -> pa.Array:
    """A column as Arrow has it: sparse ones in full, cells of several kinds as text."""
    if isinstance(column.dtype, pd.SparseDtype):
        column = column.sparse.to_dense()
    if pd.api.types.is_complex_dtype(column.dtype):
        why = f"column {column.name!r} holds complex numbers"
        raise ValueError(f"{title}: {why}; keep real and imaginary part as two columns")
    try:
        return pa.Array.from_pandas(column)
    except (pa.ArrowException, TypeError):
        return pa.array([None if gone else str(x) for x, gone in zip(column, column.isna(), strict=True)], pa.string())


def _is_number(t: pa.DataType) -> bool:
    return bool(types.is_integer(t) or types.is_floating(t) or types.is_boolean(t) or types.is_decimal(t))


def names_of(column: pa.ChunkedArray, *, raw: bool = False) -> Names:
    """A column of Arrow as names, made plain unless ``raw``."""
    if not types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return Names(np.empty(0, dtype=np.int32), [])
    parts = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in column.chunks]
    codes = np.concatenate(parts) if len(parts) > 1 else np.array(parts[0])
    codes, labels = codes.astype(np.int32, copy=False), column.chunk(0).dictionary.to_pylist()
    return Names(codes, labels) if raw else Names.of(codes, labels)
