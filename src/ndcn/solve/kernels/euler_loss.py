"""The loss of an Euler trajectory and all its gradients as one autograd function.

L = sum_t w_t sum penalty(X(t) - observed(t)), X(t) = decoder(X_h(t)), X_h(t0) = encoder(x0), by the path of ``euler.py``.
A loss is one number, so its gradient is computed along with it: no state outlives the call, the errors take the place
of the outputs in memory, and autograd has one node to visit. The encoder is tanh(X W_e^T + b_e) W_0^T + b_0 or
the identity; it is never called, and models with another one take the general path.
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
from ..solver import Solver
from . import euler, euler_compiled, euler_torch
from .buffers import held
from .euler_iteration import Iteration, failed, fits
from .euler_torch import Comparison, Layer

Parts = tuple[nn.Module, nn.Module, nn.Module]  # encoder, field, decoder


class TrajectoryLoss:
    """The loss of encoder, field and decoder on one trajectory, from x0 at t0 to all of its times.

    Both methods return None for modules and solvers to which this path does not apply.

    Args:
        graph: handed to the field.
        x0: the observed state at t0, shape (n, d).
        times: observation times.
        t0: the time of x0.
        comparison: what was observed, and how errors count.
    """

    def __init__(
        self, graph: Graph, x0: torch.Tensor, times: Sequence[float], t0: float, comparison: Comparison
    ) -> None:
        self.graph, self.x0, self.times, self.t0, self.comparison = graph, x0, tuple(times), t0, comparison
        self.ordered = len(times) > 0 and t0 <= times[0] and all(a < b for a, b in pairwise(times))
        self._prepared: tuple[_Problem, tuple[Any, ...], Iteration] | None = None

    def loss(self, parts: Parts, solver: Solver) -> torch.Tensor | None:
        """The loss, with gradients by autograd.

        Raises:
            IntegrationError: the solution explodes, or the encoded state is not finite.
        """
        found = self._problem(parts, solver)
        if found is None:
            return None
        problem, given = found
        loss: torch.Tensor = _Loss.apply(problem, self._iteration(problem, given), *given)
        return loss

    def value_and_gradients(
        self, parts: Parts, solver: Solver
    ) -> tuple[float, list[tuple[torch.Tensor, torch.Tensor]]] | None:
        """The loss, and pairs of weights and gradients, which the next call overwrites; None also without a compiled iteration."""
        found = self._problem(parts, solver)
        if found is None:
            return None
        problem, (_, *weights) = found
        run = self._iteration(problem, found[1])
        if run is None or not problem.plan.differentiate or not all(_plain(weight) for weight in weights):
            return None
        value = run(weights)
        if failed(value):  # the general path says why
            return None
        return value, [pair for pair in zip(weights, run.gradients, strict=True) if pair[0].requires_grad]

    def _problem(self, parts: Parts, solver: Solver) -> tuple[_Problem, tuple[torch.Tensor, ...]] | None:
        """What is to be computed, and the tensors that it depends on: x0 and the weights."""
        encoder, field, decoder = parts
        x0, wanted = self.x0, self.comparison.states
        if not self.ordered or solver.method != "euler" or solver.gradient == "adjoint" or x0.dim() != 2:
            return None
        inside = _encoder_weights(encoder, x0)
        if inside is None:
            return None
        start = x0.new_empty(1, 1).expand(len(x0), len(inside[2])) if inside else x0  # only its shape matters
        accepted = euler.accepted(field, self.graph, start, solver.kernel)
        readout = euler.linear_readout(decoder, start)
        if accepted is None or readout is None or wanted.dtype != x0.dtype:
            return None
        if wanted.shape != (len(self.times), len(x0), len(readout.weight)):
            return None
        backend, phi, w, b = accepted
        weights = (w, b, readout.weight, _bias(readout))
        given = (x0, *inside, *weights)
        needed = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in given)
        schedule = euler.schedule(self.times, solver, self.t0)
        segment = euler.segment_length(solver, len(schedule.steps), needed)
        plan = euler.Plan(phi, schedule.steps, schedule.at_slopes is not None, segment, needed, backend)
        return _Problem(plan, schedule, self.comparison, self.t0, bool(inside), self.graph), given

    def _iteration(self, problem: _Problem, given: tuple[torch.Tensor, ...]) -> Iteration | None:
        """The compiled iteration, made once, if there is one for this problem."""
        x0, *weights = given
        if problem.plan.backend is not euler_compiled or x0.requires_grad or self.graph.in_parts:
            return None
        if not fits(problem.plan, self.comparison, len(x0), len(weights[-4]), x0.dtype):
            return None
        if not all(weight.is_contiguous() for weight in weights):
            return None
        sizes = (torch.get_num_threads(), *(weight.shape for weight in weights))
        known = self._prepared
        if known is not None and known[0].same(problem) and known[1] == sizes:
            return known[2]
        made = Iteration(problem.plan, problem.schedule, self.comparison, x0, weights)
        self._prepared = problem, sizes, made
        return made


def _plain(weight: torch.Tensor) -> bool:
    """Whether nothing happens with the gradient of this weight but that it is kept."""
    return weight.is_leaf and not weight._backward_hooks and not getattr(weight, "_post_accumulate_grad_hooks", None)


def _bias(linear: nn.Linear) -> torch.Tensor:
    return linear.weight.new_zeros(len(linear.weight)) if linear.bias is None else linear.bias


def _encoder_weights(encoder: nn.Module, x0: torch.Tensor) -> tuple[torch.Tensor, ...] | None:
    """W_e, b_e, W_0, b_0 of an encoder tanh(X W_e^T + b_e) W_0^T + b_0 for this state, () of the identity; None for others."""
    if type(encoder) is nn.Identity and not euler.hooked(encoder):
        return ()
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
    graph: Graph

    def packed(self, start: torch.Tensor) -> torch.Tensor:
        """The state at the start as the back end wants it, if it is finite."""
        euler.check_start(start, self.t0, self.graph)
        state: torch.Tensor = self.plan.backend.pack(start)
        return state

    def same(self, other: _Problem) -> bool:
        """Whether an iteration made for one serves the other."""
        mine, theirs = self.plan, other.plan
        return (
            mine.phi is theirs.phi
            and self.schedule is other.schedule
            and (mine.differentiate, mine.backend, self.encodes)
            == (theirs.differentiate, theirs.backend, other.encodes)
        )


class _Loss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, problem: _Problem, run: Iteration | None, x0: torch.Tensor, *weights: torch.Tensor
    ) -> torch.Tensor:
        if run is not None and not failed(value := run(weights)):
            ctx.found = (None, *run.own_gradients()) if problem.plan.differentiate else ()
            return x0.new_tensor(value)
        if not problem.encodes:
            loss, ctx.found = _iteration(problem, problem.packed(x0), *weights)
            return loss
        w_e, b_e, w_0, b_0, *others = weights
        hidden = torch.addmm(b_e, x0, w_e.t()).tanh_()
        state = problem.packed(torch.addmm(b_0, hidden, w_0.t()))
        if problem.graph.in_parts:  # such networks are large: it is computed again below
            del hidden
        loss, found = _iteration(problem, state, *others)
        if found:
            grad = found[0]
            if problem.graph.in_parts:
                hidden = torch.addmm(b_e, x0, w_e.t()).tanh_()
            inner = torch.ops.aten.tanh_backward(grad @ w_0, hidden)
            ctx.found = (None, inner.t() @ x0, inner.sum(0), grad.t() @ hidden, grad.sum(0), *found[1:])
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        factor = grads[0]
        if factor == 1:
            return (None, None, *ctx.found)
        return (None, None, *(None if found is None else found * factor for found in ctx.found))


def _iteration(
    problem: _Problem,
    state: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    readout: torch.Tensor,
    readout_bias: torch.Tensor,
) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
    """The loss from a packed state, and its gradients with respect to that state and the weights if they are wanted."""
    plan, backend = problem.plan, problem.plan.backend
    n, count, d = plan.phi.shape[0], len(plan.steps), len(readout)
    layer = Layer(plan.phi, weight, bias, readout)
    outputs = weight.new_empty(count + 1, n, d)
    slopes = weight.new_empty(count + 1, n, d) if plan.with_slopes else None
    segments, kept = plan.segments(), []
    tape: euler_torch.Tape = ()
    with held():
        for a, b, last in segments:
            keep = plan.differentiate and b == count
            if plan.differentiate and not keep:
                kept.append(state.clone())
            some = None if slopes is None else slopes[a:last]
            state, tape = backend.forward(layer, plan.steps[a:b], state, outputs[a:last], some, keep=keep)
    if not euler.finite_end(outputs, slopes, problem.graph):
        raise explosion(euler.last_good(outputs, problem.schedule, problem.graph))
    value = backend.error(outputs, slopes, readout_bias, problem.schedule, problem.comparison)
    if not plan.differentiate:
        return value, ()
    grad = backend.pack(weight.new_zeros(1, 1).expand(n, len(weight)))
    sums = tuple(torch.zeros_like(p, dtype=torch.float64) for p in (weight, bias, readout))
    a, b, last = segments.pop()
    some = None if slopes is None else slopes[a:last]
    backend.backward(layer, plan.steps[a:b], tape, outputs[a:last], some, grad, sums, False)
    del tape, state  # before others are made
    with held():  # the other segments have no end to hand out, so that all but one are as long
        for a, b, _ in reversed(segments):
            tape = backend.forward(layer, plan.steps[a:b], kept.pop(), None, None, keep=True)[1]
            some = None if slopes is None else slopes[a:b]
            backend.backward(layer, plan.steps[a:b], tape, outputs[a:b], some, grad, sums, False)
            del tape
    found = (backend.unpack(grad, len(weight)), *(total.to(weight.dtype) for total in sums))
    # where a state is interpolated, the shares of its neighbours add up to 1
    return value, (*found, outputs.sum(dim=(0, 1)))
