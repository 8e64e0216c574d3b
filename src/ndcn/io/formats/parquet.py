"""Parquet (.parquet, .pq): a table with types."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as parquet

from ..arrow_table import ArrowTable
from ..parse_errors import parsing
from ..table import HeaderHint


def read(path: Path, hint: HeaderHint) -> ArrowTable:
    """The table in a Parquet file; the file itself names its columns, so that the hint is not used.

    Raises:
        ValueError: it cannot be read.
    """
    with parsing(path, "Parquet", "write it again"):
        table = parquet.read_table(path)
        table.validate(full=True)  # a damaged file can hold indices out of range, which crash later on
    return ArrowTable(table, path.name)
