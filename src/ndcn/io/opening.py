"""Tables from files of any format, and from pandas."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet

from .table import PARQUET, ArrowTable, Table, ending, one_line
from .text import TextTable


def open_table(source: Any, words: Collection[str], what: str, *, headless: bool = False) -> Table:
    """A file or a pandas table, ready to be looked at.

    Args:
        source: the name of a file, or a pandas table.
        words: names of columns by which a header is known.
        what: what it holds, for messages: "edges" or "states".
        headless: that a text file has no header, where it is known.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is empty or not readable.
    """
    if isinstance(source, pd.DataFrame):
        named = source.index.name is not None or isinstance(source.index, pd.MultiIndex)
        dated = isinstance(source.index, (pd.DatetimeIndex, pd.PeriodIndex))
        frame = source.reset_index() if named or dated else source
        frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
        if frame.columns.has_duplicates:
            twice = frame.columns[frame.columns.duplicated()][0]
            raise ValueError(f"the table of {what} has two columns called {twice!r}; rename one")
        try:
            return ArrowTable(pa.Table.from_pandas(frame, preserve_index=False), f"the table of {what}")
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):  # cells of several kinds: as text
            texts = frame.map(lambda cell: None if pd.isna(cell) else str(cell))
            return ArrowTable(pa.Table.from_pandas(texts, preserve_index=False), f"the table of {what}")
    path = Path(source)
    if ending(path) in PARQUET:
        try:
            table = parquet.read_table(path)
            table.validate(full=True)
            return ArrowTable(table, path.name)
        except (pa.ArrowException, UnicodeError, KeyError, OSError) as error:
            raise ValueError(f"{path.name} cannot be read as Parquet: {one_line(error)}; write it again") from None
    return TextTable(path, words, headless)
