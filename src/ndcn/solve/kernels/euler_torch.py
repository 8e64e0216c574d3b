"""Euler steps of dX/dt = relu(Phi X W^T + b) and their gradients, in torch with reused buffers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from .buffers import give, take

if TYPE_CHECKING:
    from .euler import Schedule

Tape = tuple[torch.Tensor, ...]


class Layer(NamedTuple):
    """Phi, W and b of the field, and the readout R."""

    phi: Any  # a SparseMatrix, or in parts a HaloMatrix
    weight: torch.Tensor
    bias: torch.Tensor
    readout: torch.Tensor


@dataclass(frozen=True)
class Comparison:
    """sum_t weights[t] sum value(X(t) - states[t]) over the entries in the mask: what a trajectory is compared with.

    Attributes:
        states: what was observed, (T, n, d).
        mask: which entries count, (T, n, d), boolean; None for all.
        weights: of an entry at each time, (T, 1, 1).
        name: of the penalty; a compiled kernel has its own for names that it knows.
        value: the penalty of an error, element by element.
        slope: its derivative.
    """

    states: torch.Tensor
    mask: torch.Tensor | None
    weights: torch.Tensor
    name: str
    value: Callable[[torch.Tensor], torch.Tensor]
    slope: Callable[[torch.Tensor], torch.Tensor]


def pack(x: torch.Tensor) -> torch.Tensor:
    """A copy of a state (n, width), as ``forward`` and ``backward`` want it."""
    return x.clone()


def unpack(state: torch.Tensor, width: int) -> torch.Tensor:
    """The other way: (n, width)."""
    return state


def forward(
    layer: Layer,
    steps: torch.Tensor,
    start: torch.Tensor,
    states: torch.Tensor | None,
    slopes: torch.Tensor | None,
    keep: bool,
) -> tuple[torch.Tensor, Tape]:
    """Go along the steps: X_{k+1} = X_k + steps[k] S_k, S_k = relu(Phi X_k W^T + b), from X_0 = start.

    Fills states[k] = X_k R^T, (steps, n, d) or one more for the end, and slopes[k] = S_k R^T likewise, if they are given. Returns the end
    and, with ``keep``, what ``backward`` needs. ``start`` may be overwritten.
    """
    n, width = start.shape
    count = len(steps)
    total = count if slopes is None else len(slopes)
    matrix, readout = layer.phi.tensor(start.dtype, start.device), layer.readout
    transposed, spread = layer.weight.t(), torch.empty_like(start)
    all_states, all_slopes = take(count + 1, n, width, like=start), take(total, n, width, like=start)
    rows, sizes = all_states.unbind(), steps.tolist()
    rows[0].copy_(start)
    for k, slope in enumerate(all_slopes.unbind()):
        torch.addmm(spread, matrix, rows[k], beta=0, out=spread)
        torch.addmm(layer.bias, spread, transposed, out=slope).relu_()
        if k < count:
            torch.add(rows[k], slope, alpha=sizes[k], out=rows[k + 1])
    if states is not None:
        torch.mm(all_states[: len(states)].flatten(0, 1), readout.t(), out=states.flatten(0, 1))
    if slopes is not None:
        torch.mm(all_slopes.flatten(0, 1), readout.t(), out=slopes.flatten(0, 1))
    end = rows[-1].clone()
    if not keep:
        give(all_states, all_slopes)
        return end, ()
    return end, (all_states, all_slopes)


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
    """Go back along the steps: ``grad`` is dL/dX at the end from later steps on entry, and dL/dX_0 on return.

    grad_states, grad_slopes: gradients of what ``forward`` filled. The gradients of weight, bias and readout are added to
    ``sums`` in float64. ``again`` says that the tape may be needed once more, so that nothing in it may change.
    """
    states, slopes = tape
    readout, sizes = layer.readout, steps.tolist()
    matrix = layer.phi.T.tensor(states.dtype, states.device)
    masked, spread = torch.empty_like(slopes), torch.empty_like(slopes)  # dL/dZ_k, Phi^T dL/dZ_k
    outputs, all_slopes = grad_states.unbind(), slopes.unbind()
    all_masked, all_spread = masked.unbind(), spread.unbind()
    for k in range(len(outputs) - 1, -1, -1):
        if k < len(all_slopes):
            later = grad * (sizes[k] if k < len(sizes) else 0.0)
            if grad_slopes is not None:
                later.addmm_(grad_slopes[k], readout)
            torch.ops.aten.threshold_backward.grad_input(later, all_slopes[k], 0, grad_input=all_masked[k])
            torch.addmm(all_spread[k], matrix, all_masked[k], beta=0, out=all_spread[k])
            grad.addmm_(all_spread[k], layer.weight)
        grad.addmm_(outputs[k], readout)
    sum_weight, sum_bias, sum_readout = sums
    sum_weight += spread.flatten(0, 1).t() @ states[: len(slopes)].flatten(0, 1)
    sum_bias += masked.sum(dim=(0, 1))
    sum_readout += grad_states.flatten(0, 1).t() @ states[: len(outputs)].flatten(0, 1)
    if grad_slopes is not None:
        sum_readout += grad_slopes.flatten(0, 1).t() @ slopes.flatten(0, 1)
    give(states, slopes)


def error(
    states: torch.Tensor, slopes: torch.Tensor | None, bias: torch.Tensor, at: Schedule, comparison: Comparison
) -> torch.Tensor:
    """The loss of a trajectory; ``states`` and ``slopes``, as ``forward`` fills them, are replaced by its gradients."""
    flat = states.flatten(1) if at.at_states is None else at.at_states @ states.flatten(1)
    if slopes is not None and at.at_slopes is not None:
        flat = flat + at.at_slopes @ slopes.flatten(1)
    errors = flat.view(comparison.states.shape) + bias - comparison.states
    if comparison.mask is not None:
        errors.masked_fill_(~comparison.mask, 0.0)
    total = (comparison.value(errors).sum(dim=(1, 2), keepdim=True) * comparison.weights).sum()
    gradient = (comparison.slope(errors) * comparison.weights).flatten(1)
    states.copy_((gradient if at.at_states is None else at.at_states.T @ gradient).view_as(states))
    if slopes is not None and at.at_slopes is not None:
        slopes.copy_((at.at_slopes.T @ gradient).view_as(slopes))
    return total
