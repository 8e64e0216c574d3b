"""The same two functions as ``euler_torch``, in C: the shared library, if it was built, called through ctypes."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

import torch

from ..._support.threads import WORTH_TWO
from .buffers import empty, give, take
from .euler_torch import Layer, Tape
from .shared_library import shared_library

ABI = 4
LANES = {torch.float32: 8, torch.float64: 4}
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
    entries = {f"ndcn_{part}_{name}": types for name in _NAMES.values() for part, types in _ARGUMENTS.items()}
    return shared_library(Path(__file__).parent, "_euler", ("ndcn_abi", ABI), entries, None)


def kernel_in_use() -> str:
    """ "compiled" where the library was built, else "torch"; the last bits of their results differ."""
    return "torch" if library() is None else "compiled"


def padded(width: int, dtype: torch.dtype) -> int:
    """Columns of a state in memory: the width, rounded up to whole vectors."""
    lanes = LANES[dtype]
    return -(-width // lanes) * lanes


def forward(
    layer: Layer,
    steps: torch.Tensor,
    start: torch.Tensor,
    states: torch.Tensor,
    slopes: torch.Tensor | None,
    keep: bool,
) -> tuple[torch.Tensor, Tape]:
    """See ``euler_torch.forward``; start and end have ``padded`` columns. The tape holds the slopes, some states and the end."""
    phi, weight, bias, readout = layer
    n, columns = start.shape
    count, extra = len(steps), int(slopes is not None and len(slopes) > len(steps))
    threads = _threads(start)
    here, there = start, empty(n, columns, like=start)
    kept = take(count + extra if keep else 0, n, columns, like=start)
    known = take(-(-count // KNOWN) if keep else 0, n, columns, like=start)
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
    """See ``euler_torch.backward``; grad has ``padded`` columns."""
    phi, weight, _, readout = layer
    kept, known, end = tape
    n, columns = end.shape
    count, width, d = len(steps), len(weight), len(readout)
    threads = _threads(end)
    totals = [end.new_zeros(rows, columns, dtype=torch.float64) for rows in (width, 1, d)]
    _call(
        "backward", end.dtype,
        n, width, columns, d, count, int(len(grad_states) > count), len(kept) - count, threads,
        *phi.T.arrays(end.dtype), _pad(weight, columns), _pad(readout, columns), steps, end.clone() if again else end, kept, known,
        grad_states.contiguous(), None if grad_slopes is None else grad_slopes.contiguous(),
        grad, empty(n, columns, like=grad), end.new_empty(threads, 2, BLOCK, columns),
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


def _call(function: str, dtype: torch.dtype, *arguments: int | torch.Tensor | None) -> None:
    compiled = library()
    if compiled is None:
        raise RuntimeError("the compiled kernel is not available")
    entry = getattr(compiled, f"ndcn_{function}_{_NAMES[dtype]}")
    entry(*(a.data_ptr() if isinstance(a, torch.Tensor) else a for a in arguments))


def _pad(x: torch.Tensor, columns: int) -> torch.Tensor:
    if x.shape[-1] == columns:
        return x.contiguous()
    out = x.new_zeros(*x.shape[:-1], columns)
    out[..., : x.shape[-1]] = x
    return out
