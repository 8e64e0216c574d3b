"""Tables of users: from a file or from pandas, with or without a header, and the names of nodes in them."""

from __future__ import annotations

import csv
import gzip
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ...io import is_whole

SEPARATORS = {".csv": (",", ";", "\t"), ".tsv": ("\t",), ".txt": ("\t", ",", ";")}  # the first that the first line has
FORMATS = (*SEPARATORS, ".parquet")
MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None"]


@dataclass(frozen=True)
class Table:
    """Rows about nodes: who they are, and the other columns.

    Attributes:
        title: what messages call it.
        keys: for each column of names, the name of the node in each row.
        rest: the other columns, in the order in which they came.
    """

    title: str
    keys: tuple[list[str], ...]
    rest: pd.DataFrame

    @property
    def names(self) -> list[str]:
        """The names in the first of their columns."""
        return self.keys[0]


def read_table(
    source: Any,
    title: str,
    keys: Sequence[str],
    *,
    columns: Sequence[str] = (),
    known: Collection[str] | None = None,
    text: bool = False,
) -> Table:
    """A table whose columns ``keys``, or the first so many columns, name nodes.

    Args:
        source: the name of a file, or a pandas table.
        title: what messages call it.
        keys: the columns of names.
        columns: what the other columns are called where there is no header.
        known: names of nodes, by which a missing header is noticed; None for those in the table itself.
        text: whether the other columns of a text file are text, whatever they look like.

    Raises:
        FileNotFoundError: there is no such file.
        TypeError: the source is neither.
        ValueError: it cannot be read, or has too few columns, or a name is missing.
    """
    if isinstance(source, pd.DataFrame):
        frame = source.reset_index() if source.index.name in keys else source
    elif isinstance(source, (str, Path)):
        title = f"{title} ({Path(source).name})"
        frame = _read_file(Path(source), title, keys, columns, known, text)
    else:
        raise TypeError(f"{title} must be the name of a file or a pandas table, got {type(source).__name__}")
    if frame.shape[1] < len(keys):
        raise ValueError(f"{title} needs the columns {', '.join(keys)}, but has {frame.shape[1]} in all")
    places = _places(list(frame.columns), keys)
    return Table(
        title,
        tuple(_names(frame.iloc[:, k], title) for k in places),
        frame.iloc[:, [k for k in range(frame.shape[1]) if k not in places]],
    )


def plain_name(value: Any) -> str:
    """A name as text: whole numbers without a decimal point, text without blanks around it."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def _places(columns: Sequence[object], keys: Sequence[str]) -> list[int]:
    return [columns.index(key) for key in keys] if set(keys) <= set(columns) else list(range(len(keys)))


def _names(column: pd.Series, title: str) -> list[str]:
    names = ["" if missing else plain_name(value) for value, missing in zip(column, column.isna(), strict=True)]
    if "" in names:
        raise ValueError(
            f"{title}: column {column.name} must name a node in each row, but {names.count('')} are empty, the first in row "
            f"{names.index('') + 1}"
        )
    return names


def _read_file(
    path: Path, title: str, keys: Sequence[str], columns: Sequence[str], known: Collection[str] | None, text: bool
) -> pd.DataFrame:
    kind = path.with_suffix("").suffix if path.suffix.lower() == ".gz" else path.suffix
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path} to read {title.partition(' (')[0]} from")
    if path.is_dir() or kind.lower() not in FORMATS:
        raise ValueError(f"{path}: tables are files whose names end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    try:
        if kind.lower() == ".parquet":
            return pd.read_parquet(path)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows that are longer than the header
            return _read_text(path, kind.lower(), keys, columns, known, text)
    except (ValueError, OSError, EOFError, pd.errors.ParserWarning) as error:
        raise ValueError(f"{title} cannot be read as {kind.lower()[1:]}: {' '.join(str(error).split())}") from error


def _read_text(
    path: Path,
    kind: str,
    keys: Sequence[str],
    columns: Sequence[str],
    known: Collection[str] | None,
    text: bool,
) -> pd.DataFrame:
    with (gzip.open if path.suffix.lower() == ".gz" else open)(path, "rt", encoding="utf-8-sig") as file:
        skipped, line = 0, ""
        for line in file:
            if not line.startswith("#"):  # comments at the head
                break
            skipped += 1
    separator = next((s for s in SEPARATORS[kind] if s in line), r"\s+" if kind == ".txt" else SEPARATORS[kind][0])

    line = line.strip("\r\n")
    cells = (
        line.split()
        if separator == r"\s+"
        else next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
    )
    cells = [cell.strip() for cell in cells]
    if len(cells) < len(keys):
        raise ValueError(f"it has {len(cells)} column{'s' * (len(cells) > 1)}, expected {', '.join(keys)} and others")
    first = [cells[k] for k in _places(cells, keys)]

    def body(header: bool) -> pd.DataFrame:
        places = _places(cells, keys) if header else list(range(len(keys)))
        labels: Sequence[Any] = cells if header else range(len(cells))
        named, others = [labels[k] for k in places], [labels[k] for k in range(len(cells)) if k not in places]
        frame = pd.read_csv(
            path,
            sep=separator,
            header=0 if header else None,
            skiprows=skipped,
            dtype=dict.fromkeys(named + others if text else named, str),
            na_values=dict.fromkeys(others, MISSING),  # but in names: NA can be one
            keep_default_na=False,
            index_col=False,
            encoding="utf-8-sig",
            skipinitialspace=True,
        )
        if not header:
            names = [*keys, *columns]
            frame.columns = [*names[: len(cells)], *(f"column {k + 1}" for k in range(len(names), len(cells)))]
        return frame

    if set(keys) <= set(cells):
        return body(header=True)
    if all(map(is_whole, first)):
        return body(header=False)
    frame = body(header=True)
    if known is None:
        known = {plain_name(value) for k in range(len(keys)) for value in frame.iloc[:, k].dropna().unique().tolist()}
    return body(header=False) if all(name in known for name in first) else frame
