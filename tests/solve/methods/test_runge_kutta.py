"""Explicit methods converge at their order, on the steps and between them, with exact gradients."""

from __future__ import annotations

import math
import weakref

import pytest
import torch

from ndcn import Field, Graph, IntegrationError, Solver, integrate, laws
from ndcn.solve.methods.tableau import ADAPTIVE, FIXED
from problems import EXACT, GRAPHS, Exact, Function, TanhField, heat

ORDERS = {"euler": 1, "midpoint": 2, "heun": 2, "rk4": 4}
GRAPH = GRAPHS["weighted"]


def solver(method: str, gradient: str = "backprop", **more: float) -> Solver:
    return Solver(method, step_size=0.25 if method in FIXED else None, gradient=gradient, **more)


def start(d: int = 2) -> torch.Tensor:
    return torch.linspace(-1, 1, 5 * d, dtype=torch.float64).reshape(5, d)


def error(problem: Exact, method: str, h: float, times: list[float]) -> float:
    asked = [problem.t0 + t for t in times]
    solution = integrate(
        problem.field, problem.graph, problem.x0, asked, solver=Solver(method, step_size=h), t0=problem.t0
    )
    return (solution.states - problem.states(torch.tensor(asked, dtype=torch.float64))).abs().max().item()


@pytest.mark.parametrize("method", FIXED)
@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("where", ["on the steps", "between the steps"])
def test_halving_the_step_divides_the_error_by_two_to_the_order(method: str, name: str, where: str) -> None:
    inside = (0.0, 0.0, 0.0) if where == "on the steps" else (0.3, 0.5, 0.8)  # the same place in a step of any size
    errors = [
        error(EXACT[name], method, h, [t + s * h for t, s in zip((0.5, 1.0, 1.5), inside, strict=True)])
        for h in (0.05, 0.025)
    ]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(ORDERS[method], abs=0.3)


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("tolerance", [1e-4, 1e-7, 1e-10])
def test_adaptive_methods_reach_their_tolerance_everywhere(method: str, name: str, tolerance: float) -> None:
    problem = EXACT[name]
    times = problem.t0 + torch.linspace(0, 3, 101, dtype=torch.float64)
    solution = integrate(
        problem.field,
        problem.graph,
        problem.x0,
        times,
        solver=Solver(method, rtol=tolerance, atol=tolerance),
        t0=problem.t0,
    )
    assert (solution.states - problem.states(times)).abs().max() < 50 * tolerance


@pytest.mark.parametrize("method", ADAPTIVE)
def test_a_tighter_tolerance_takes_more_steps(method: str) -> None:
    problem = EXACT["linear"]
    steps = [
        integrate(problem.field, problem.graph, problem.x0, [5.0], solver=Solver(method, rtol=tol, atol=tol)).statistics
        for tol in (1e-4, 1e-8, 1e-12)
    ]
    assert steps[0].accepted_steps < steps[1].accepted_steps < steps[2].accepted_steps


