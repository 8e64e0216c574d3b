"""Files: is one there, which format does its name say, and its bytes without gzip."""

from __future__ import annotations

import gzip
from collections.abc import Collection
from pathlib import Path
from typing import IO, cast

SPREADSHEETS = (".xlsx", ".xls", ".ods")


def ending(path: Path) -> str:
    """The ending that says the format, in lower case: ".csv" for edges.csv and for edges.csv.gz."""
    return (path.with_suffix("").suffix if path.suffix.lower() == ".gz" else path.suffix).lower()


def open_bytes(path: Path) -> IO[bytes]:
    """A file in bytes; .gz is decompressed."""
    return cast(IO[bytes], gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else open(path, "rb")


def check_file(source: str | Path, what: str, endings: Collection[str]) -> Path:
    """The path of a file that exists, is not empty and has one of these endings.

    Args:
        source: the name of the file.
        what: what it holds, for messages: "edges", "states", "features", "labels".
        endings: those of the formats that can hold it.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is a folder, is empty, or has another ending.
    """
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path} to read {what} from")
    if not path.is_file():
        raise ValueError(f"{path} is a folder or device; give the file with the {what}")
    if ending(path) not in endings:
        also = "; save a spreadsheet as CSV" if ending(path) in SPREADSHEETS else ""
        raise ValueError(f"{path.name}: {what} are read from files that end in {', '.join(sorted(endings))}{also}")
    if path.stat().st_size == 0:
        raise ValueError(f"{path.name} is empty (0 bytes); export the {what} again")
    return path
