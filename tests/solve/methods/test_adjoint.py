"""The adjoint gradient is that of backprop up to the solver's error."""

from __future__ import annotations

import pytest
import torch

from ndcn import Field, Graph, Solver, integrate
from problems import GRAPHS, Function, TanhField

GRAPH = GRAPHS["directed"]
TIMES = [0.0, 0.4, 0.41, 1.0, 2.0]


def gradients(field: torch.nn.Module, solver: Solver, times: list[float] = TIMES) -> list[torch.Tensor]:
    x0 = torch.linspace(-1, 1, 10, dtype=torch.float64).reshape(5, 2).requires_grad_()
    field.zero_grad()
    states = integrate(field, GRAPH, x0, times, solver=solver).states
    weights = torch.linspace(1, 2, states.numel(), dtype=states.dtype).reshape(states.shape)
    (states.square() * weights).sum().backward()
    return [x0.grad, *(p.grad for p in field.parameters() if p.requires_grad)]


@pytest.mark.parametrize("method", ["dopri5", "tsit5"])
def test_equals_backprop_for_a_smooth_field(method: str) -> None:
    plain, adjoint = (
        gradients(TanhField(), Solver(method, rtol=1e-10, atol=1e-10, gradient=g)) for g in ("backprop", "adjoint")
    )
    for a, b in zip(adjoint, plain, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(("method", "close"), [("euler", 3e-2), ("heun", 1e-3), ("midpoint", 1e-3), ("rk4", 1e-7)])
def test_fixed_steps_approach_backprop(method: str, close: float) -> None:
    plain, adjoint = (
        gradients(TanhField(), Solver(method, step_size=0.01, gradient=g)) for g in ("backprop", "adjoint")
    )
    for a, b in zip(adjoint, plain, strict=True):
        torch.testing.assert_close(a, b, rtol=close, atol=close)


def test_steps_on_the_observations() -> None:
    times = torch.linspace(0, 2, 101).tolist()
    plain, adjoint = (
        gradients(TanhField(), Solver("rk4", step_size="observations", gradient=g), times)
        for g in ("backprop", "adjoint")
    )
    for a, b in zip(adjoint, plain, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)


def test_exact_gradient_of_a_linear_field() -> None:
    class Decay(Field):
        def __init__(self) -> None:
            super().__init__()
            self.rate = torch.nn.Parameter(torch.tensor(0.5, dtype=torch.float64))
            self.unused = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
            self.frozen = torch.nn.Parameter(torch.ones((), dtype=torch.float64), requires_grad=False)

        def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
            return -self.rate * self.frozen * x

    field = Decay()
    x0 = torch.full((1, 1), 2.0, dtype=torch.float64, requires_grad=True)
    solution = integrate(field, GRAPHS["single"], x0, [3.0], solver=Solver(rtol=1e-11, atol=1e-11, gradient="adjoint"))
    solution.states.sum().backward()  # x0 exp(-k t)
    e = torch.exp(torch.tensor(-1.5, dtype=torch.float64))
    torch.testing.assert_close(x0.grad[0, 0], e, rtol=1e-8, atol=0)
    torch.testing.assert_close(field.rate.grad, -3 * 2 * e, rtol=1e-8, atol=0)
    assert torch.equal(field.unused.grad, torch.zeros(2, dtype=torch.float64))
    assert field.frozen.grad is None


def test_a_field_that_depends_on_nothing() -> None:
    grads = gradients(Function(lambda t, x: torch.ones_like(x)), Solver(gradient="adjoint"), [1.0])
    x = torch.linspace(-1, 1, 10, dtype=torch.float64).reshape(5, 2) + 1
    weights = torch.linspace(1, 2, 10, dtype=torch.float64).reshape(5, 2)
    torch.testing.assert_close(grads[0], 2 * x * weights)


def test_statistics_are_those_of_the_forward_pass_and_memory_does_not_grow() -> None:
    field, saved = TanhField(), []
    x0 = torch.zeros(5, 2, dtype=torch.float64, requires_grad=True)
    plain = integrate(field, GRAPH, x0, [1.0], solver=Solver("rk4", step_size=0.01))
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        adjoint = integrate(field, GRAPH, x0, [1.0], solver=Solver("rk4", step_size=0.01, gradient="adjoint"))
    assert adjoint.statistics == plain.statistics
    assert torch.equal(adjoint.states, plain.states)
    assert len(saved) <= 5


def test_second_derivatives_are_refused() -> None:
    x0 = torch.ones(5, 2, dtype=torch.float64, requires_grad=True)
    states = integrate(TanhField(), GRAPH, x0, [1.0], solver=Solver(gradient="adjoint")).states
    (first,) = torch.autograd.grad(states.square().sum(), x0, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()
