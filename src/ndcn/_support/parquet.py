"""Parquet tables whose size is known before they are read: a few bytes can say a number a billion times."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet

from .limits import check_growth, check_width


def read_parquet(source: Path | bytes, title: str) -> pa.Table:
    """The table in a Parquet file, or in its bytes; ``title`` is for messages.

    Raises:
        ValueError: it would take far more memory than the file, or is damaged.
        OSError: it cannot be read.
    """
    size = len(source) if isinstance(source, bytes) else source.stat().st_size
    opened = pa.BufferReader(source) if isinstance(source, bytes) else source
    about = parquet.read_metadata(opened)
    check_width(about.num_columns, title)
    check_growth(about.num_rows * about.num_columns * 8, size, title, "write it as CSV")
    texts = [
        about.schema.column(k).path
        for k in range(about.num_columns)
        if about.schema.column(k).physical_type == "BYTE_ARRAY"
    ]
    if isinstance(source, bytes):
        opened = pa.BufferReader(source)
    table = parquet.read_table(opened, read_dictionary=texts)  # a long text that repeats is kept once
    table.validate(full=True)  # a damaged file can hold indices out of range, which crash later on
    return table
