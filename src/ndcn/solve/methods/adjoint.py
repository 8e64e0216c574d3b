"""Gradients by the adjoint equation: constant memory, exact up to the solver's error.

With a(t) = dL/dX(t): da/dt = -a^T df/dX and dL/dtheta = integral of a^T df/dtheta dt, solved from the last time back to
the first; a jumps by dL/dX(t_k) at each requested time. The state is re-read there from the forward solution, so errors
of the backward solve do not build up over requested times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.autograd.function import once_differentiable

from ...data import Statistics
from ...graph import Graph
from ..solver import Solver
from . import runge_kutta


def solve(
    field: nn.Module, graph: Graph, x0: torch.Tensor, query: Sequence[float], solver: Solver, t0: float
) -> tuple[torch.Tensor, Statistics]:
    """States at the sorted times ``query`` with an adjoint backward pass, and statistics of the forward pass."""
    parameters = [p for p in field.parameters() if p.requires_grad]
    record: list[Statistics] = []
    states: torch.Tensor = _Adjoint.apply(_Problem(field, graph, query, solver, t0), record, x0, *parameters)
    return states, record[0]


class _Problem(NamedTuple):
    field: nn.Module
    graph: Graph
    query: Sequence[float]
    solver: Solver
    t0: float


class _Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, problem: _Problem, record: list[Statistics], x0: torch.Tensor, *parameters: torch.Tensor
    ) -> torch.Tensor:
        p = ctx.problem = problem
        states, statistics = runge_kutta.solve(p.field, p.graph, x0, p.query, p.solver, p.t0)
        record.append(statistics)
        ctx.save_for_backward(states, x0, *parameters)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        states, x0, *parameters = ctx.saved_tensors
        p = ctx.problem
        backwards = _Backwards(p.field, parameters, x0.shape)
        adjoint = torch.zeros_like(x0)
        gradients = x0.new_zeros(sum(p.numel() for p in parameters))
        stops = [p.t0, *p.query]
        for k in range(len(p.query), 0, -1):
            adjoint = adjoint + grads[0][k - 1]
            if stops[k] == stops[k - 1]:
                continue
            y = torch.cat([states[k - 1].reshape(-1), adjoint.reshape(-1), gradients])
            with torch.no_grad():
                out, _ = runge_kutta.solve(backwards, p.graph, y, [-stops[k - 1]], p.solver, -stops[k])
            _, adjoint, gradients = backwards.unpack(out[0])
        shares = gradients.split([p.numel() for p in parameters])
        return (None, None, adjoint, *(g.reshape(p.shape) for g, p in zip(shares, parameters, strict=True)))


class _Backwards(nn.Module):
    """The state, its adjoint and the parameters' gradient together, in reversed time s = -t."""

    def __init__(self, field: nn.Module, parameters: Sequence[torch.Tensor], shape: torch.Size) -> None:
        super().__init__()
        self.field, self.wanted, self.shape = [field], list(parameters), shape  # in a list: not a submodule

    def unpack(self, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """State, adjoint, gradient."""
        size = self.shape.numel()
        return y[:size].reshape(self.shape), y[size : 2 * size].reshape(self.shape), y[2 * size :]

    def forward(self, s: torch.Tensor, y: torch.Tensor, graph: Graph) -> torch.Tensor:
        """Rates of change with respect to s."""
        x, adjoint, _ = self.unpack(y)
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            rate = self.field[0](-s, x, graph)
            inputs = [x, *self.wanted]
            slopes: tuple[torch.Tensor | None, ...] = (None,) * len(inputs)  # of a field that depends on nothing
            if rate.requires_grad:
                slopes = torch.autograd.grad(rate, inputs, adjoint, allow_unused=True)
        full = [torch.zeros_like(v) if g is None else g for g, v in zip(slopes, inputs, strict=True)]
        return torch.cat([-rate.detach().reshape(-1), *(g.reshape(-1) for g in full)])
