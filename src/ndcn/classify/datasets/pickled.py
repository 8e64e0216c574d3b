"""Reading the arrays and lists of a pickle without running anything that it names.

A pickle is a program: it may name any function and have it called. Here nine names are known, and even those do not lead
to NumPy or SciPy but to records of what the file says; arrays are then built from plain bytes. Every other name is refused
before anything is called.
"""

from __future__ import annotations

import io
import math
import pickle
from collections import defaultdict
from typing import Any

import numpy as np
from scipy import sparse

NUMBERS = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"}


class UnsafePickle(ValueError):
    """The file is no pickle of arrays, or names something that arrays do not need."""


class _Dtype:
    """What a file says about a NumPy dtype: its code, and its byte order."""

    __slots__ = ("code", "order")

    def __init__(self, code: object, *_flags: object) -> None:
        self.code, self.order = code, "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1]

    def value(self) -> np.dtype[Any]:
        if self.code not in NUMBERS or self.order not in ("<", ">", "=", "|"):
            raise UnsafePickle(f"it holds an array of {self.code!r}, which is no kind of plain number")
        return np.dtype(self.order.replace("|", "=") + self.code)


class _Record:
    """What a file says about an array; its prototype says nothing."""

    state: Any = None

    def __init__(self, *_prototype: object) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Array(_Record):
    """What a file says about a NumPy array."""

    def value(self) -> np.ndarray:
        if not isinstance(self.state, tuple) or len(self.state) != 5:
            raise UnsafePickle("it holds an array without content")
        _version, shape, dtype, fortran, data = self.state
        if not isinstance(dtype, _Dtype) or not isinstance(data, (str, bytes)):
            raise UnsafePickle("it holds an array of other things than numbers")
        kind, raw = dtype.value(), data.encode("latin1") if isinstance(data, str) else data
        whole = isinstance(shape, tuple) and all(type(size) is int and size >= 0 for size in shape)
        if not whole or math.prod(shape) * kind.itemsize != len(raw):
            raise UnsafePickle(f"it holds an array of shape {shape!r} with {len(raw)} bytes")
        array = np.frombuffer(raw, dtype=kind).reshape(shape, order="F" if fortran else "C")
        return array.astype(kind.newbyteorder("="))


class _Sparse(_Record):
    """What a file says about a scipy.sparse CSR matrix."""

    def value(self) -> sparse.csr_array:
        if not isinstance(self.state, dict):
            raise UnsafePickle("it holds a sparse matrix without content")
        parts = [self.state.get(name) for name in ("data", "indices", "indptr")]
        shape = self.state.get("_shape")
        if not all(isinstance(part, _Array) for part in parts):
            raise UnsafePickle("it holds a sparse matrix whose parts are not arrays")
        if not isinstance(shape, tuple) or len(shape) != 2 or not all(type(s) is int and s >= 0 for s in shape):
            raise UnsafePickle(f"it holds a sparse matrix of shape {shape!r}")
        try:
            matrix = sparse.csr_array(tuple(part.value() for part in parts if part is not None), shape=shape)
            matrix.check_format(full_check=True)
        except (ValueError, IndexError, TypeError) as error:
            raise UnsafePickle(f"it holds a sparse matrix that is none: {error}") from None
        return matrix


# What may be named, by Python 2 and 3 and by old and new NumPy and SciPy.
_KNOWN: dict[tuple[str, str], type] = {
    ("numpy", "dtype"): _Dtype,
    ("numpy", "ndarray"): _Array,
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("scipy.sparse.csr", "csr_matrix"): _Sparse,
    ("scipy.sparse._csr", "csr_matrix"): _Sparse,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
    ("collections", "defaultdict"): defaultdict,
}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type:
        if (module, name) not in _KNOWN:
            raise UnsafePickle(f"it asks for {module}.{name}, which arrays do not need")
        return _KNOWN[module, name]

    def persistent_load(self, pid: object) -> Any:
        raise UnsafePickle("it refers to things outside of itself")


def read_pickle(content: bytes) -> Any:
    """The array, sparse matrix, or dict of lists of whole numbers that a pickle holds.

    Raises:
        UnsafePickle: it holds anything else, or is damaged. Nothing that it names has been called.

    Example:
        >>> import numpy, pickle
        >>> read_pickle(pickle.dumps({0: [1, 2]}))
        {0: [1, 2]}
        >>> read_pickle(pickle.dumps(print))
        Traceback (most recent call last):
        ...
        ndcn.classify.datasets.pickled.UnsafePickle: it asks for builtins.print, which arrays do not need
    """
    file = io.BytesIO(content)
    try:
        found = _Reader(file, encoding="latin1").load()
    except UnsafePickle:
        raise
    except Exception as error:  # a damaged pickle can raise anything
        raise UnsafePickle(f"it cannot be read: {type(error).__name__}: {error}") from None
    if file.read(1):
        raise UnsafePickle("something follows after its end")
    if isinstance(found, (_Array, _Sparse)):
        return found.value()
    if isinstance(found, dict) and all(
        type(k) is int and isinstance(v, list) and all(type(i) is int for i in v) for k, v in found.items()
    ):
        return dict(found)
    raise UnsafePickle(f"it holds {type(found).__name__.strip('_')}, which is neither an array nor a graph")
