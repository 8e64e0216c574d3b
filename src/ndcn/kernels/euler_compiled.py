"""The same two functions as ``euler_torch``, in C: the shared library, if it was built, called through ctypes."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

import torch

from ..sparse import SparseMatrix

ABI = 1
LANES = {torch.float32: 8, torch.float64: 4}
BLOCK = 64  # rows of the library's cache block

_NAMES = {torch.float32: "f32", torch.float64: "f64"}
_ARGUMENTS = {
    "forward": [ctypes.c_int] * 5 + [ctypes.c_void_p] * 9,
    "read": [ctypes.c_int64] + [ctypes.c_int] * 2 + [ctypes.c_void_p] * 3,
    "backward": [ctypes.c_int] * 7 + [ctypes.c_void_p] * 19,
}


@functools.cache
def library() -> ctypes.CDLL | None:
    """The compiled library, or None where there is none that can be used."""
    for path in sorted(Path(__file__).parent.glob("_euler*")):
        try:
            found = ctypes.CDLL(str(path))
            if found.ndcn_abi() != ABI:
                continue
            for name in _NAMES.values():
                for function, arguments in _ARGUMENTS.items():
                    entry = getattr(found, f"ndcn_{function}_{name}")
                    entry.argtypes, entry.restype = arguments, None
        except (OSError, AttributeError):  # built for another system, or from other sources
            continue
        return found
    return None


def padded(width: int, dtype: torch.dtype) -> int:
    """Columns of a state in memory: the width, rounded up to whole vectors."""
    lanes = LANES[dtype]
    return -(-width // lanes) * lanes


def forward(
    phi: SparseMatrix,
    weight: torch.Tensor,
    bias: torch.Tensor,
    steps: torch.Tensor,
    states: torch.Tensor,
    slopes: torch.Tensor,
) -> None:
    """See ``ndcn.kernels.euler_torch.forward``; states and slopes have ``padded`` columns."""
    n, columns = states.shape[1:]
    width = len(weight)
    ptr, idx, val = phi.arrays(states.dtype)
    w, b = _pad(weight.t(), columns), _pad(bias.reshape(1, -1), columns)
    scratch = states.new_empty(BLOCK, columns)
    _call(
        "forward", states.dtype,
        n, width, columns, len(steps), len(slopes) - len(steps),
        ptr, idx, val, w, b, steps, states, slopes, scratch,
    )  # fmt: skip


def read(states: torch.Tensor, readout: torch.Tensor, out: torch.Tensor) -> None:
    """See ``ndcn.kernels.euler_torch.read``; states have ``padded`` columns."""
    rows, columns = states.shape[0] * states.shape[1], states.shape[2]
    _call("read", states.dtype, rows, columns, len(readout), states, _pad(readout, columns), out)


def backward(
    phi: SparseMatrix,
    weight: torch.Tensor,
    readout: torch.Tensor | None,
    steps: torch.Tensor,
    states: torch.Tensor,
    slopes: torch.Tensor,
    tail: bool,
    grad_states: torch.Tensor,
    grad_slopes: torch.Tensor | None,
    grad: torch.Tensor,
    sums: tuple[torch.Tensor, torch.Tensor, torch.Tensor | None],
) -> None:
    """See ``ndcn.kernels.euler_torch.backward``; states, slopes and grad have ``padded`` columns."""
    n, columns = states.shape[1:]
    width = len(weight)
    d = 0 if readout is None else len(readout)
    ptr, idx, val = phi.T.arrays(states.dtype)
    w = _pad(weight, columns)
    r = None if readout is None else _pad(readout, columns)
    scratch = states.new_empty(BLOCK, columns)
    part = states.new_empty(width + 1 + d, columns)
    totals = [states.new_zeros(rows, columns, dtype=torch.float64) for rows in (width, 1, d)]
    own = None if readout is not None else _pad(grad_states, columns)
    own_slopes = None if readout is not None or grad_slopes is None else _pad(grad_slopes, columns)
    read = None if readout is None else grad_states.contiguous()
    read_slopes = None if readout is None or grad_slopes is None else grad_slopes.contiguous()
    _call(
        "backward", states.dtype,
        n, width, columns, d, len(steps), int(tail), len(slopes) - len(steps),
        ptr, idx, val, w, r, steps, states, slopes, own, own_slopes, read, read_slopes,
        grad, torch.empty_like(grad), scratch, part, *totals,
    )  # fmt: skip
    for into, total in zip(sums, totals, strict=True):
        if into is not None:
            into += total[:, :width].reshape(into.shape)


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
