"""Graphs and laws as the compiled library reads them: structures of C, and the arrays that their pointers point to."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

LARGEST = 2**31 - 1  # edges and nodes are 32-bit numbers there
# Nodes among which rows are ordered by length: sums then stay in the first cache. PART of law.h, which one thread computes, is four of them;
# 100,000 nodes of degree 10 take 0.44 ms a sum so, 0.47 with 2048, 0.58 with all, 0.93 in the order of the nodes.
WINDOW = 512
LANES = 8  # rows that are summed side by side, as in law.h
MOST_FEATURES = 16  # of splines: arrays of this size are on the stack
MOST_FEW = 64  # splines of a feature for products: as above

_POINTER = ctypes.c_void_p
_INT = ctypes.c_int64


class _Graph(ctypes.Structure):
    _fields_ = [("n", _INT), ("edges", _INT), ("ones", _INT), ("threads", _INT)] + [
        (name, _POINTER)
        for name in ("ptr", "idx", "row", "weight", "degree", "order", "lanes", "lane_weight", "lane_ptr")
    ]


class _Program(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in ("inputs", "scalars", "count", "outputs")] + [
        ("code", _POINTER),
        ("out", _POINTER),
    ]


class _Splines(ctypes.Structure):
    _fields_ = [
        ("breaks", _INT),
        ("size", _INT),
        ("per_break", ctypes.c_double),
        ("at", _POINTER),
        ("origins", _POINTER),
        ("pieces", _POINTER),
    ]


class _Law(ctypes.Structure):
    _fields_ = [
        ("d", ctypes.c_int32),
        ("P", ctypes.c_int32),
        ("scalars", _POINTER),
        *((name, _Program) for name in ("pre", "edge", "post")),
        *((name, _POINTER) for name in ("pre_by", "edge_by", "splines", "curves")),
    ]


def pointer(array: np.ndarray | None) -> int | None:
    """Where an array is."""
    return None if array is None else array.ctypes.data


def numbers(values: Any) -> np.ndarray:
    """An array of float64 in the order of C."""
    return np.ascontiguousarray(values, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class GraphArrays:
    """A graph as the library reads it: rows of the matrix."""

    n: int
    edges: int
    struct: _Graph
    kept: tuple[np.ndarray, ...]  # what the pointers point to

    @staticmethod
    def of(matrix: sparse.csr_array) -> GraphArrays | None:
        """None if it is too large for 32-bit numbers."""
        n, edges = matrix.shape[0], len(matrix.data)
        if max(n, edges) > LARGEST:
            return None
        row = np.repeat(np.arange(n, dtype=np.int32), np.diff(matrix.indptr))
        idx = np.ascontiguousarray(matrix.indices, dtype=np.int32)
        degree = numbers(np.asarray(matrix.sum(1)).ravel())
        order = np.lexsort((np.diff(matrix.indptr), np.arange(n) // WINDOW)).astype(np.int32)
        ptr, weight = np.ascontiguousarray(matrix.indptr, dtype=np.int32), numbers(matrix.data)
        ones = int((weight == 1).all())
        edge, lane_ptr = _side_by_side(ptr, order)
        kept = (ptr, idx, row, weight, degree, order, idx[edge], weight if ones else weight[edge], lane_ptr)
        return GraphArrays(n, edges, _Graph(n, edges, ones, 1, *map(pointer, kept)), kept)


def _side_by_side(ptr: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which edge stands where in ``lanes`` of law.h, and where each group of rows begins there."""
    n, length = len(order), np.diff(ptr)[order]
    end = np.cumsum(length, dtype=np.int32)
    group = np.append(end - length, end[-1:])[::LANES].astype(np.int32)
    shortest = np.repeat(length[::LANES], LANES)[:n]  # rows of a group are in order of their length
    shortest[n // LANES * LANES :] = 0
    rest = np.cumsum(length - shortest, dtype=np.int32)
    rest -= length - shortest
    rest -= np.repeat(rest[::LANES], LANES)[:n]
    begin = np.repeat(group, LANES)[:n]
    of = np.repeat(np.arange(n, dtype=np.int32), length)
    e = np.arange(len(of), dtype=np.int32) - np.repeat(end - length, length)
    beside = e < shortest[of]
    lane = np.arange(n, dtype=np.int32) % LANES
    after = (
        LANES - 1
    ) * shortest + rest  # of a group, what stands before the rest of a row, less its edges that stand side by side
    place = begin[of] + np.where(beside, LANES * e + lane[of], after[of] + e)
    edge = np.empty_like(of)
    edge[place] = ptr[order][of] + e
    return edge, group


@dataclass(frozen=True, eq=False)
class ProgramArrays:
    """Instructions (op, a, b) on registers: inputs, then scalars, then one for each instruction; see ``law_program.h``."""

    inputs: int
    scalars: int
    code: np.ndarray  # (count, 3)
    outputs: np.ndarray  # registers

    def struct(self) -> _Program:
        """As the library reads it."""
        count, outputs = len(self.code), len(self.outputs)
        return _Program(self.inputs, self.scalars, count, outputs, pointer(self.code), pointer(self.outputs))


@dataclass(frozen=True, eq=False)
class FormulaArrays:
    """dx_i/dt = post(x_i, degree, sum_j A_ij pre(x_j), sum_j A_ij edge(x_i, x_j)), as instructions."""

    features: int
    parameters: int
    pre: ProgramArrays
    edge: ProgramArrays
    post: ProgramArrays
    pre_by: np.ndarray  # (outputs, P): whether an output depends on a parameter, as bytes
    edge_by: np.ndarray
    constants: tuple[float, ...]

    def law(self, parameters: np.ndarray) -> LawArrays:
        """With these parameters, (P,)."""
        scalars = np.concatenate([numbers(parameters), self.constants])
        programs = [program.struct() for program in (self.pre, self.edge, self.post)]
        by = pointer(self.pre_by), pointer(self.edge_by)
        struct = _Law(self.features, self.parameters, pointer(scalars), *programs, *by, None, None)
        return LawArrays(self.features, self.parameters, struct, (self, scalars))


def _per_break(at: np.ndarray) -> float:
    """1 over the distance of breaks if that is the same for all, else 0."""
    gaps = np.diff(at)
    return float(1 / gaps[0]) if np.ptp(gaps) < 1e-6 * gaps[0] else 0.0


@dataclass(frozen=True, eq=False)
class SplineArrays:
    """Splines of each feature, three kinds of them, as cubics: breaks, origins and pieces (intervals, size, 4); see ``law_splines.h``."""

    features: int
    parameters: int
    tables: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]
    struct: Any = field(init=False)

    def __post_init__(self) -> None:
        each = [
            _Splines(len(at), pieces.shape[1], _per_break(at), *map(pointer, (at, origins, pieces)))
            for at, origins, pieces in self.tables
        ]
        object.__setattr__(self, "struct", (_Splines * len(each))(*each))

    def __reduce__(self) -> tuple[Any, ...]:
        """Addresses are of one process alone."""
        return SplineArrays, (self.features, self.parameters, self.tables)

    @property
    def small_enough(self) -> bool:
        """Whether the library's arrays hold them."""
        few = max(pieces.shape[1] for _, _, pieces in self.tables[1::3])
        return self.features <= MOST_FEATURES and few <= MOST_FEW

    def law(self, curves: np.ndarray) -> LawArrays:
        """With these numbers, in the order of ``law_splines.h``."""
        none = _Program(0, 0, 0, 0, None, None)
        where = ctypes.addressof(self.struct)
        struct = _Law(self.features, self.parameters, None, none, none, none, None, None, where, pointer(curves))
        return LawArrays(self.features, self.parameters, struct, (self, curves))


@dataclass(frozen=True, eq=False)
class LawArrays:
    """A law as the library reads it."""

    features: int
    parameters: int
    struct: _Law
    kept: tuple[Any, ...]  # what the pointers point to
