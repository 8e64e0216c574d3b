"""CSV, TSV and other text tables: read fast where they are in order, and explained where they are not."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv

from ..arrow_table import names_of
from ..cells import MISSING, Names
from ..files import one_line, open_bytes
from ..refusals import refuse
from ..table import HeaderHint, Table
from .text_detection import BLANKS, SEPARATORS, detect, rows_of

BLOCK = 1 << 24  # bytes that Arrow parses at once; a row must fit into one block
UTF8 = ("utf-8", "utf-8-sig")


class TextTable(Table):
    """A text file with a row in each line.

    It is read by Arrow in one go. Where that fails, columns of numbers are read as text and understood cell by cell, and
    rows of the wrong length are looked for, so that the message can say which line is wrong.
    """

    def __init__(self, path: Path, hint: HeaderHint) -> None:
        self.path, self.title, self.hint, self.notes = path, path.name, hint, []
        self.skipping = False  # whether rows of the wrong length are passed over, while problems are collected
        self._detect()
        if self.form.invalid and self.form.encoding in UTF8:
            self._detect_without_utf8()

    def _detect(self, encoding: str | None = None) -> None:
        self.form = form = detect(self.path, self.hint, encoding)
        self.headed = form.header is not None
        self.columns = [""] * form.width if form.header is None else list(form.header)

    def sample(self, k: int) -> list[str]:
        """The first cells of a column."""
        return [row[k] if k < len(row) else "" for row in self.form.sample]

    @property
    def marks(self) -> tuple[str, str]:
        """By the cells of all columns at the beginning."""
        return self.form.sure, self.form.decimal

    def load(self, roles: Mapping[int, str]) -> dict[int, Any]:
        """See ``Table.load``."""
        out = self._load(roles)
        late = [k for k, role in roles.items() if role == "number" and self._fractions_are_late(k, out[k])]
        if late:  # 1.234 after whole numbers only: all cells decide whether that is a thousand
            out |= self._columns(
                self._read(dict.fromkeys(late, "number"), numbers=False), dict.fromkeys(late, "number")
            )
        self.tell_notation()
        return out

    def _fractions_are_late(self, k: int, values: np.ndarray) -> bool:
        """Whether no cell of the beginning has a mark and later ones have."""
        if (
            self.form.sure
            or self.form.separator == BLANKS
            or any("." in cell or "," in cell for cell in self.sample(k))
        ):
            return False
        there = values[np.isfinite(values)]
        return bool((there != np.round(there)).any())

    def _load(self, roles: Mapping[int, str]) -> dict[int, Any]:
        if self.form.separator == BLANKS:
            return self._load_blank_separated(roles)
        try:
            try:
                return self._columns(self._read(roles, numbers=True), roles)
            except pa.ArrowInvalid:
                return self._columns(self._read(roles, numbers=False), roles)
        except pa.ArrowInvalid as error:
            if self.form.encoding in UTF8 and self._first_invalid_line("utf-8") is not None:
                self._detect_without_utf8()
                return self._load(roles)
            if not self.skipping and self._check_widths():
                return self._load(roles)
            raise ValueError(f"{self.title} cannot be read: {one_line(error)}") from None
        except UnicodeError as error:
            raise ValueError(f"{self.title} is no valid {self.form.encoding}: {error}; save it as UTF-8") from None

    def _read(self, roles: Mapping[int, str], *, numbers: bool) -> pa.Table:
        text = pa.dictionary(pa.int32(), pa.string())
        as_text = {k for k, role in roles.items() if role == "name" or not numbers or self._needs_a_look(k)}
        wanted = {f"c{k}": text if k in as_text else pa.float64() for k in roles}
        names = [f"c{k}" for k in range(self.form.width)]
        encoding = self.form.encoding.removesuffix("-sig")
        read = pacsv.ReadOptions(column_names=names, skip_rows=self.form.skip, encoding=encoding, block_size=BLOCK)
        parse = pacsv.ParseOptions(delimiter=self.form.separator, newlines_in_values=not numbers)
        if self.skipping:
            parse.invalid_row_handler = lambda row: "skip"
        convert = pacsv.ConvertOptions(
            column_types=wanted,
            include_columns=list(wanted),
            null_values=[*MISSING, *(self.hint.missing or ())],
            strings_can_be_null=False,
            decimal_point=self.form.decimal,
        )
        return pacsv.read_csv(self.path, read_options=read, parse_options=parse, convert_options=convert)

    def _needs_a_look(self, k: int) -> bool:
        """Whether numbers are not written as Arrow reads them, or could be meant otherwise."""
        way = self.notation(self.sample(k))
        return bool(way.thousands) or way.doubtful

    def _columns(self, table: pa.Table, roles: Mapping[int, str]) -> dict[int, Any]:
        out: dict[int, Any] = {}
        for k, role in roles.items():
            column = table.column(f"c{k}")
            if role == "name":
                out[k] = names_of(column)
            elif pa.types.is_dictionary(column.type):
                out[k] = self.numbers_of(names_of(column, raw=True), k)
            else:
                out[k] = np.array(column.to_numpy(), dtype=np.float64)
        return out

    def _load_blank_separated(self, roles: Mapping[int, str]) -> dict[int, Any]:
        """Columns separated by any number of blanks, which Arrow does not read."""
        if self._check_widths():
            whole = [row for _, row in rows_of(self.path, self.form) if len(row) == self.form.width]
            frame = pd.DataFrame(whole, columns=range(self.form.width), dtype=object)
        else:
            frame = self._read_blank_separated(roles)
        out: dict[int, Any] = {}
        for k, role in roles.items():
            codes, labels = pd.factorize(frame[k])
            names = Names.of(codes.astype(np.int32), list(labels))
            out[k] = names if role == "name" else self.numbers_of(names, k)
        return out

    def _read_blank_separated(self, roles: Mapping[int, str]) -> pd.DataFrame:
        try:
            return pd.read_csv(
                self.path,
                sep=r"\s+",
                header=None,
                skiprows=self.form.skip,
                usecols=list(roles),
                dtype=str,
                keep_default_na=False,
                quoting=3,
                encoding=self.form.encoding,
                encoding_errors="replace",
                compression="infer",
            )
        except pd.errors.EmptyDataError:
            return pd.DataFrame({k: pd.Series(dtype=str) for k in roles})

    def places(self, rows: Sequence[int]) -> list[str]:
        """The lines on which rows begin, counted from 1."""
        every = rows_of(self.path, self.form)
        whole = (row for row in every if len(row[1]) == self.form.width) if self.skipping else every
        read = itertools.islice(whole, max(rows, default=-1) + 1)
        found = {row: f"line {line}" for row, (line, _) in enumerate(read) if row in rows}
        return [found.get(row, f"row {row + 1}") for row in rows]

    def _check_widths(self) -> bool:
        """Refuse rows that are longer or shorter than the others; whether there are some, which are skipped from then on."""
        width = self.form.width
        wrong = ((line, len(row)) for line, row in rows_of(self.path, self.form) if len(row) != width)
        first = list(itertools.islice(wrong, 3))
        if first:
            shown = ", ".join(f"line {line} has {count}" for line, count in first)
            sign = SEPARATORS[self.form.separator]
            where = (
                f"{self.title}: rows must have {width} columns separated by {sign}, but {shown}; correct these lines"
            )
            quotes = f'a cell with a {sign} in it needs quotes ("..."), and a quote that is opened must be closed'
            refuse(f"{where}: {quotes}")
            self.skipping = True
        return self.skipping

    def _detect_without_utf8(self) -> None:
        """Detect the form anew in the encoding of old Windows programs, or in Latin-1, which every byte fits."""
        line = self._first_invalid_line("utf-8")
        self._detect("cp1252" if self._first_invalid_line("cp1252") is None else "latin-1")
        self.notes.append(
            f"{self.title} is not UTF-8 (line {line}); it is read as {self.form.encoding}: if names look wrong, save it as UTF-8"
        )

    def _first_invalid_line(self, encoding: str) -> int | None:
        with open_bytes(self.path) as file:
            for line, raw in enumerate(file, start=1):
                try:
                    raw.decode(encoding)
                except UnicodeDecodeError:
                    return line
        return None
