"""Euler steps of dX/dt = relu(Phi X W^T + b) and their gradients, in torch with reused buffers."""

from __future__ import annotations

import torch

from ..sparse import SparseMatrix


def padded(width: int, dtype: torch.dtype) -> int:
    """Columns of a state in memory."""
    return width


def forward(
    phi: SparseMatrix,
    weight: torch.Tensor,
    bias: torch.Tensor,
    steps: torch.Tensor,
    states: torch.Tensor,
    slopes: torch.Tensor,
) -> None:
    """Fill states[k + 1] = states[k] + steps[k] slopes[k], slopes[k] = relu(Phi states[k] W^T + b).

    states: (steps + 1, n, h) with states[0] given. slopes: (steps, n, h), or one more to get the slope of the last state.
    """
    matrix = phi.tensor(states.dtype, states.device)
    transposed, spread = weight.t(), torch.empty_like(states[0])
    sizes, rows = steps.tolist(), states.unbind()
    for k, slope in enumerate(slopes.unbind()):
        torch.addmm(spread, matrix, rows[k], beta=0, out=spread)
        torch.addmm(bias, spread, transposed, out=slope).relu_()
        if k < len(sizes):
            torch.add(rows[k], slope, alpha=sizes[k], out=rows[k + 1])


def read(states: torch.Tensor, readout: torch.Tensor, out: torch.Tensor) -> None:
    """out = states readout^T, shape (steps, n, d)."""
    torch.mm(states.flatten(0, 1), readout.t(), out=out.flatten(0, 1))


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
    """Go back along the steps: ``grad`` is dL/dstates[-1] on entry and dL/dstates[0] on return.

    grad_states, grad_slopes: gradients of what was handed out, (outputs, n, d) of states and slopes times ``readout``^T,
    or (outputs, n, h) of themselves; ``tail`` says whether the last state is among them. The gradients of weight, bias
    and readout are added to ``sums`` in float64.
    """
    matrix, sizes = phi.T.tensor(states.dtype, states.device), steps.tolist()
    masked, spread = torch.empty_like(slopes), torch.empty_like(slopes)  # dL/dZ_k, Phi^T dL/dZ_k
    from_slopes = None if grad_slopes is None else _expand(grad_slopes, readout)
    outputs, all_slopes = grad_states.unbind(), slopes.unbind()
    all_masked, all_spread = masked.unbind(), spread.unbind()
    for k in range(len(sizes) - (not tail), -1, -1):
        if k < len(all_slopes):
            size = sizes[k] if k < len(sizes) else 0.0
            later = grad * size if from_slopes is None else torch.add(from_slopes[k], grad, alpha=size)
            torch.ops.aten.threshold_backward.grad_input(later, all_slopes[k], 0, grad_input=all_masked[k])
            torch.addmm(all_spread[k], matrix, all_masked[k], beta=0, out=all_spread[k])
            grad.addmm_(all_spread[k], weight)
        if readout is None:
            grad += outputs[k]
        else:
            grad.addmm_(outputs[k], readout)
    sum_weight, sum_bias, sum_readout = sums
    sum_weight += spread.flatten(0, 1).t() @ states[: len(slopes)].flatten(0, 1)
    sum_bias += masked.sum(dim=(0, 1))
    if sum_readout is not None:
        sum_readout += grad_states.flatten(0, 1).t() @ states[: len(grad_states)].flatten(0, 1)
        if grad_slopes is not None:
            sum_readout += grad_slopes.flatten(0, 1).t() @ slopes.flatten(0, 1)


def _expand(output: torch.Tensor, readout: torch.Tensor | None) -> torch.Tensor:
    """The gradient of states or slopes, from that of what was handed out of them."""
    return output if readout is None else output @ readout
