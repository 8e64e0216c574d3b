"""Recurrent cells in C (``cells.c``): a loop of many tiny steps, and its gradient, in one call each."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.autograd.function import once_differentiable

from .._support.shared_library import shared_library

ABI = 1
CELLS: tuple[type[nn.RNNBase], ...] = (nn.RNN, nn.GRU, nn.LSTM)  # in the order of ``cells.c``
TYPES = {torch.float32: "f32", torch.float64: "f64"}


@functools.cache
def _library() -> ctypes.CDLL | None:
    count = {"forward": 6, "backward": 12}
    entries = {
        f"ndcn_cells_{name}_{kind}": [*[ctypes.c_int64] * 3, *[ctypes.c_void_p] * pointers]
        for name, pointers in count.items()
        for kind in TYPES.values()
    }
    return shared_library(Path(__file__).parent, "_cells", ("ndcn_cells_abi", ABI), entries, None)


def unrolled(cell: nn.RNNBase, inputs: torch.Tensor) -> torch.Tensor | None:
    """s_k = cell(u_k, s_k-1) for k = 1 .. T from s_0 = 0; None where there is no compiled kernel for it.

    Args:
        cell: of one layer, with biases; its state s is h, of an LSTM h and then c.
        inputs: u_k = W_ih x_k + b_ih of the cell, shape (T, gates).

    Returns:
        s_1 .. s_T, shape (T, width), with gradients to the inputs and to the cell's own weights.

    Example:
        >>> import torch
        >>> cell = torch.nn.GRU(3, 2)
        >>> x = torch.rand(4, 3)
        >>> states = unrolled(cell, torch.nn.functional.linear(x, cell.weight_ih_l0, cell.bias_ih_l0))
        >>> states is None or torch.allclose(states, cell(x)[0], atol=1e-6)
        True
    """
    _, weight, _, bias = cell.all_weights[0]
    if _library() is None or type(cell) not in CELLS or inputs.dtype not in TYPES or inputs.device.type != "cpu":
        return None
    found: torch.Tensor = _Unrolled.apply(CELLS.index(type(cell)), inputs, weight, bias)
    return found


def _call(name: str, dtype: torch.dtype, cell: int, shape: tuple[int, int], *arrays: torch.Tensor) -> None:
    library = _library()
    assert library is not None
    function = getattr(library, f"ndcn_cells_{name}_{TYPES[dtype]}")
    function(cell, *shape, *(array.data_ptr() for array in arrays))


class _Unrolled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, cell: int, inputs: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        inputs, weight, bias = (t.detach().contiguous() for t in (inputs, weight, bias))
        width = weight.shape[1]
        start = inputs.new_zeros(width * (2 if CELLS[cell] is nn.LSTM else 1))
        states = inputs.new_empty(len(inputs), len(start))
        given = (inputs, start, weight, bias)
        _call("forward", inputs.dtype, cell, (len(inputs), width), *given, torch.empty_like(bias), states)
        ctx.cell = cell
        ctx.save_for_backward(*given, states)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        inputs, start, weight, bias, states = ctx.saved_tensors
        gates = torch.empty_like(bias), torch.empty_like(bias)
        found = torch.empty_like(inputs), torch.zeros_like(weight), torch.zeros_like(bias)
        pull = torch.zeros_like(start)
        arrays = (inputs, start, weight, bias, states, grads[0].contiguous(), *gates, pull, *found)
        _call("backward", inputs.dtype, ctx.cell, (len(inputs), weight.shape[1]), *arrays)
        return None, *found