@pytest.mark.parametrize("method", [*FIXED, *ADAPTIVE])
@pytest.mark.parametrize("gradient", ["backprop", "checkpoint"])
def test_gradcheck(method: str, gradient: str) -> None:
    field, times = TanhField(), [0.1, 0.5, 0.6, 1.0]

    def run(x0: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        return integrate(field, GRAPH, x0, times, solver=solver(method, gradient)).states

    assert torch.autograd.gradcheck(run, (start().requires_grad_(), *field.parameters()), fast_mode=True)


@pytest.mark.parametrize("method", [*FIXED, *ADAPTIVE])
def test_checkpoint_gives_the_gradient_of_backprop(method: str) -> None:
    found = []
    for gradient in ("backprop", "checkpoint"):
        field, x0 = TanhField(), start().requires_grad_()
        # 1e-10 after a step: that belongs to the step, also where a checkpoint lies
        times = [0.0, 0.3, 0.5, 0.75 + 1e-11, 1.0 + 1e-11, 1.5 + 1e-11, 2.0 + 1e-11, 3.1, 4.9]
        states = integrate(field, GRAPH, x0, times, solver=solver(method, gradient)).states
        states.square().sum().backward()
        found.append([states, x0.grad, *(p.grad for p in field.parameters())])
    for plain, saved in zip(*found, strict=True):
        torch.testing.assert_close(saved, plain, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("gradient", ["backprop", "checkpoint"])
@pytest.mark.parametrize("method", ["euler", "dopri5"])
def test_gradients_at_the_start_only(method: str, gradient: str) -> None:
    x0 = start().requires_grad_()
    states = integrate(TanhField(), GRAPH, x0, [0.0, 0.0], solver=solver(method, gradient)).states
    states.sum().backward()
    torch.testing.assert_close(x0.grad, torch.full_like(x0, 2.0))


def saved_bytes(gradient: str, method: str) -> int:
    field, total = TanhField(), 0

    def note(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal total
        total += tensor.numel() * tensor.element_size()
        return tensor

    chosen = Solver(method, step_size=0.01 if method in FIXED else None, rtol=1e-10, atol=1e-10, gradient=gradient)
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        integrate(field, GRAPH, start().requires_grad_(), [4.0], solver=chosen)
    return total


@pytest.mark.parametrize("method", ["euler", "rk4", "dopri5"])
def test_checkpoint_saves_less(method: str) -> None:
    assert saved_bytes("checkpoint", method) < saved_bytes("backprop", method) / 5


@pytest.mark.parametrize("method", ["dopri5", "tsit5"])
def test_checkpoint_gives_the_states_and_steps_of_backprop(method: str) -> None:
    field, times = TanhField(), [0.2, 1.0, 3.0]
    plain, saved = (
        integrate(field, GRAPH, start(), times, solver=solver(method, g)) for g in ("backprop", "checkpoint")
    )
    torch.testing.assert_close(saved.states, plain.states, rtol=1e-13, atol=1e-13)
    assert saved.statistics.accepted_steps == plain.statistics.accepted_steps
    assert saved.statistics.rejected_steps == plain.statistics.rejected_steps


def test_checkpoint_without_gradients_costs_nothing_more() -> None:
    field = Function(lambda t, x: -x)
    with torch.no_grad():
        solution = integrate(field, GRAPH, start(), [1.0], solver=solver("euler", "checkpoint"))
    assert field.calls == solution.statistics.evaluations == 4


def test_a_constant_field_needs_few_steps() -> None:
    solution = integrate(Function(lambda t, x: torch.zeros_like(x)), GRAPH, start(), [1e6])
    assert torch.equal(solution.states[0], start())
    assert solution.statistics.accepted_steps < 20


def test_a_jump_in_time_is_stepped_over_with_rejections() -> None:
    field = Function(lambda t, x: torch.where(t < 1, 0.0, 1.0) * torch.ones_like(x))
    solution = integrate(
        field, GRAPH, torch.zeros(5, 1, dtype=torch.float64), [3.0], solver=Solver(rtol=1e-6, atol=1e-6)
    )
    assert solution.states.flatten().tolist() == pytest.approx([2.0] * 5, abs=1e-4)
    assert solution.statistics.rejected_steps > 0


def test_the_first_step_survives_a_field_that_is_not_finite_next_to_the_start() -> None:
    field = Function(lambda t, x: torch.where(t > 1e-7, torch.nan, 1.0) * torch.ones_like(x))
    times = [5e-8]
    states = integrate(field, GRAPH, torch.zeros(5, 1, dtype=torch.float64), times).states
    assert states.flatten().tolist() == pytest.approx([5e-8] * 5)


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("unit", [1e-15, 1e-6, 1e6, 1e15])
def test_time_may_be_counted_in_any_unit(method: str, unit: float) -> None:
    times = [0.5 * unit, 2 * unit]
    for x0 in (start(), 0 * start() + 1):
        found = integrate(laws.Heat(1 / unit), GRAPH, x0, times, solver=Solver(method, rtol=1e-8, atol=1e-8)).states
        torch.testing.assert_close(found, heat(GRAPH, x0, [0.5, 2.0]), rtol=1e-6, atol=1e-6)


def test_a_short_beginning_of_a_long_time_is_followed() -> None:
    x0 = start()
    field = Function(lambda t, x: -x / (t + 1e-10))  # x0 1e-10 / (t + 1e-10)
    found = integrate(field, GRAPH, x0, [1e-10, 1e6], solver=Solver(rtol=1e-8, atol=1e-20)).states
    torch.testing.assert_close(found[0], x0 / 2, rtol=1e-6, atol=0)
    torch.testing.assert_close(found[1], x0 * 1e-16, rtol=1e-4, atol=1e-19)


@pytest.mark.parametrize("method", [*ADAPTIVE, "bdf"])
def test_a_tolerance_below_rounding_is_refused_at_once(method: str) -> None:
    field = Function(lambda t, x: -x)
    tight = Solver(method, rtol=1e-12, atol=1e-14)
    with pytest.raises(
        IntegrationError, match=r"float32 rounds .* \(rtol >= 2e-07\) or use float64 \(x0.double"
    ) as caught:
        integrate(field, GRAPH, start().float(), [5.0], solver=tight)
    assert caught.value.time == 0
    assert field.calls == 0
    with torch.no_grad():
        integrate(field, GRAPH, start(), [5.0], solver=tight)
        loose = Solver(method, rtol=1e-12, atol=1e-5)  # within atol all is well
        integrate(field, GRAPH, start().float(), [5.0], solver=loose)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_a_start_at_zero_is_followed_as_far_as_the_tolerance_can_be_met(method: str) -> None:
    zero, field = torch.zeros(5, 1), Function(lambda t, x: torch.exp(t).expand_as(x))
    tight = Solver(method, rtol=1e-12, atol=1e-7)
    found = integrate(field, GRAPH, zero, [0.1], solver=tight).states
    torch.testing.assert_close(found, torch.full_like(found, math.expm1(0.1)), rtol=1e-5, atol=0)
    with pytest.raises(IntegrationError, match="cannot be met at t = ") as caught:
        integrate(field, GRAPH, zero, [5.0], solver=tight)
    assert 0.1 < caught.value.time < 5
    assert caught.value.reason == "tolerance"


class Watched(Field):
    """dX/dt = -X; ``most`` is how many states and slopes that passed through were ever held at once."""

    def __init__(self) -> None:
        super().__init__()
        self.passed: list[weakref.ref[torch.Tensor]] = []
        self.most = 0

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        rate = -x
        self.passed = [ref for ref in self.passed if ref() is not None] + [weakref.ref(x), weakref.ref(rate)]
        self.most = max(self.most, len({id(ref()) for ref in self.passed}))
        return rate


@pytest.mark.parametrize("method", [*FIXED, *ADAPTIVE])
def test_without_gradients_memory_does_not_grow_with_the_steps(method: str) -> None:
    most, steps = [], []
    for fine in (1, 20):
        field = Watched()
        chosen = Solver(method, step_size=0.1 / fine if method in FIXED else None, rtol=1e-7 / fine**5, atol=1e-14)
        with torch.no_grad():
            solution = integrate(field, GRAPH, start() + 2, [0.5, 1.0], solver=chosen)
        most.append(field.most)
        steps.append(solution.statistics.accepted_steps)
    assert steps[1] > 5 * steps[0]
    assert most[1] == most[0] < 20  # the stages of two steps
