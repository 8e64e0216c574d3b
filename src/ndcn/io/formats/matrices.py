"""Adjacency matrices: npz (.npz) as ``scipy.sparse.save_npz`` writes it, and Matrix Market (.mtx).

Entry [i, j] is the weight of j acting on i. Damaged Matrix Market files crash scipy's faster reader, so every number is
checked before it is used.
"""

from __future__ import annotations

import zipfile
import zlib
from io import TextIOWrapper
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from ..._support.limits import check_growth, check_nodes
from ..edge_list import EdgeList, from_matrix
from ..files import one_line, open_bytes, parsing

MOST_DENSE = 10**8  # entries of a matrix that is written out in full: 0.8 GB of float64


def read_npz(path: Path) -> EdgeList:
    """The edges of a sparse matrix; a ValueError if it is not such a file, or not square, real and finite."""
    damaged = (ValueError, KeyError, OSError, zipfile.BadZipFile, EOFError, MemoryError, zlib.error, RuntimeError)
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
    except damaged as error:
        raise _no_npz(path, error) from None
    check_growth(unpacked, path.stat().st_size, path.name, "write it with save_npz(..., compressed=False)")
    try:
        matrix = sparse.load_npz(path)
    except damaged as error:
        raise _no_npz(path, error) from None
    check_nodes(max(matrix.shape), matrix.nnz, path.name)
    return from_matrix(matrix, path.name)


def _no_npz(path: Path, error: BaseException) -> ValueError:
    why = one_line(error, 80)
    return ValueError(f"{path.name} is no matrix that scipy.sparse.save_npz wrote ({why}); write it with that")


def read_mtx(path: Path) -> EdgeList:
    """The edges of a matrix; a ValueError as ``read_matrix_market``, or if it is not square."""
    return from_matrix(read_matrix_market(path), path.name)


def read_matrix_market(path: Path) -> sparse.coo_array:
    """A real matrix from a Matrix Market file: coordinate or array; general, symmetric or skew-symmetric.

    Raises:
        ValueError: it is not such a file, or damaged; the message names the line.
    """
    with parsing(path, "Matrix Market"), open_bytes(path) as raw:
        file = TextIOWrapper(raw, encoding="utf-8", errors="replace")
        banner = file.readline().lower().split()
        content = ((k, line) for k, line in enumerate(file, start=2) if line.strip() and not line.startswith("%"))
        skip, line = next(content, (2, ""))
    layout, kind, symmetry = _banner(banner, path.name)
    for word in line.split():
        if not word.isdecimal() or len(word) > 12:
            raise ValueError(f"{path.name} line {skip}: {word[:40]!r} is no whole number")
    size = [int(word) for word in line.split()]
    if len(size) != (3 if layout == "coordinate" else 2):
        expected = "rows, columns and entries" if layout == "coordinate" else "rows and columns"
        raise ValueError(f"{path.name} line {skip}: expected {expected}, got {line.strip()[:60]!r}")
    if layout == "array" and size[0] * size[1] > MOST_DENSE:
        raise ValueError(f"{path.name} line {skip}: {size[0]} x {size[1]} is too large for a dense matrix")
    if layout == "coordinate":
        check_nodes(max(size[:2]), min(size[2], path.stat().st_size), f"{path.name} line {skip}")
    body = _body(path, skip, 1 if layout == "array" else 2 if kind == "pattern" else 3)
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
    known = known and symmetry in ("general", "symmetric", "skew-symmetric")
    if not known or (layout, kind) == ("array", "pattern"):
        form = " ".join(words[2:])[:60]
        raise ValueError(f"{name} line 1: {form!r} is not read; write real numbers, coordinate, general")
    return layout, kind, symmetry


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
        where = f"{path.name} entry {bad[0] + 1} (about line {skip + bad[0] + 1})"
        cells = " ".join(str(cell) for cell in frame.iloc[bad[0]])
        raise ValueError(f"{where}: {cells[:60]!r} is not finite numbers")
    return numbers


def _entries(
    body: np.ndarray, size: list[int], layout: str, kind: str, symmetry: str, name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and values of the entries that the file lists."""
    if layout == "array" and len(body) < size[0] * size[1] // 2 - max(size[:2]):  # before there is a place for each
        raise ValueError(
            f"{name}: {size[0]} x {size[1]} entries were announced, {len(body)} are there; is the file whole?"
        )
    columns, rows = np.divmod(np.arange(size[0] * size[1] if layout == "array" else 0), max(size[0], 1))
    if symmetry != "general":
        below = rows > columns if symmetry == "skew-symmetric" else rows >= columns
        rows, columns = rows[below], columns[below]
    announced = len(rows) if layout == "array" else size[2]
    if len(body) != announced:
        raise ValueError(f"{name}: {announced} entries were announced, {len(body)} are there; is the file whole?")
    if layout == "array":
        return rows, columns, body[:, 0]
    places = body[:, :2]
    inside = (places == np.round(places)) & (places >= 1) & (places <= np.array(size[:2]))
    bad = np.flatnonzero(~inside.all(axis=1))
    if len(bad):
        raise ValueError(f"{name} entry {bad[0] + 1}: row or column is not between 1 and {size[0]} x {size[1]}")
    values = np.ones(len(body)) if kind == "pattern" else body[:, 2]
    return places[:, 0].astype(np.int64) - 1, places[:, 1].astype(np.int64) - 1, values
