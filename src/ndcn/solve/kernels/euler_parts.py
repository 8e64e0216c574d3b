"""The same functions as ``euler_torch`` for one part of a graph: products exchange boundary states with other processes.

Networks in parts are large, so that memory counts: without a tape a segment holds one state, a slope and a product; a tape holds a
state for each step and, where no slope is handed out, one byte for each entry that says whether relu let it through.
"""

from __future__ import annotations

import torch

from .buffers import give, take
from .euler_torch import Layer, Tape, error as error, pack as pack, unpack as unpack


def forward(
    layer: Layer,
    steps: torch.Tensor,
    start: torch.Tensor,
    states: torch.Tensor | None,
    slopes: torch.Tensor | None,
    keep: bool,
) -> tuple[torch.Tensor, Tape]:
    """See ``euler_torch.forward``; ``start`` becomes the end without ``keep``, and belongs to the tape with it."""
    n, width = start.shape
    count = len(steps)
    total = count if slopes is None else len(slopes)
    transposed, readout, sizes = layer.weight.t(), layer.readout.t(), steps.tolist()
    # the state at the end is part of the tape where it is handed out; else whoever keeps the tape needs it not
    ends = count if states is not None and len(states) > count else count - 1
    later = take(max(ends, 0), n, width, like=start) if keep else None
    rows = [start] * (count + 1) if later is None else [start, *later.unbind()]
    spread, scratch = take(n, width, like=start), take(n, width, like=start)
    tape = (
        take(total, n, width, like=start if slopes is not None else start.new_empty(0, dtype=torch.bool))
        if keep
        else None
    )
    for k in range(len(rows)):
        if states is not None and k < len(states):
            torch.mm(rows[k], readout, out=states[k])
        if k >= total:
            break
        slope = scratch if tape is None or slopes is None else tape[k]
        layer.phi.multiply(rows[k], spread)
        torch.addmm(layer.bias, spread, transposed, out=slope).relu_()
        if slopes is not None:
            torch.mm(slope, readout, out=slopes[k])
        elif tape is not None:
            torch.le(slope, 0, out=tape[k])
        if k + 1 < len(rows) and k < count:
            torch.add(rows[k], slope, alpha=sizes[k], out=rows[k + 1])
    give(spread, scratch)
    return rows[-1], () if later is None or tape is None else (start, later, tape)


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
    """See ``euler_torch.backward``; gradients of weights are added step by step, so that one step's arrays are held."""
    start, later, slopes = tape
    states = [start, *later.unbind()]
    sum_weight, sum_bias, sum_readout = sums
    sizes, readout = steps.tolist(), layer.readout
    masked, spread = take(*grad.shape, like=grad), take(*grad.shape, like=grad)
    for k in range(len(grad_states) - 1, -1, -1):
        if k < len(slopes):
            torch.mul(grad, sizes[k] if k < len(sizes) else 0.0, out=masked)
            if grad_slopes is not None:
                masked.addmm_(grad_slopes[k], readout)
                sum_readout += grad_slopes[k].t() @ slopes[k]
                torch.ops.aten.threshold_backward.grad_input(masked, slopes[k], 0, grad_input=masked)
            else:
                masked.masked_fill_(slopes[k], 0.0)
            layer.phi.multiply_transposed(masked, spread)
            grad.addmm_(spread, layer.weight)
            sum_weight += spread.t() @ states[k]
            sum_bias += masked.sum(dim=0)
        grad.addmm_(grad_states[k], readout)
        sum_readout += grad_states[k].t() @ states[k]
    give(later, slopes, masked, spread)
