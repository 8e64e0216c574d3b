"""A recurrence s_k = step(u_k, s_k-1) over many small steps, with its gradient in one batched pass.

Going back through a loop of tiny operations costs more in bookkeeping than in arithmetic. Here the loop runs without
it; the Jacobians of all steps are then computed together, and only the product with them is a loop:

    lambda_k = g_k + J_k+1^T lambda_k+1,     J_k = d step(u_k, s_k-1) / d s_k-1
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd.function import once_differentiable

Step = Callable[..., torch.Tensor]  # (input (..., m), state (..., s), *weights) -> state (..., s)
AT_ONCE = 2_000_000  # entries of all Jacobians together, above which the plain loop is taken


def unroll(step: Step, inputs: torch.Tensor, start: torch.Tensor, weights: Sequence[torch.Tensor]) -> torch.Tensor:
    """s_k = step(u_k, s_k-1, *weights) for k = 1 .. T from s_0 = start.

    Inputs u have shape (T, m), start (s,); returns s_1 .. s_T, shape (T, s). ``step`` takes any leading axes and treats
    them independently; gradients also go to the weights.

    Example:
        >>> import torch
        >>> from ndcn.neural.recurrence import unroll
        >>> unroll(lambda u, s, w: u + w * s, torch.ones(3, 1), torch.zeros(1), [torch.tensor(2.0)]).T
        tensor([[1., 3., 7.]])
    """
    if len(inputs) * len(start) ** 2 > AT_ONCE:
        return loop(step, inputs, start, weights)
    states: torch.Tensor = _Unrolled.apply(step, inputs, start, *weights)
    return states


def loop(step: Step, inputs: torch.Tensor, start: torch.Tensor, weights: Sequence[torch.Tensor]) -> torch.Tensor:
    """The same, one step after the other."""
    states, state = [], start
    for u in inputs.unbind(0):
        state = step(u, state, *weights)
        states.append(state)
    return torch.stack(states)


class _Unrolled(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, step: Step, inputs: torch.Tensor, start: torch.Tensor, *weights: torch.Tensor
    ) -> torch.Tensor:
        states = loop(step, inputs, start, weights)
        ctx.step = step
        ctx.save_for_backward(inputs, start, states, *weights)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        inputs, start, states, *weights = (t.detach() for t in ctx.saved_tensors)
        before = torch.cat([start.unsqueeze(0), states[:-1]])
        size = len(start)
        with torch.enable_grad():
            many = before.expand(size, *before.shape).clone().requires_grad_()  # row i is for output i
            out = ctx.step(inputs, many, *weights)
            one = torch.eye(size, dtype=out.dtype, device=out.device).unsqueeze(1).expand_as(out)
            (jacobians,) = torch.autograd.grad(out, many, one)
        total = grads[0].clone()
        rows, transposed = total.unbind(0), jacobians.permute(1, 2, 0).unbind(0)
        for k in range(len(rows) - 2, -1, -1):
            rows[k].addmv_(transposed[k + 1], rows[k + 1])
        with torch.enable_grad():
            parts = [t.requires_grad_() for t in (inputs, before, *weights)]
            found = torch.autograd.grad(ctx.step(*parts), parts, total)
        return None, found[0], found[1][0], *found[2:]
