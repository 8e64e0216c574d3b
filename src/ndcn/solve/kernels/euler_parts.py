"""The same functions as ``euler_torch`` for one part of a graph: products exchange boundary states with other processes."""

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
    """See ``euler_torch.forward``; without ``keep`` two states are held, not all."""
    n, width = start.shape
    count = len(steps)
    total = count if slopes is None else len(slopes)
    spread, transposed, sizes = torch.empty_like(start), layer.weight.t(), steps.tolist()
    readout = layer.readout.t()
    kept = take(count + 1, n, width, like=start) if keep else take(2, n, width, like=start)
    kept_slopes = take(total if keep else 1, n, width, like=start)
    rows = kept.unbind() if keep else [kept[k % 2] for k in range(count + 1)]
    rows[0].copy_(start)
    for k in range(count + 1):
        if states is not None and k < len(states):
            torch.mm(rows[k], readout, out=states[k])
        if k >= total:
            break
        slope = kept_slopes[k if keep else 0]
        layer.phi.multiply(rows[k], spread)
        torch.addmm(layer.bias, spread, transposed, out=slope).relu_()
        if slopes is not None:
            torch.mm(slope, readout, out=slopes[k])
        if k < count:
            torch.add(rows[k], slope, alpha=sizes[k], out=rows[k + 1])
    end = rows[count].clone()
    if not keep:
        give(kept, kept_slopes)
        return end, ()
    return end, (kept, kept_slopes)


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
    states, slopes = tape
    sum_weight, sum_bias, sum_readout = sums
    sizes, readout = steps.tolist(), layer.readout
    masked, spread = torch.empty_like(grad), torch.empty_like(grad)
    for k in range(len(grad_states) - 1, -1, -1):
        if k < len(slopes):
            later = grad * (sizes[k] if k < len(sizes) else 0.0)
            if grad_slopes is not None:
                later.addmm_(grad_slopes[k], readout)
                sum_readout += grad_slopes[k].t() @ slopes[k]
            torch.ops.aten.threshold_backward.grad_input(later, slopes[k], 0, grad_input=masked)
            layer.phi.multiply_transposed(masked, spread)
            grad.addmm_(spread, layer.weight)
            sum_weight += spread.t() @ states[k]
            sum_bias += masked.sum(dim=0)
        grad.addmm_(grad_states[k], readout)
        sum_readout += grad_states[k].t() @ states[k]
    give(states, slopes)
