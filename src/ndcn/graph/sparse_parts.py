"""Sparse matrices whose parts come from elsewhere, checked: scipy and torch read and write where the indices say, unchecked."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def csr_of_parts(values: Any, indices: Any, indptr: Any, *, shape: tuple[int, int]) -> sparse.csr_array:
    """A CSR array of these parts, each of which is checked first.

    Args:
        values: shape (nnz,), floating-point numbers.
        indices: column of each value, whole numbers.
        indptr: where each row begins, and nnz, whole numbers, shape (rows + 1,).
        shape: (rows, columns).

    Raises:
        ValueError: the parts are no sparse matrix of that shape.

    Example:
        >>> csr_of_parts([2.0], [1], [0, 1, 1], shape=(2, 2)).toarray()
        array([[0., 2.],
               [0., 0.]])
        >>> csr_of_parts([2.0], [1000], [0, 1, 1], shape=(2, 2))
        Traceback (most recent call last):
        ...
        ValueError: the sparse matrix is damaged: it has columns 1000 to 1000, expected 0 to 1
    """
    values, indices, indptr = (np.asarray(part) for part in (values, indices, indptr))
    if values.dtype.kind != "f" or values.ndim != 1:
        raise _damaged(f"its values must be a list of floating-point numbers, got {values.ndim} axes of {values.dtype}")
    _check_compressed(values, indices, indptr, shape[0], shape[1])
    return sparse.csr_array((values, indices, indptr), shape=shape)


def check_sparse(matrix: Any) -> None:
    """Refuse a scipy.sparse matrix whose indices lead out of it, in any format; a ValueError.

    Example:
        >>> matrix = sparse.csr_array([[0.0, 2.0], [0.0, 0.0]])
        >>> check_sparse(matrix)
        >>> matrix.indptr[1] = 10**9
        >>> check_sparse(matrix)
        Traceback (most recent call last):
        ...
        ValueError: the sparse matrix is damaged: its rows do not follow one another
    """
    if matrix.ndim != 2:
        return  # whoever wants a matrix says so
    if matrix.format in ("csr", "csc"):
        rows, columns = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
        _check_compressed(matrix.data, matrix.indices, matrix.indptr, rows, columns)
    elif matrix.format == "bsr":
        height, width = matrix.blocksize
        if not height or not width or matrix.shape[0] % height or matrix.shape[1] % width:
            raise _damaged(f"blocks of {height} x {width} do not fill {matrix.shape[0]} x {matrix.shape[1]}")
        _check_compressed(
            matrix.data, matrix.indices, matrix.indptr, matrix.shape[0] // height, matrix.shape[1] // width
        )
    elif matrix.format == "coo":
        for place, size, word in ((matrix.row, matrix.shape[0], "rows"), (matrix.col, matrix.shape[1], "columns")):
            if len(place) != len(matrix.data):
                raise _damaged(f"{len(matrix.data)} values have {len(place)} places")
            _check_inside(place, size, word)


def _check_compressed(values: np.ndarray, indices: np.ndarray, indptr: np.ndarray, rows: int, columns: int) -> None:
    """``rows`` and ``columns`` of a CSR matrix; of a CSC matrix the other way round."""
    if indices.ndim != 1 or indptr.ndim != 1:
        raise _damaged("indices and indptr must be lists of numbers")
    if len(indices) != len(values) or len(indptr) != rows + 1:
        parts = f"{len(values)} values, {len(indices)} indices and {len(indptr)} ends of rows"
        raise _damaged(f"{parts} were found for {rows} rows")
    _check_inside(indices, columns, "columns")
    if indptr.dtype.kind not in "iu":
        raise _damaged(f"indptr must be whole numbers, got {indptr.dtype}")
    # compared, not subtracted: differences of very large numbers wrap round
    if indptr[0] != 0 or indptr[-1] > len(values) or (indptr[1:] < indptr[:-1]).any():
        raise _damaged("its rows do not follow one another")


def _check_inside(places: np.ndarray, size: int, word: str) -> None:
    if places.dtype.kind not in "iu":
        raise _damaged(f"{word} must be whole numbers, got {places.dtype}")
    if len(places) and (places.min() < 0 or places.max() >= size):
        raise _damaged(f"it has {word} {places.min()} to {places.max()}, expected 0 to {size - 1}")


def _damaged(why: str) -> ValueError:
    return ValueError(f"the sparse matrix is damaged: {why}")
