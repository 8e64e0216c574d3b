"""Table: one way to look at text files, Parquet files and pandas tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.types as types

from ..data import looks_like_dates
from .columns import Names, is_missing, number

TEXTS = (".csv", ".tsv", ".txt", ".tab", ".dat", ".edges", ".edgelist", ".ssv", ".psv")
PARQUET = (".parquet", ".pq")


class Table(ABC):
    """Columns with names, which are loaded once it is known what they are for.

    Attributes:
        title: what messages call it: the name of the file.
        columns: their names; "" for one without.
        headed: whether the names come from the table.
        notes: what was noticed on the way.
    """

    title: str
    columns: list[str]
    headed: bool = True
    notes: list[str]

    @abstractmethod
    def sample(self, k: int) -> list[str]:
        """The first cells of a column, as text."""

    @abstractmethod
    def load(self, roles: Mapping[int, str]) -> dict[int, Any]:
        """Columns by place: ``Names`` for the role "name", float64 with NaN where missing for "number".

        Raises:
            ValueError: rows of other lengths, text in numbers; the message names file, line and column.
        """

    @abstractmethod
    def places(self, rows: Sequence[int]) -> list[str]:
        """Where rows are in the file, for messages: "line 17"."""

    def kind(self, k: int) -> str:
        """What a column seems to hold: "number", "date", "text", or "empty"."""
        cells = [cell for cell in self.sample(k) if not is_missing(cell)]
        if not cells:
            return "empty"
        if looks_like_dates(cells):
            return "date"
        return "number" if sum(self.number(cell) is not None for cell in cells) * 2 > len(cells) else "text"

    def number(self, cell: str) -> float | None:
        """What number a cell holds."""
        return number(cell)

    def name(self, k: int) -> str:
        """What messages call a column."""
        return repr(self.columns[k]) if self.columns[k] else f"number {k + 1}"

    def place(self, row: int) -> str:
        """Where a row is in the file: "edges.csv line 17"."""
        return f"{self.title} {self.places([row])[0]}"


class ArrowTable(Table):
    """A Parquet file or a pandas table."""

    def __init__(self, table: pa.Table, title: str) -> None:
        self.table, self.title, self.notes = table, title, []
        self.columns = [str(name) for name in table.column_names]

    def sample(self, k: int) -> list[str]:
        """The first cells of a column, as text."""
        return [
            "" if value is None or value != value else str(value) for value in self.table.column(k)[:500].to_pylist()
        ]

    def kind(self, k: int) -> str:
        """What a column holds, by its type where that says it."""
        t = self.table.schema.field(k).type
        if types.is_timestamp(t) or types.is_date(t):
            return "date"
        return "number" if _is_number(t) else super().kind(k)

    def load(self, roles: Mapping[int, str]) -> dict[int, Any]:
        """See ``Table.load``."""
        return {k: self._names(k) if role == "name" else self._numbers(k) for k, role in roles.items()}

    def _names(self, k: int) -> Names:
        column = self.table.column(k)
        if types.is_timestamp(column.type) and column.type.tz:
            column = column.cast(pa.timestamp("ms", column.type.tz), safe=False).cast(pa.string())
        elif types.is_timestamp(column.type) or types.is_date(column.type):
            column = column.cast(pa.timestamp("ms"), safe=False).cast(pa.string())
        if types.is_nested(column.type):
            raise ValueError(
                f"{self.title}: column {self.name(k)} holds lists or records; keep one plain value in a cell"
            )
        return names_of(column)

    def _numbers(self, k: int) -> np.ndarray:
        column = self.table.column(k)
        if _is_number(column.type):
            column = column.cast(pa.float64(), safe=False)
            return np.array(column.to_numpy(), dtype=np.float64)
        if pa.types.is_nested(column.type) or pa.types.is_temporal(column.type):
            raise ValueError(f"{self.title}: column {self.name(k)} must hold numbers, and holds {column.type}")
        return numbers_of(self._names(k), self, k)

    def places(self, rows: Sequence[int]) -> list[str]:
        """Rows are counted from 1."""
        return [f"row {row + 1}" for row in rows]


def _is_number(t: pa.DataType) -> bool:
    return bool(types.is_integer(t) or types.is_floating(t) or types.is_boolean(t) or types.is_decimal(t))


def names_of(column: pa.ChunkedArray, *, raw: bool = False) -> Names:
    """A column of Arrow as names, made plain unless ``raw``."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return Names(np.empty(0, dtype=np.int32), [])
    parts = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in column.chunks]
    codes = np.concatenate(parts) if len(parts) > 1 else np.array(parts[0])
    codes, labels = codes.astype(np.int32, copy=False), column.chunk(0).dictionary.to_pylist()
    return Names(codes, labels) if raw else Names.of(codes, labels)


def numbers_of(cells: Names, table: Table, k: int) -> np.ndarray:
    """Numbers from a column that was read as text, cell by cell; or an error that shows what is no number."""
    # what pandas does not take for a number may still be one: 1,5 or a word for missing
    values = np.full(len(cells.labels), np.nan)
    if table.number("1.5") == 1.5 and len(cells.labels) > 1000:
        values = pd.to_numeric(pd.Series(cells.labels, dtype=object), errors="coerce").to_numpy(np.float64, copy=True)
    bad = []
    for code in np.flatnonzero(np.isnan(values)).tolist():
        value = table.number(cells.labels[code])
        if value is None:
            bad.append(code)
        else:
            values[code] = value
    if bad:
        rows = np.flatnonzero(np.isin(cells.codes, bad))
        where = table.places(rows[:3].tolist())
        shown = ", ".join(f"{place}: {text[:40]!r}" for place, text in zip(where, cells.texts(rows[:3]), strict=True))
        raise ValueError(
            f"{table.title}: column {table.name(k)} must hold numbers, but {len(rows)} cell{'s' * (len(rows) > 1)} "
            f"{'do' if len(rows) > 1 else 'does'} not ({shown}); correct them, or leave them empty where the value is missing"
        )
    return np.append(values, np.nan)[cells.codes]


def ending(path: Path) -> str:
    """What the name of a file ends in, before .gz."""
    return (path.with_suffix("").suffix if path.suffix.lower() == ".gz" else path.suffix).lower()


def check_file(source: str | Path, what: str, endings: Collection[str]) -> Path:
    """A file that is there and whose name says a format that is read, or an error."""
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path} to read {what} from")
    if not path.is_file():
        raise ValueError(f"{path} is a folder or device; give the file with the {what}")
    if ending(path) not in endings:
        also = "; save a spreadsheet as CSV" if ending(path) in (".xlsx", ".xls", ".ods") else ""
        raise ValueError(f"{path.name}: {what} are read from files that end in {', '.join(sorted(endings))}{also}")
    if path.stat().st_size == 0:
        raise ValueError(f"{path.name} is empty (0 bytes); export the {what} again")
    return path


def one_line(error: BaseException, width: int = 200) -> str:
    """The message of another library's error, in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= width else text[:width] + "..."
