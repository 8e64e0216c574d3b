"""Table: one way to look at text files, Parquet files and pandas tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from .._support.wording import short
from ..data import looks_like_dates
from .cells import Names, is_missing, number, plain
from .notation import Notation, notation_of
from .refusals import refuse

FEW = 1000  # distinct cells up to which Python's own parsing is quick enough to need no pandas


@dataclass(frozen=True)
class HeaderHint:
    """What is known of a table before it is read.

    Attributes:
        names: usual names of columns, in small letters; a first row that holds some is a header.
        absent: whether the file is known to have no header.
        missing: words for a missing value besides the usual ones, capitals do not matter; None where the user cannot give any.
        decimal: the decimal mark, "." or ","; empty to find it out.
    """

    names: Collection[str] = ()
    absent: bool = False
    missing: Collection[str] | None = None
    decimal: str = ""


class Table(ABC):
    """Columns with names, which are loaded once it is known what they are for.

    Attributes:
        title: what messages call it: the name of the file.
        columns: their names; "" for one without.
        headed: whether the names come from the table.
        notes: what was noticed on the way.
        hint: what was known before.
    """

    title: str
    columns: list[str]
    headed: bool = True
    notes: list[str]
    hint: HeaderHint = HeaderHint()

    @abstractmethod
    def sample(self, k: int) -> list[str]:
        """The first cells of a column, as text."""

    @abstractmethod
    def load(self, roles: Mapping[int, str]) -> dict[int, Any]:
        """Columns by position: ``Names`` for the role "name", float64 with NaN where missing for "number".

        Raises:
            ValueError: rows of other lengths, text in numbers; the message names file, line and column.
        """

    @abstractmethod
    def places(self, rows: Sequence[int]) -> list[str]:
        """Where rows are in the file, for messages: "line 17"."""

    def declared(self, k: int) -> str | None:
        """The kind that a column's type says: "number", "date", "text", or "other" (durations, lists); None without types."""
        return None

    def kind(self, k: int) -> str:
        """What a column holds: "number", "date", "text", or "empty"; by its type, else by its first cells."""
        declared = self.declared(k)
        if declared in ("number", "date"):
            return declared
        cells = Counter(cell for cell in self.sample(k) if not self.is_missing(cell))
        filled = cells.total()
        if not filled:
            return "empty"
        way = self.notation(cells)
        if sum(count for cell, count in cells.items() if self.number(cell, way) is not None) * 2 > filled:
            return "number"
        return "date" if looks_like_dates(list(cells.elements())) else "text"

    def is_missing(self, cell: str) -> bool:
        """Whether a cell says that there is no value, in a usual word or in one that the user gave."""
        return is_missing(cell) or (bool(self._words) and cell.strip().casefold() in self._words)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(word.strip().casefold() for word in self.hint.missing or ())

    @property
    def marks(self) -> tuple[str, str]:
        """The decimal mark that is certain, or "", and the one to take where nothing decides."""
        return self.hint.decimal, self.hint.decimal or "."

    def notation(self, cells: Collection[str]) -> Notation:
        """How the numbers of a column are written, by its cells and by what is known of the table."""
        return notation_of(cells, *self.marks)

    def number(self, cell: str, way: Notation | None = None) -> float | None:
        """The number in a cell, written as the others of its column; NaN if it is missing, None if it is something else."""
        if self._words and self.is_missing(cell):
            return float("nan")
        return number(cell, self.marks[1]) if way is None else number(cell, way.decimal, way.thousands)

    def name(self, k: int) -> str:
        """What messages call a column."""
        return repr(self.columns[k]) if self.columns[k] else f"number {k + 1}"

    def place(self, row: int) -> str:
        """Where a row is in the file: "edges.csv line 17"."""
        return f"{self.title} {self.places([row])[0]}"

    def share_of_names(self, k: int, names: Collection[str]) -> float:
        """The share of a column's first cells that are among these names; 7.0 is taken as 7."""
        cells = [plain(cell).removesuffix(".0") for cell in self.sample(k)]
        return sum(cell in names for cell in cells) / max(1, len(cells))

    def listed(self) -> str:
        """The names of the first columns, for messages."""
        count = len(self.columns)
        shown = ", ".join(self.name(k) for k in range(min(12, count)))
        return shown if count <= 12 else f"{shown} and {count - 12} more"

    def numbers_of(self, cells: Names, k: int) -> np.ndarray:
        """Numbers from a column that was read as text.

        Raises:
            ValueError: some cells hold no number; the message shows the first of them.
        """
        values, way = np.full(len(cells.labels), np.nan), self.notation(cells.labels)
        if way.decimal == "." and way.thousands != "." and len(cells.labels) > FEW:
            known = pd.to_numeric(pd.Series(cells.labels, dtype=object), errors="coerce")
            values = known.to_numpy(np.float64, copy=True)
        # what pandas does not take for a number may still be one: 1,5 or a word for missing
        read = {code: self.number(cells.labels[code], way) for code in np.flatnonzero(np.isnan(values)).tolist()}
        for code, value in read.items():
            values[code] = np.nan if value is None else value
        bad = [code for code, value in read.items() if value is None]
        if bad:
            rows = self.faulty[k] = np.flatnonzero(np.isin(cells.codes, bad))
            given = f", or say so with --missing {short(cells.texts(rows[:1])[0])}"
            refuse(
                f"{self.title}: column {self.name(k)} must hold numbers, but {len(rows)} cell{'s' * (len(rows) > 1)} "
                f"{'do' if len(rows) > 1 else 'does'} not ({self.shown(cells, rows)}); correct them, or leave them empty where "
                f"the value is missing{'' if self.hint.missing is None else given}"
            )
        elif way.remark:
            self._remarks.setdefault((way.thousands, way.doubtful), []).append((k, way))
        return np.append(values, np.nan)[cells.codes]

    @cached_property
    def faulty(self) -> dict[int, np.ndarray]:
        """Rows by column whose cells were refused: that they are empty afterwards is no other problem."""
        return {}

    def unrefused(self, k: int, rows: np.ndarray) -> np.ndarray:
        """Those of some rows whose cell in a column was not refused before."""
        return rows if k not in self.faulty else np.setdiff1d(rows, self.faulty[k])

    @cached_property
    def _remarks(self) -> dict[tuple[str, bool], list[tuple[int, Notation]]]:
        """Columns whose numbers are written in a way that is to be said."""
        return {}

    def tell_notation(self) -> None:
        """Add to the notes how numbers are written, once for all columns that were loaded."""
        for found in self._remarks.values():
            way, names = found[0][1], [self.name(k) for k, _ in found]
            others = f" and {len(names) - 5} more" if len(names) > 5 else ""
            where = f"column {names[0]}" if len(names) == 1 else f"columns {', '.join(names[:5])}{others}"
            self.notes.append(f"{self.title}: {where}: {way.remark}")
        self._remarks.clear()

    def shown(self, cells: Names, rows: np.ndarray) -> str:
        """The first three of some rows of a column, for messages: "line 17: 'x'"."""
        places = self.places(rows[:3].tolist())
        texts = cells.texts(rows[:3])
        return ", ".join(f"{place}: {text[:40]!r}" for place, text in zip(places, texts, strict=True))


def refuse_unnamed(table: Table, k: int, rows: np.ndarray) -> None:
    """Refuse rows whose cell in column k must name a node and is empty."""
    where = f"{table.place(int(rows[0]))}: column {table.name(k)} must name a node and is empty"
    refuse(f"{where} ({len(rows)} such rows in all); fill it in or drop the row")
