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
    transposed = weight.t()
    for k, slope in enumerate(slopes):
        torch.addmm(bias, matrix @ states[k], transposed, out=slope)
        slope.relu_()
        if k < len(steps):
            torch.add(states[k], slope, alpha=steps[k].item(), out=states[k + 1])


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
    count = len(steps)
    matrix = phi.T.tensor(states.dtype, states.device)
    spread = torch.zeros_like(slopes)
    total = states.new_zeros(len(weight))
    for k in range(count if tail else count - 1, -1, -1):
        if k < len(slopes):
            out = grad * steps[k].item() if k < count else torch.zeros_like(grad)
            if grad_slopes is not None:
                out = _add(out, grad_slopes[k], readout)
            out = torch.where(slopes[k] > 0, out, 0.0)
            total += out.sum(dim=0)
            spread[k] = matrix @ out
            grad.addmm_(spread[k], weight)
        grad.copy_(_add(grad, grad_states[k], readout))
    sum_weight, sum_bias, sum_readout = sums
    used = len(slopes)
    sum_weight += spread.flatten(0, 1).t() @ states[:used].flatten(0, 1)
    sum_bias += total
    if sum_readout is not None:
        handed = states[: len(grad_states)]
        sum_readout += grad_states.flatten(0, 1).t() @ handed.flatten(0, 1)
        if grad_slopes is not None:
            sum_readout += grad_slopes.flatten(0, 1).t() @ slopes.flatten(0, 1)


def _add(grad: torch.Tensor, output: torch.Tensor, readout: torch.Tensor | None) -> torch.Tensor:
    return grad + output if readout is None else torch.addmm(grad, output, readout)
