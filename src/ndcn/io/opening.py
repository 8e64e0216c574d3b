"""open_table: a Table from a file of any table format, or from pandas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from .._support.registries import TABLE_FORMATS
from .arrow_table import ArrowTable
from .files import check_file, ending
from .table import HeaderHint, Table


def open_table(source: Any, what: str, hint: HeaderHint) -> Table:
    """A file or a pandas table, ready to be looked at.

    Args:
        source: the name of a file, or a pandas table.
        what: what it holds, for messages: "edges", "states", "features", "labels".
        hint: what is known of a header.

    Raises:
        FileNotFoundError: there is no such file.
        TypeError: the source is neither.
        ValueError: it is empty or not readable.
    """
    if isinstance(source, pd.DataFrame):
        return ArrowTable.from_pandas(source, f"the table of {what}")
    if not isinstance(source, (str, Path)):
        raise TypeError(f"{what} must be the name of a file or a pandas table, got {type(source).__name__}")
    path = check_file(source, what, TABLE_FORMATS)
    table: Table = TABLE_FORMATS[ending(path)](path, hint)
    return table
