"""Laws in C (``law.c``): rates, derivatives and trajectories on a graph; the shared library, if it was built, called through ctypes."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..._support.shared_library import shared_library
from ..._support.threads import WORTH_TWO
from ..methods.tableau import Tableau
from .law_arrays import GraphArrays, LawArrays, numbers, pointer
from .tape_memory import give_back, given_back_with, piece

ABI = 7

_POINTER = ctypes.c_void_p
_INT = ctypes.c_int64
_ARGUMENTS: dict[str, list[Any]] = {
    "slopes": [_POINTER, _POINTER, _INT, *[_POINTER] * 5],
    "ends": [_POINTER] * 3 + [_INT, _POINTER, _POINTER, _INT],
    "shots": [_POINTER] * 3 + [_INT, _POINTER, _POINTER, _INT, _POINTER],
    "roll": [_POINTER, _POINTER, _INT, *[_POINTER] * 4],
    "factors": [_POINTER, _POINTER],
    "record": [_POINTER, _POINTER, _INT, *[_POINTER] * 6, _INT, _INT, _POINTER],
    "tangent": [_POINTER, _INT, _INT, ctypes.c_double, *[_POINTER] * 2, _INT, _POINTER, _INT, _INT, _POINTER],
    "solve": [*[_POINTER] * 3, *[ctypes.c_double] * 3, _INT, _POINTER, _INT, *[_POINTER] * 4],
    "gram": [_POINTER, _INT, _INT, *[_POINTER] * 4, _INT, _INT, _POINTER, _POINTER],
    "adjoint": [_POINTER, _INT, _INT, *[_POINTER] * 4, _INT, _INT, _POINTER, _POINTER],
}


class _Method(ctypes.Structure):
    _fields_ = [("stages", _INT), ("order", _INT)] + [(name, _POINTER) for name in ("a", "b", "error", "dense")]


class _Progress(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_double) for name in ("t", "h", "size")),
        *((name, _INT) for name in ("at", "calls", "taken", "failed")),
    ]


@functools.cache
def library() -> ctypes.CDLL | None:
    """The compiled library, or None where there is none that can be used."""
    entries = {f"ndcn_law_{name}": types for name, types in _ARGUMENTS.items()}
    return shared_library(Path(__file__).parent, "_law", ("ndcn_law_abi", ABI), entries, ctypes.c_int)


def law_kernel_in_use() -> str:
    """ "compiled" where the library was built, else "torch"; the last bits of their results differ."""
    return "torch" if library() is None else "compiled"


@functools.cache
def _method(tableau: Tableau) -> tuple[_Method, tuple[np.ndarray | None, ...]]:
    """A method, without the last stage if that is only the first of the next step and no error is estimated."""
    stages = len(tableau.b) - tableau.last_is_next
    a = np.zeros((stages, stages))
    for k, row in enumerate(tableau.a[: stages - 1]):
        a[k + 1, : len(row)] = row
    kept = (a, numbers(tableau.b[:stages]), None, None)
    return _Method(stages, tableau.order, *map(pointer, kept)), kept


@functools.cache
def _adaptive_method(tableau: Tableau) -> tuple[_Method, tuple[np.ndarray, ...]]:
    """A method with all its stages, the weights of its error and those of states between."""
    stages = len(tableau.b)
    a = np.zeros((stages, stages))
    for k, row in enumerate(tableau.a):
        a[k + 1, : len(row)] = row
    kept = (a, *map(numbers, (tableau.b, tableau.error, tableau.dense)))
    return _Method(stages, tableau.order, *map(pointer, kept)), kept


@dataclass(frozen=True, eq=False)
class Steps:
    """Intervals, in so many steps each."""

    count: np.ndarray  # (intervals,)
    h: np.ndarray  # length of each step of an interval

    @staticmethod
    def of(spans: np.ndarray, steps: Sequence[int]) -> Steps:
        """``steps`` steps for each of the spans."""
        count = np.ascontiguousarray(steps, dtype=np.int64)
        return Steps(count, numbers(spans) / count)

    @property
    def total(self) -> int:
        """Of all intervals."""
        return int(self.count.sum())


def padded(width: int) -> int:
    """Columns in memory: the width, rounded up to whole vectors."""
    return -(-width // 4) * 4


@dataclass(frozen=True, eq=False)
class LawKernel:
    """A law on a graph, in C. All arrays are of float64 and in C's order; states are (K, n, d)."""

    law: LawArrays
    graph: GraphArrays

    def _call(self, name: str, *arguments: Any) -> int:
        few = self.graph.n + self.graph.edges < WORTH_TWO
        self.graph.struct.threads = 1 if few else torch.get_num_threads()
        status: int = _entry(name)(ctypes.byref(self.law.struct), ctypes.byref(self.graph.struct), *arguments)
        return _checked(status)

    def rate(self, x: np.ndarray) -> np.ndarray:
        """dx/dt at states x."""
        x = numbers(x)
        out = np.empty_like(x)
        self._call("slopes", len(x), pointer(x), pointer(out), None, None, None)
        return out

    def slopes(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Rates, ``own`` (K, n, d, d) and ``edges`` (K, E, d, d) of the Jacobian, the latter times A_ij, and columns (K, n, d, P)."""
        x = numbers(x)
        K, n, d = x.shape
        shapes = ((K, n, d), (K, n, d, d), (K, self.graph.edges, d, d), (K, n, d, self.law.parameters))
        out = tuple(np.empty(shape) for shape in shapes)
        self._call("slopes", K, pointer(x), *map(pointer, out))
        return out  # type: ignore[return-value]  # four of them

    def jacobian(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``own`` and ``edges`` of ``slopes``."""
        x = numbers(x)
        K, n, d = x.shape
        rate, own, edges = np.empty((K, n, d)), np.empty((K, n, d, d)), np.empty((K, self.graph.edges, d, d))
        self._call("slopes", K, pointer(x), *map(pointer, (rate, own, edges)), None)
        return own, edges

    def ends(self, x: np.ndarray, spans: np.ndarray, steps: int, method: Tableau) -> np.ndarray:
        """Where states x go within spans (K,), in ``steps`` steps each."""
        x, spans = np.array(x, dtype=np.float64, order="C"), numbers(spans)
        self._call("ends", ctypes.byref(_method(method)[0]), len(x), pointer(x), pointer(spans), steps)
        return x

    def shots(self, x: np.ndarray, spans: np.ndarray, steps: int, method: Tableau) -> np.ndarray:
        """Derivatives of ``ends`` by the parameters, (K, n, d, P)."""
        x, spans = np.array(x, dtype=np.float64, order="C"), numbers(spans)
        out = np.empty((*x.shape, self.law.parameters))
        self._call("shots", ctypes.byref(_method(method)[0]), len(x), pointer(x), pointer(spans), steps, pointer(out))
        return out

    def roll(self, x0: np.ndarray, steps: Steps) -> np.ndarray | None:
        """The trajectory from x0 (n, d) by RK4, (T, n, d); None if it explodes."""
        states = np.empty((len(steps.count) + 1, *x0.shape))
        states[0] = x0
        x = states[0].copy()
        arguments = (len(steps.count), pointer(steps.count), pointer(steps.h), pointer(x), pointer(states[1:]))
        return None if self._call("roll", *arguments) else states

    def adaptive(
        self,
        x0: np.ndarray,
        rate: np.ndarray,
        h: float,
        times: Sequence[float],
        states: np.ndarray,
        tolerances: tuple[float, float],
        t0: float,
        method: Tableau,
    ) -> AdaptiveSteps:
        """Adaptive steps from x0 at t0, with a first step h, to all of the times, which lie after t0; rtol and atol are the tolerances.

        The states at the times go to ``states``.
        """
        progress = _Progress(t0, h, 0.0, 0, 0, 0, 0)
        return AdaptiveSteps(
            self, _adaptive_method(method), numbers(times), tolerances, t0, x0.copy(), rate.copy(), states, progress
        )

    def record(self, x0: np.ndarray, steps: Steps) -> CompiledTape | None:
        """``roll`` with the derivatives of all states; None if it explodes."""
        n, d = x0.shape
        states = np.empty((len(steps.count) + 1, n, d))
        states[0] = x0
        x = states[0].copy()
        width = padded(self.law.parameters)
        own = np.empty((4 * steps.total, n, d, d))
        factors = self._call("factors")
        memory, edges = piece((4 * steps.total, 2 * factors * n * d if factors else self.graph.edges * d * d))
        sensitivities = np.zeros((len(states), n * d, width))
        out = (pointer(states[1:]), pointer(own), pointer(edges), factors, width, pointer(sensitivities[1:]))
        if self._call("record", len(steps.count), pointer(steps.count), pointer(steps.h), pointer(x), *out):
            give_back(memory)
            return None
        tape = CompiledTape(self.graph, states, steps, own, edges, factors, sensitivities[..., : self.law.parameters])
        given_back_with(tape, memory)
        return tape


@dataclass(frozen=True, eq=False)
class AdaptiveSteps:
    """An integration by adaptive steps on its way."""

    kernel: LawKernel
    method: tuple[_Method, tuple[np.ndarray, ...]]
    times: np.ndarray
    tolerances: tuple[float, float]
    t0: float
    x: np.ndarray  # the state where it is
    rate: np.ndarray  # there
    states: np.ndarray  # at the times, as far as it came
    progress: _Progress

    def go_on(self, steps: int) -> str:
        """Through so many steps at most; "done", "going on", or "no smaller step" if the next one would be too small."""
        arrays = map(pointer, (self.x, self.rate, self.states))
        method = ctypes.byref(self.method[0])
        where = (*self.tolerances, self.t0, len(self.times), pointer(self.times))
        status = self.kernel._call("solve", method, *where, steps, *arrays, ctypes.byref(self.progress))
        return ("done", "going on", "no smaller step")[status]


@dataclass(frozen=True, eq=False)
class CompiledTape:
    """A trajectory by RK4, with the Jacobians of all its stages and its derivatives by the parameters, (T, n d, P)."""

    graph: GraphArrays
    states: np.ndarray
    steps: Steps
    own: np.ndarray
    edges: (
        np.ndarray
    )  # for each stage its entries, or if there are `factors` pairs of them, these; see ``Slopes`` of law.h
    factors: int
    sensitivities: np.ndarray

    def _call(self, name: str, W: int, given: np.ndarray, out: np.ndarray) -> None:
        steps = (pointer(self.steps.count), pointer(self.steps.h))
        parts = (len(self.steps.count), *steps, pointer(self.own), pointer(self.edges), self.factors)
        d = self.states.shape[-1]
        _checked(_entry(name)(ctypes.byref(self.graph.struct), d, *parts, W, pointer(given), pointer(out)))

    def tangent(self, v: np.ndarray) -> Iterator[np.ndarray]:
        """Derivatives of each state if those of the first are v (n d, M)."""
        yield v
        M = v.shape[1]
        wide = _widened(v)
        d = self.states.shape[-1]
        first = 0
        for count, h in zip(self.steps.count.tolist(), self.steps.h.tolist(), strict=True):
            parts = (pointer(self.own[first:]), pointer(self.edges[first:]), self.factors, None, 0)
            _checked(
                _entry("tangent")(ctypes.byref(self.graph.struct), d, count, h, *parts, wide.shape[1], pointer(wide))
            )
            first += 4 * count
            yield wide[:, :M].copy()

    def node_tangent(self, d: int) -> Iterator[np.ndarray]:
        """Of a law whose features from d on do not change: derivatives of the first d at each time but the first.

        By the first state, (n d), and by the other features, n times q, in these columns; rows are (n d).
        """
        n, q = self.states.shape[1], self.states.shape[2] - d
        every = slice(None)
        own, edges = (np.ascontiguousarray(part[:, :, :d, :d]) for part in (self.own, self._entries(every, every)))
        node = np.ascontiguousarray(self.own[:, :, :d, d:])
        v = np.zeros((n * d, padded(n * (d + q))))
        v[np.arange(n * d), np.arange(n * d)] = 1
        first = 0
        for count, h in zip(self.steps.count.tolist(), self.steps.h.tolist(), strict=True):
            parts = (pointer(own[first:]), pointer(edges[first:]), 0, pointer(node[first:]), q)
            _checked(_entry("tangent")(ctypes.byref(self.graph.struct), d, count, h, *parts, v.shape[1], pointer(v)))
            first += 4 * count
            yield v[:, : n * (d + q)]

    def diagonals(self) -> np.ndarray:
        """Of the Jacobian at the beginning of each step, (steps, n d)."""
        d = self.states.shape[-1]
        out = self.own[::4, :, range(d), range(d)].copy()
        loops = np.flatnonzero(self.graph.kept[1] == self.graph.kept[2])  # edges from a node to itself
        out[:, self.graph.kept[1][loops]] += self._entries(slice(None, None, 4), loops)[:, :, range(d), range(d)]
        return out.reshape(len(out), -1)

    def _entries(self, stages: slice, edges: slice | np.ndarray) -> np.ndarray:
        """Of the Jacobians of some stages by the states of neighbours, for some edges, (stages, edges, d, d)."""
        n, d = self.states.shape[1:]
        some = self.edges[stages]
        if not self.factors:
            return some.reshape(len(some), -1, d, d)[:, edges]
        i, j, weight = self.graph.kept[2][edges], self.graph.kept[1][edges], self.graph.kept[3][edges]
        left, right = some[:, : some.shape[1] // 2], some[:, some.shape[1] // 2 :]
        left = left.reshape(-1, d, self.factors, n)[..., i]
        right = right.reshape(-1, self.factors, n, d)[:, :, j]
        out: np.ndarray = np.einsum("sake,skeb,e->seab", left, right, weight)
        return out

    def gram(self, v: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """sum_k T_k^T w_k T_k v for weights w (T, n d), where T_k takes derivatives of the first state to those at time k."""
        wide = _widened(v)
        self._call("gram", wide.shape[1], numbers(weights), wide)
        return wide[:, : v.shape[1]]

    def adjoint(self, w: np.ndarray) -> np.ndarray:
        """sum_k T_k^T w_k for w (T, n d, M), the transpose of ``tangent``."""
        wide = _widened(w)
        out = np.empty(wide.shape[1:])
        self._call("adjoint", wide.shape[-1], wide, out)
        return out[:, : w.shape[-1]]


def _widened(v: np.ndarray) -> np.ndarray:
    """A copy with as many columns as the library works on."""
    out = np.zeros((*v.shape[:-1], padded(v.shape[-1])))
    out[..., : v.shape[-1]] = v
    return out


def _entry(name: str) -> Any:
    compiled = library()
    if compiled is None:
        raise RuntimeError("the compiled kernel is not available")
    return getattr(compiled, f"ndcn_law_{name}")


def _checked(status: int) -> int:
    if status < 0:
        raise MemoryError("there is no memory for the derivatives along this trajectory; take fewer nodes or snapshots")
    return status
