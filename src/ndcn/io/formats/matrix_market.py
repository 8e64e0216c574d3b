"""Matrix Market (.mtx). Damaged files crash scipy's faster reader, so every number is checked before it is used."""

from __future__ import annotations

import zlib
from io import TextIOWrapper
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd
from scipy import sparse

from ..edge_list import EdgeList
from ..files import open_bytes
from ..graph_objects import from_matrix
from ..parse_errors import one_line, parsing

MOST_DENSE = 10**8  # entries of a matrix that is written out in full: 0.8 GB of float64


def read(path: Path) -> EdgeList:
    """The edges of a matrix; entry [i, j] is the weight of j acting on i.

    Raises:
        ValueError: see ``read_matrix_market``; or the matrix is not square.
    """
    return from_matrix(read_matrix_market(path), path.name)


def read_matrix_market(path: Path) -> sparse.coo_array:
    """A real matrix from a Matrix Market file: coordinate or array; general, symmetric or skew-symmetric.

    Raises:
        ValueError: it is not such a file, or damaged; the message names the line.
    """
    with parsing(path, "Matrix Market"), open_bytes(path) as raw:
        file = TextIOWrapper(raw, encoding="utf-8", errors="replace")
        banner = file.readline().lower().split()
        line, skip = _size_line(file)
    layout, kind, symmetry = _banner(banner, path.name)
    size = [_whole(word, path.name, skip) for word in line.split()]
    if len(size) != (3 if layout == "coordinate" else 2) or min(size, default=0) < 0:
        expected = "rows, columns and entries" if layout == "coordinate" else "rows and columns"
        raise ValueError(f"{path.name} line {skip}: expected {expected}, got {line.strip()[:60]!r}")
    if layout == "array" and size[0] * size[1] > MOST_DENSE:
        raise ValueError(f"{path.name} line {skip}: {size[0]} x {size[1]} is too large for a dense matrix")
    width = 1 if layout == "array" else 2 if kind == "pattern" else 3
    body = _body(path, skip, width)
    rows, columns, values = _entries(body, size, layout, kind, symmetry, path.name)
    if symmetry != "general":
        apart = rows != columns
        sign = -1.0 if symmetry == "skew-symmetric" else 1.0
        rows, columns = np.concatenate([rows, columns[apart]]), np.concatenate([columns, rows[apart]])
        values = np.concatenate([values, sign * values[apart]])
    return sparse.coo_array((values, (rows, columns)), shape=(size[0], size[1]))


def _banner(words: list[str], name: str) -> tuple[str, str, str]:
    if len(words) != 5 or words[0] != "%%matrixmarket" or words[1] != "matrix":
        raise ValueError(f"{name} line 1: expected %%MatrixMarket matrix coordinate real general, or alike")
    layout, kind, symmetry = words[2:]
    known = layout in ("coordinate", "array") and kind in ("real", "integer", "pattern", "double")
    if (
        not known
        or symmetry not in ("general", "symmetric", "skew-symmetric")
        or (layout, kind) == ("array", "pattern")
    ):
        raise ValueError(
            f"{name} line 1: {' '.join(words[2:])[:60]!r} is not read; write real numbers, coordinate, general"
        )
    return layout, kind, symmetry


def _size_line(file: IO[str]) -> tuple[str, int]:
    """The first line after the comments, and its number."""
    for count, line in enumerate(file, start=2):
        if line.strip() and not line.startswith("%"):
            return line, count
    return "", 2


def _whole(word: str, name: str, line: int) -> int:
    if not word.isdecimal() or len(word) > 12:
        raise ValueError(f"{name} line {line}: {word[:40]!r} is no whole number")
    return int(word)


def _body(path: Path, skip: int, width: int) -> np.ndarray:
    """The numbers after the size line, shape (N, width)."""
    try:
        frame = pd.read_csv(
            path, sep=r"\s+", header=None, skiprows=skip, dtype=str, comment="%", quoting=3, encoding_errors="replace"
        )
    except pd.errors.EmptyDataError:
        return np.empty((0, width))
    except (pd.errors.ParserError, EOFError, OSError, zlib.error) as error:  # the last three: a damaged .gz
        raise ValueError(f"{path.name}: {one_line(error)}") from None
    if frame.shape[1] != width:
        raise ValueError(f"{path.name}: entries must have {width} numbers each, but have {frame.shape[1]}")
    numbers = frame.apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
    bad = np.flatnonzero(~np.isfinite(numbers).all(axis=1))
    if len(bad):
        cells = " ".join(str(cell) for cell in frame.iloc[bad[0]])
        raise ValueError(
            f"{path.name} entry {bad[0] + 1} (about line {skip + bad[0] + 1}): {cells[:60]!r} is not finite numbers"
        )
    return numbers


def _entries(
    body: np.ndarray, size: list[int], layout: str, kind: str, symmetry: str, name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if layout == "array":
        columns, rows = np.divmod(np.arange(size[0] * size[1]), max(size[0], 1))
        if symmetry != "general":
            below = rows > columns if symmetry == "skew-symmetric" else rows >= columns
            rows, columns = rows[below], columns[below]
        if len(body) != len(rows):
            raise ValueError(f"{name}: {len(rows)} entries were announced, {len(body)} are there; is the file whole?")
        return rows, columns, body[:, 0]
    if len(body) != size[2]:
        raise ValueError(f"{name}: {size[2]} entries were announced, {len(body)} are there; is the file whole?")
    places = body[:, :2]
    inside = (places == np.round(places)) & (places >= 1) & (places <= np.array(size[:2]))
    bad = np.flatnonzero(~inside.all(axis=1))
    if len(bad):
        raise ValueError(f"{name} entry {bad[0] + 1}: row or column is not between 1 and {size[0]} x {size[1]}")
    values = np.ones(len(body)) if kind == "pattern" else body[:, 2]
    return places[:, 0].astype(np.int64) - 1, places[:, 1].astype(np.int64) - 1, values
