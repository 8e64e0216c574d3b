"""The same two functions as ``euler_torch``, in C: the shared library, if it was built, called through ctypes."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import torch

from ..._support.threads import WORTH_TWO
from .buffers import empty, give, take
from .euler_torch import Layer, Tape
from .shared_library import shared_library

ABI = 5
PANELS = {
    torch.float32: (16, 4),
    torch.float64: (8, 2),
}  # columns of a wide panel of a state, and of the last, narrow one
BLOCK = 64  # rows of the library's cache block
KNOWN = 8  # steps between the states that it keeps

_NAMES = {torch.float32: "f32", torch.float64: "f64"}
_ARGUMENTS = {
    "forward": [ctypes.c_int] * 9 + [ctypes.c_void_p] * 14,
    "backward": [ctypes.c_int] * 8 + [ctypes.c_void_p] * 18,
}


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


@functools.cache
def _function(part: str, dtype: torch.dtype, instructions: str) -> Callable[..., None]:
    function = getattr(_library(), f"ndcn_{part}_{_NAMES[dtype]}_{instructions}")
    function.argtypes, function.restype = _ARGUMENTS[part], None
    return cast("Callable[..., None]", function)


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
    out = empty(_columns(width, x.dtype), n, like=x)
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


def _columns(width: int, dtype: torch.dtype) -> int:
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
    states: torch.Tensor,
    slopes: torch.Tensor | None,
    keep: bool,
) -> tuple[torch.Tensor, Tape]:
    """See ``euler_torch.forward``; start and end are in panels. The tape holds the slopes, some states and the end."""
    phi, weight, bias, readout = layer
    columns, n = start.shape
    count, extra = len(steps), int(slopes is not None and len(slopes) > len(steps))
    threads = _threads(start)
    here, there = start, empty(columns, n, like=start)
    kept = take(count + extra if keep else 0, columns, n, like=start)
    known = take(-(-count // KNOWN) if keep else 0, columns, n, like=start)
    _call(
        "forward", start.dtype,
        n, len(weight), columns, len(readout), count, int(len(states) > count), extra, int(keep), threads,
        *phi.arrays(start.dtype), _pad(weight.t(), columns), _pad(bias.reshape(1, -1), columns), _pad(readout, columns),
        steps, here, there, kept, known, states, slopes, start.new_empty(threads, 2, BLOCK, columns),
    )  # fmt: skip
    end = there if count % 2 else here
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
    threads = _threads(end)
    totals = [end.new_zeros(rows, columns, dtype=torch.float64) for rows in (width, 1, d)]
    _call(
        "backward", end.dtype,
        n, width, columns, d, count, int(len(grad_states) > count), len(kept) - count, threads,
        *phi.T.arrays(end.dtype), _pad(weight, columns), _pad(readout, columns), steps, end.clone() if again else end, kept, known,
        grad_states.contiguous(), None if grad_slopes is None else grad_slopes.contiguous(),
        grad, empty(2, columns, n, like=grad), end.new_empty(threads, 2, BLOCK, columns),
        end.new_empty(threads, width + 1 + d, columns), *totals,
    )  # fmt: skip
    for into, total in zip(sums, totals, strict=True):
        into += total[:, :width].reshape(into.shape)
    give(kept, known)


def _threads(state: torch.Tensor) -> int:
    """One for states that fit into the cache, else as many as torch uses."""
    compiled = library()
    if compiled is None or state.numel() < WORTH_TWO:
        return 1
    return min(torch.get_num_threads(), int(compiled.ndcn_threads()))


def _call(part: str, dtype: torch.dtype, *arguments: int | torch.Tensor | None) -> None:
    _library()  # which says so if there is none
    function = _function(part, dtype, instruction_set())
    function(*(a.data_ptr() if isinstance(a, torch.Tensor) else a for a in arguments))


def _pad(x: torch.Tensor, columns: int) -> torch.Tensor:
    if x.shape[-1] == columns:
        return x.contiguous()
    out = x.new_zeros(*x.shape[:-1], columns)
    out[..., : x.shape[-1]] = x
    return out
