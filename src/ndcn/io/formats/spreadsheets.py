"""Excel workbooks (.xlsx, .xlsm, .xls): the first sheet with a table, or the one named as in states.xlsx:Sheet2."""

from __future__ import annotations

import datetime
import io
import zipfile
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa

from ..arrow_table import SAMPLE, ArrowTable
from ..cells import is_missing
from ..files import file_and_sheet, parsing
from ..table import HeaderHint
from .text_detection import header_of

MOST_BYTES = 1 << 30  # of an unpacked workbook; the largest sheet that Excel makes is smaller when it holds numbers


class SheetTable(ArrowTable):
    """A table on a sheet, whose rows go by their numbers there."""

    def __init__(self, table: pa.Table, title: str, first: int, headed: bool) -> None:
        super().__init__(table, title)
        self.first, self.headed = first, headed
        if not headed:
            self.columns = [""] * len(self.columns)

    def places(self, rows: Sequence[int]) -> list[str]:
        """Rows as Excel numbers them."""
        return [f"row {row + self.first}" for row in rows]


def read_excel(path: Path, hint: HeaderHint) -> SheetTable:
    """A sheet of an Excel workbook.

    Raises:
        ModuleNotFoundError: the extra ``excel`` is not installed.
        ValueError: it cannot be read, has no such sheet, or no sheet holds a table.
    """
    file, sheet = file_and_sheet(path)
    _refuse_bombs(file)
    sheets = _sheets(file)
    if sheet is not None and sheet not in sheets:
        raise ValueError(f"{file.name} has no sheet {sheet!r}; its sheets are {', '.join(map(repr, sheets))}")
    tables = {name: _trimmed(cells) for name, cells in sheets.items() if sheet in (None, name)}
    with_data = [name for name, cells in tables.items() if cells.shape[0] > 1 and cells.shape[1] > 1]
    if not with_data:
        which = "sheet" if sheet is None else f"sheet {sheet!r}"
        raise ValueError(f"{file.name}: no {which} holds a table; expected at least two columns and two rows")
    table = _table(tables[with_data[0]], path.name, hint)
    if len(with_data) > 1:
        others = ", ".join(repr(name) for name in with_data[1:6])
        table.notes.append(f"{file.name}: sheet {with_data[0]!r} is read; name another as {file.name}:SHEET ({others})")
    return table


def _sheets(file: Path) -> dict[str, pd.DataFrame]:
    """The cells of each sheet, as they are."""
    engine: Literal["openpyxl", "xlrd"] = "openpyxl" if zipfile.is_zipfile(file) else "xlrd"  # whatever the ending says
    if find_spec(engine) is None:
        raise ModuleNotFoundError(f"{file.name}: Excel files need an extra: pip install 'ndcn[excel]'")
    quiet: dict[str, Any] = {"logfile": io.StringIO()} if engine == "xlrd" else {}  # xlrd prints on standard output
    with parsing(file, "Excel", "save it again, or as CSV"):
        sheets = pd.read_excel(
            file, sheet_name=None, header=None, dtype=object, keep_default_na=False, engine=engine, engine_kwargs=quiet
        )
    return dict(sheets)


def _refuse_bombs(file: Path) -> None:
    if zipfile.is_zipfile(file):
        with parsing(file, "Excel", "save it again, or as CSV"), zipfile.ZipFile(file) as parts:
            size = sum(part.file_size for part in parts.infolist())
        if size > MOST_BYTES:
            raise ValueError(f"{file.name} unpacks to {size / 1e9:.2g} GB, too much for a workbook; save it as CSV")


def _trimmed(cells: pd.DataFrame) -> pd.DataFrame:
    """Without empty columns, and without empty rows at the beginning and the end."""
    filled = cells.map(lambda cell: _text(cell) != "").to_numpy(dtype=bool)
    rows = np.flatnonzero(filled.any(axis=1)) if filled.size else np.empty(0, dtype=int)
    if not len(rows):
        return cells.iloc[:0, :0]
    return cells.iloc[rows[0] : rows[-1] + 1, np.flatnonzero(filled.any(axis=0))]


def _table(cells: pd.DataFrame, title: str, hint: HeaderHint) -> SheetTable:
    """The table among some cells: titles above it fill one cell or two of many."""
    width = cells.shape[1]
    sizes = cells.map(lambda cell: _text(cell) != "").sum(axis=1).to_numpy()
    begin = next((k for k, size in enumerate(sizes) if size > 1 and 2 * size > width), 0)
    cells = cells.iloc[begin:]
    rows = [[_text(cell) for cell in row] for row in cells.iloc[: SAMPLE + 1].itertuples(index=False, name=None)]
    header = None if hint.absent else header_of(rows, hint.names, width, ".")
    body = cells if header is None else cells.iloc[1:]
    names = [str(k) for k in range(width)] if header is None else list(header)
    if len(set(names)) < len(names) and any(names.count(name) > 1 for name in names if name):
        twice = next(name for name in names if name and names.count(name) > 1)
        raise ValueError(f"{title} has two columns called {twice!r}; rename one")
    columns = [_column(body.iloc[:, k], hint.missing or ()) for k in range(width)]
    first = int(body.index[0]) + 1 if len(body) else 0
    return SheetTable(pa.Table.from_arrays(columns, names=names), title, first, header is not None)


def _column(cells: pd.Series, words: Collection[str]) -> pa.Array:
    """Numbers or dates where all cells are that do not say that a value is missing; else text, as it would be written."""
    absent = {word.casefold() for word in words}
    gone = [is_missing(text) or text.casefold() in absent for text in map(_text, cells)]
    filled = [cell for cell, no in zip(cells, gone, strict=True) if not no]
    if all(isinstance(cell, (int, float)) and not isinstance(cell, bool) for cell in filled):
        return pa.array([None if no else float(cell) for cell, no in zip(cells, gone, strict=True)], pa.float64())
    if all(isinstance(cell, datetime.datetime) for cell in filled):
        return pa.array([None if no else cell for cell, no in zip(cells, gone, strict=True)], pa.timestamp("ms"))
    return pa.array([_text(cell) or None for cell in cells], pa.string())


def _text(cell: Any) -> str:
    """A cell as text; a day without its midnight."""
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return str(cell).strip().removesuffix(" 00:00:00")
