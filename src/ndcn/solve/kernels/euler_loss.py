"""The loss of an Euler trajectory and all its gradients as one autograd function.

L = sum_t w_t sum penalty(X(t) - observed(t)), X(t) = decoder(X_h(t)), X_h(t0) = encoder(x0), by the path of ``euler.py``.
A loss is one number, so its gradient is computed along with it: no state outlives the call, the errors take the place of
the outputs in memory, and autograd has one node to visit. The encoder tanh(X W_e^T + b_e) W_0^T + b_0 is part of it; any
other one comes before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch.autograd.function import once_differentiable

from ...graph import Graph
from ..methods.runge_kutta import explosion
from ..solver import Solver, all_finite
from . import euler, euler_torch
from .buffers import held
from .euler_torch import Comparison, Layer


def trajectory_loss(
    parts: tuple[nn.Module, nn.Module, nn.Module],
    graph: Graph,
    x0: torch.Tensor,
    times: Sequence[float],
    solver: Solver,
    t0: float,
    comparison: Comparison,
) -> torch.Tensor | None:
    """The loss of encoder, field and decoder (``parts``) from x0 at t0; None where this path does not apply.

    Raises:
        IntegrationError: the solution explodes, or the encoded state is not finite.
    """
    encoder, field, decoder = parts
    if solver.method != "euler" or solver.gradient == "adjoint" or x0.dim() != 2 or not _increasing(times, t0):
        return None
    inside = _encoder_weights(encoder, x0)
    width = x0.shape[1] if inside is None else len(inside[2])
    start = encoder(x0) if inside is None else x0.new_empty(1, 1).expand(len(x0), width)  # its shape
    backend = euler.backend(field, graph, start, solver.kernel)
    readout = euler.linear_readout(decoder, start)
    wanted = (len(times), len(x0), 0 if readout is None else len(readout.weight))
    if backend is None or readout is None or comparison.states.shape != wanted or comparison.states.dtype != x0.dtype:
        return None
    schedule = euler.schedule(times, solver, t0)
    weights = (*euler.weights_of(field, graph, start), readout.weight, _bias(readout))
    given = (x0, *inside, *weights) if inside is not None else (start, *weights)
    needed = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in given)
    with_slopes = schedule.at_slopes is not None
    segment = euler.segment_length(solver, len(schedule.steps), needed)
    plan = euler.Plan(euler.operator_of(field, graph), schedule.steps, with_slopes, segment, needed, backend)
    loss: torch.Tensor = _Loss.apply(_Problem(plan, schedule, comparison, t0, inside is not None), *given)
    return loss


def _increasing(times: Sequence[float], t0: float) -> bool:
    return len(times) > 0 and t0 <= times[0] and all(a < b for a, b in pairwise(times))


def _bias(linear: nn.Linear) -> torch.Tensor:
    return linear.weight.new_zeros(len(linear.weight)) if linear.bias is None else linear.bias


def _encoder_weights(encoder: nn.Module, x0: torch.Tensor) -> tuple[torch.Tensor, ...] | None:
    """W_e, b_e, W_0, b_0 of an encoder tanh(X W_e^T + b_e) W_0^T + b_0 for this state; None for any other."""
    if type(encoder) is not nn.Sequential or len(encoder) != 3 or x0.requires_grad or euler.hooked(encoder):
        return None
    first, middle, last = encoder
    if type(first) is not nn.Linear or type(middle) is not nn.Tanh or type(last) is not nn.Linear:
        return None
    weights = (first.weight, first.bias, last.weight, last.bias)
    fitting = first.in_features == x0.shape[1] and last.in_features == first.out_features
    if not fitting or any(euler.hooked(part) for part in encoder) or any(w is None for w in weights):
        return None
    return weights if all((w.dtype, w.device) == (x0.dtype, x0.device) for w in weights) else None


@dataclass(frozen=True)
class _Problem:
    plan: euler.Plan
    schedule: euler.Schedule
    comparison: Comparison
    t0: float
    encodes: bool


class _Loss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, problem: _Problem, x0: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        if not problem.encodes:
            value, ctx.found = _iteration(problem, x0, *weights)
            return value
        w_e, b_e, w_0, b_0, *others = weights
        hidden = torch.addmm(b_e, x0, w_e.t()).tanh_()
        value, found = _iteration(problem, torch.addmm(b_0, hidden, w_0.t()), *others)
        ctx.found = found
        if found:
            grad = found[0]
            inner = torch.ops.aten.tanh_backward(grad @ w_0, hidden)
            ctx.found = (None, inner.t() @ x0, inner.sum(0), grad.t() @ hidden, grad.sum(0), *found[1:])
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        factor = grads[0]
        if factor == 1:
            return (None, *ctx.found)
        return (None, *(None if found is None else found * factor for found in ctx.found))


def _iteration(
    problem: _Problem,
    start: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    readout: torch.Tensor,
    readout_bias: torch.Tensor,
) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
    """The loss, and its gradients with respect to the start and the weights if they are wanted."""
    plan, backend = problem.plan, problem.plan.backend
    (n, width), count, d = start.shape, len(plan.steps), len(readout)
    layer = Layer(plan.phi, weight, bias, readout)
    outputs = start.new_empty(count + 1, n, d)
    slopes = start.new_empty(count + 1, n, d) if plan.with_slopes else None
    segments, kept = plan.segments(), []
    tape: euler_torch.Tape = ()
    with held():
        state = backend.pack(start)
        for a, b, last in segments:
            keep = plan.differentiate and b == count
            if plan.differentiate and not keep:
                kept.append(state.clone())
            some = None if slopes is None else slopes[a:last]
            state, tape = backend.forward(layer, plan.steps[a:b], state, outputs[a:last], some, keep=keep)
        _check(problem, start, outputs, slopes)
        value = backend.error(outputs, slopes, readout_bias, problem.schedule, problem.comparison)
        if not plan.differentiate:
            return value, ()
        grad = backend.pack(torch.zeros_like(start))
        sums = tuple(torch.zeros_like(p, dtype=torch.float64) for p in (weight, bias, readout))
        for a, b, last in reversed(segments):
            if b < count:
                _, tape = backend.forward(layer, plan.steps[a:b], kept.pop(), None, None, keep=True)
            some = None if slopes is None else slopes[a:last]
            backend.backward(layer, plan.steps[a:b], tape, outputs[a:last], some, grad, sums, False)
            tape = ()
        found = (backend.unpack(grad, width), *(total.to(weight.dtype) for total in sums))
    return value, (
        *found,
        outputs.sum(dim=(0, 1)),
    )  # where a state is interpolated, the shares of its neighbours add up to 1


def _check(problem: _Problem, start: torch.Tensor, outputs: torch.Tensor, slopes: torch.Tensor | None) -> None:
    if all_finite(outputs[-1]) and (slopes is None or all_finite(slopes[-1])):
        return
    euler.check_start(start, problem.t0)
    raise explosion(euler.last_good(outputs, problem.schedule))
