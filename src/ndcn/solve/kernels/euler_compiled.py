"""The same two functions as ``euler_torch``, in C: the shared library, if it was built, called through ctypes."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch

from ..._support.shared_library import shared_library
from ..._support.threads import WORTH_TWO
from . import euler_torch
from .buffers import empty, give, take
from .euler_torch import Comparison, Layer, Tape

if TYPE_CHECKING:
    from .euler import Schedule

ABI = 7
PANELS = {
    torch.float32: (16, 4),
    torch.float64: (8, 2),
}  # columns of a wide panel of a state, and of the last, narrow one
BLOCK = 64  # rows of the library's cache block
KNOWN = 8  # steps between the states that it keeps
MANY = 512  # columns of outputs that it compares at once
PENALTIES = {"l1": 0, "l2": 1, "huber": 2}

_NAMES = {torch.float32: "f32", torch.float64: "f64"}
_ARGUMENTS: dict[str, list[Any]] = {
    "forward": [ctypes.c_int] * 9 + [ctypes.c_void_p] * 14,
    "backward": [ctypes.c_int] * 8 + [ctypes.c_void_p] * 18,
    "error": [ctypes.c_int] * 6 + [ctypes.c_void_p] * 20,
    "encode": [ctypes.c_void_p],
    "iteration": [ctypes.c_void_p],
}
_RETURNS = {"error": ctypes.c_double, "iteration": ctypes.c_double}


@functools.cache
def library() -> ctypes.CDLL | None:
    """The compiled library, or None where there is none that can be used."""
    entries = {f"ndcn_{part}_{name}_plain": types for name in _NAMES.values() for part, types in _ARGUMENTS.items()}
    return shared_library(Path(__file__).parent, "_euler", ("ndcn_abi", ABI), entries, None)


@functools.cache
def instruction_set() -> str:
    """The best of the sets that the library was compiled for and that this machine has: "avx512", "avx2" or "plain"."""
    name = _library().ndcn_set
    name.restype = ctypes.c_char_p
    return str(name().decode())


def function(part: str, dtype: torch.dtype) -> Callable[..., Any]:
    """A function of the library, for the best instruction set of this machine."""
    _library()  # which says so if there is none
    return _function(part, dtype, instruction_set())


@functools.cache
def _function(part: str, dtype: torch.dtype, instructions: str) -> Callable[..., Any]:
    found = getattr(_library(), f"ndcn_{part}_{_NAMES[dtype]}_{instructions}")
    found.argtypes, found.restype = _ARGUMENTS[part], _RETURNS.get(part)
    return cast("Callable[..., Any]", found)


def _library() -> ctypes.CDLL:
    found = library()
    if found is None:
        raise RuntimeError("the compiled kernel is not available")
    return found


def kernel_in_use() -> str:
    """ "compiled" where the library was built, else "torch"; the last bits of their results differ."""
    return "torch" if library() is None else "compiled"


def pack(x: torch.Tensor) -> torch.Tensor:
    """A copy of a state (n, width) in panels, as the library wants it: (columns, n), of which only the size has a meaning."""
    n, width = x.shape
    out = empty(columns_of(width, x.dtype), n, like=x)
    for first, panel in _panels(out, width):
        part = x[:, first : first + panel.shape[1]]
        panel[:, : part.shape[1]] = part
        panel[:, part.shape[1] :] = 0
    return out


def unpack(state: torch.Tensor, width: int) -> torch.Tensor:
    """The other way: (n, width)."""
    out = state.new_empty(state.shape[1], width)
    for first, panel in _panels(state, width):
        part = out[:, first : first + panel.shape[1]]
        part.copy_(panel[:, : part.shape[1]])
    return out


def columns_of(width: int, dtype: torch.dtype) -> int:
    """Columns of a state in memory: whole panels."""
    wide, narrow = PANELS[dtype]
    whole, rest = divmod(width, wide)
    return whole * wide + (0 if rest == 0 else narrow if rest <= narrow else wide)


def _panels(state: torch.Tensor, width: int) -> Iterator[tuple[int, torch.Tensor]]:
    """The first column of each panel, and the panel, (n, its columns)."""
    columns, n = state.shape
    for first in range(0, width, PANELS[state.dtype][0]):
        lanes = min(PANELS[state.dtype][0], columns - first)
        yield first, state[first : first + lanes].view(n, lanes)


def forward(
    layer: Layer,
    steps: torch.Tensor,
    start: torch.Tensor,
    states: torch.Tensor | None,
    slopes: torch.Tensor | None,
    keep: bool,
) -> tuple[torch.Tensor, Tape]:
    """See ``euler_torch.forward``; start and end are in panels. The tape holds the slopes, some states and the end."""
    phi, weight, bias, readout = layer
    columns, n = start.shape
    count, extra = len(steps), int(slopes is not None and len(slopes) > len(steps))
    threads = threads_for(start.numel())
    here, there = start, take(columns, n, like=start)
    kept = take(count + extra if keep else 0, columns, n, like=start)
    known = take(-(-count // KNOWN) if keep else 0, columns, n, like=start)
    _call(
        "forward", start.dtype,
        n, len(weight), columns, len(readout), count, int(states is not None and len(states) > count), extra, int(keep), threads,
        *phi.arrays(start.dtype), _pad(weight.t(), columns), _pad(bias.reshape(1, -1), columns), _pad(readout, columns),
        steps, here, there, kept, known, states, slopes, start.new_empty(threads, 2, BLOCK, columns),
    )  # fmt: skip
    end, other = (there, here) if count % 2 else (here, there)
    give(other)
    return end, (kept, known, end) if keep else ()


def backward(
    layer: Layer,
    steps: torch.Tensor,
    tape: Tape,
    grad_states: torch.Tensor,
    grad_slopes: torch.Tensor | None,
    grad: torch.Tensor,
    sums: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    again: bool,
) -> None:
    """See ``euler_torch.backward``; grad is in panels."""
    phi, weight, _, readout = layer
    kept, known, end = tape
    columns, n = end.shape
    count, width, d = len(steps), len(weight), len(readout)
    threads = threads_for(end.numel())
    masked = take(2, columns, n, like=end)
    totals = [end.new_zeros(rows, columns, dtype=torch.float64) for rows in (width, 1, d)]
    _call(
        "backward", end.dtype,
        n, width, columns, d, count, int(len(grad_states) > count), len(kept) - count, threads,
        *phi.T.arrays(end.dtype), _pad(weight, columns), _pad(readout, columns), steps, end.clone() if again else end, kept, known,
        grad_states.contiguous(), None if grad_slopes is None else grad_slopes.contiguous(),
        grad, masked, end.new_empty(threads, 2, BLOCK, columns),
        end.new_empty(threads, width + 1 + d, columns), *totals,
    )  # fmt: skip
    for into, total in zip(sums, totals, strict=True):
        into += total[:, :width].reshape(into.shape)
    give(kept, known, masked)


def error(
    states: torch.Tensor, slopes: torch.Tensor | None, bias: torch.Tensor, at: Schedule, comparison: Comparison
) -> torch.Tensor:
    """See ``euler_torch.error``."""
    if comparison.name not in PENALTIES:
        return euler_torch.error(states, slopes, bias, at, comparison)
    count, n, d = states.shape
    times, dtype = len(comparison.states), states.dtype
    threads = threads_for(states[0].numel())
    matrices: list[torch.Tensor | None] = []
    for matrix in (at.at_states, at.at_slopes):
        matrices += [None] * 6 if matrix is None else [*matrix.arrays(dtype), *matrix.T.arrays(dtype)]
    value = _call(
        "error", dtype,
        times, count, n, d, PENALTIES[comparison.name], threads, *matrices, states, slopes, bias.contiguous(),
        comparison.states.contiguous(), None if comparison.mask is None else comparison.mask.contiguous(),
        comparison.weights.contiguous(), states.new_empty(threads, times, MANY), states.new_empty(threads, dtype=torch.float64),
    )  # fmt: skip
    return states.new_tensor(value)


def threads_for(numbers: int) -> int:
    """One for states of so many numbers if they fit into the cache, else as many as torch uses."""
    compiled = library()
    if compiled is None or numbers < WORTH_TWO:
        return 1
    return min(torch.get_num_threads(), int(compiled.ndcn_threads()))


def _call(part: str, dtype: torch.dtype, *arguments: int | torch.Tensor | None) -> Any:
    return function(part, dtype)(*(a.data_ptr() if isinstance(a, torch.Tensor) else a for a in arguments))


def _pad(x: torch.Tensor, columns: int) -> torch.Tensor:
    if x.shape[-1] == columns:
        return x.contiguous()
    out = x.new_zeros(*x.shape[:-1], columns)
    out[..., : x.shape[-1]] = x
    return out
