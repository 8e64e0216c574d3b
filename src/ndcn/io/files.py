"""Files: is one there, which format its name says, its bytes without gzip, its table, and errors of its parser."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

import pandas as pd

from .._support.files import kind_of_place
from .._support.limits import FREE, check_growth
from .._support.registries import TABLE_FORMATS
from .arrow_table import ArrowTable
from .table import HeaderHint, Table

MOST_GZIP = 1032  # by which the method of gzip can compress at most
_WORKBOOK = re.compile(r"(.*\.(?:xlsx|xlsm|xls))(?::([^:]+))?", re.IGNORECASE | re.DOTALL)


def file_and_sheet(path: Path) -> tuple[Path, str | None]:
    """A file, and the sheet of a workbook that is named after a colon.

    Example:
        >>> file, sheet = file_and_sheet(Path("states.xlsx:Sheet2"))
        >>> file.name, sheet
        ('states.xlsx', 'Sheet2')
    """
    found = None if path.exists() else _WORKBOOK.fullmatch(str(path))
    return (path, None) if found is None else (Path(found[1]), found[2])


def ending(path: Path) -> str:
    """The ending that says the format, in lower case: ".csv" for edges.csv and for edges.csv.gz."""
    path = file_and_sheet(path)[0]
    return (path.with_suffix("").suffix if path.suffix.lower() == ".gz" else path.suffix).lower()


def open_bytes(path: Path) -> IO[bytes]:
    """A file in bytes; .gz is decompressed."""
    return cast(IO[bytes], gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else open(path, "rb")


def check_file(source: str | Path, what: str, endings: Collection[str]) -> Path:
    """The path (with its sheet) of a file that exists, is not empty and has one of these endings; ``what`` it holds is for messages.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is a folder, is empty, or has another ending.
    """
    given = Path(source)
    path = file_and_sheet(given)[0]
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path} to read {what} from")
    if (kind := kind_of_place(path)) is not None:
        raise ValueError(f"{path} is {kind}; give the file with the {what}")
    if ending(path) not in endings:
        also = "; save the spreadsheet as .xlsx or CSV" if ending(path) == ".ods" else ""
        raise ValueError(f"{path.name}: {what} are read from files that end in {', '.join(sorted(endings))}{also}")
    if path.stat().st_size == 0:
        raise ValueError(f"{path.name} is empty (0 bytes); export the {what} again")
    if path.suffix.lower() == ".gz":
        _check_unpacked(path)
    return given


def _check_unpacked(path: Path) -> None:
    """Refuse a gzip file that unpacks to far more than its size; what is wrong with it otherwise is for its reader."""
    stored = path.stat().st_size
    if stored * MOST_GZIP <= FREE:
        return
    unpacked = 0
    with suppress(EOFError, OSError, zlib.error), gzip.open(path, "rb") as file:
        while part := file.read(1 << 20):
            unpacked += len(part)
            check_growth(unpacked, stored, path.name, "unpack it")


def open_table(source: Any, what: str, hint: HeaderHint) -> Table:
    """A table of ``what`` ("edges", "states", "features", "labels") from a file of any table format, or from pandas.

    Raises:
        FileNotFoundError: there is no such file.
        TypeError: the source is neither.
        ValueError: it is empty or not readable.
    """
    if isinstance(source, pd.DataFrame):
        found: Table = ArrowTable.from_pandas(source, f"the table of {what}")
        found.hint = hint
        return found
    if not isinstance(source, (str, Path)):
        raise TypeError(f"{what} must be the name of a file or a pandas table, got {type(source).__name__}")
    path = check_file(source, what, TABLE_FORMATS)
    table: Table = TABLE_FORMATS[ending(path)](path, hint)
    table.hint = hint
    return table


@contextmanager
def parsing(path: Path, form: str, remedy: str = "correct it, or export it again") -> Iterator[None]:
    """Around a call of another library: whatever it raises becomes a ValueError that says which file is damaged.

    Keep our own checks outside, so that their messages stay as they are.

    Example:
        >>> import json
        >>> with parsing(Path("edges.json"), "JSON"):
        ...     json.loads("[1, 2")
        Traceback (most recent call last):
        ...
        ValueError: edges.json cannot be read as JSON: Expecting ',' delimiter: line 1 column 6 (char 5); correct it, or export it again
    """
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # parsers raise whatever comes
        raise ValueError(f"{path.name} cannot be read as {form}: {one_line(error)}; {remedy}") from None


def one_line(error: BaseException, width: int = 200) -> str:
    """The message of an error, in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= width else text[:width] + "..."
