"""LawODE: exact solutions, stiff laws by another solver, and what happens when a law leads to infinity."""

from __future__ import annotations

import pytest
import torch
from ndcn.models import LawODE

from ndcn import laws
from ndcn.solve import IntegrationError, Solver
from ndcn.solve.solver import Reason
from problems import GRAPHS, heat, states


@pytest.mark.parametrize("name", ["path", "weighted", "directed", "edgeless"])
def test_heat_is_the_matrix_exponential(name: str) -> None:
    graph = GRAPHS[name]
    x0, times = states(graph, 2), torch.tensor([0.0, 0.1, 0.7, 2.0])
    found = LawODE(laws.Heat())(x0, times, graph, 0.0)
    assert found.dtype == torch.float64
    torch.testing.assert_close(found, heat(graph, x0, times.double()), atol=1e-6, rtol=1e-6)


def test_times_in_any_order_and_another_start() -> None:
    graph = GRAPHS["path"]
    x0, times = states(graph, 1), torch.tensor([2.0, 1.5, 3.0, 1.5])
    found = LawODE(laws.Heat())(x0, times, graph, 1.0)
    torch.testing.assert_close(found, heat(graph, x0, times.double() - 1), atol=1e-6, rtol=1e-6)
    assert torch.equal(found[1], found[3])


def test_the_answer_does_not_depend_on_which_times_are_asked_for() -> None:
    graph = GRAPHS["weighted"]
    x0 = states(graph, 1)
    model = LawODE(laws.Mutualistic())
    many = model(x0, torch.linspace(0, 3, 31), graph, 0.0)
    one = model(x0, torch.tensor([3.0]), graph, 0.0)
    torch.testing.assert_close(many[-1:], one, atol=1e-6, rtol=1e-6)


class Explosive(laws.Law):
    """dx/dt = x^2: infinite at t = 1/x0."""

    def node(self, x: torch.Tensor) -> torch.Tensor:
        return x * x

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(x_i)


def test_a_law_that_leads_to_infinity_says_so_and_what_to_do() -> None:
    graph = GRAPHS["path"]
    x0 = torch.ones(4, 1, dtype=torch.float64)
    with pytest.raises(IntegrationError, match=r"the learned law cannot be integrated.*ndcn") as caught:
        LawODE(Explosive())(x0, torch.tensor([0.5, 2.0]), graph, 0.0)
    assert 0.9 < caught.value.time < 1.1
    assert caught.value.reason in ("exploded", "tolerance")
    found = LawODE(Explosive())(x0, torch.tensor([0.5]), graph, 0.0)
    torch.testing.assert_close(found[0], 2 * x0, atol=1e-6, rtol=1e-6)


class Stiff(laws.Law):
    """Relaxes to 1 a million times faster than anybody asks."""

    def node(self, x: torch.Tensor) -> torch.Tensor:
        return 1e6 * (1 - x)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(x_i)


def test_stiff_laws_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ndcn.laws.law_ode.DOPRI5_STEPS", 200)
    graph = GRAPHS["path"]
    found = LawODE(Stiff())(states(graph, 1), torch.tensor([1.0, 3.0]), graph, 0.0)
    torch.testing.assert_close(found, torch.ones(2, 4, 1, dtype=torch.float64), atol=1e-5, rtol=0)


def test_the_stiff_solver_is_chosen_by_the_reason_of_an_error_not_by_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(reason: Reason, message: str) -> list[str]:
        tried: list[str] = []

        def integrated(*args: object, solver: Solver, **more: object) -> None:
            tried.append(solver.method)
            raise IntegrationError(message, time=0.5, reason=reason)

        monkeypatch.setattr("ndcn.laws.law_ode.integrate", integrated)
        with pytest.raises(IntegrationError) as caught:
            LawODE(Stiff())(states(GRAPHS["path"], 1), torch.tensor([1.0]), GRAPHS["path"], 0.0)
        assert caught.value.reason == reason
        return tried

    assert fails("max_steps", "given up") == ["dopri5", "dopri5", "bdf"]  # a few steps, all steps
    assert fails("exploded", "infinite after 3 steps") == ["dopri5"]


def test_a_law_that_hardly_gets_on_is_given_up_after_a_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A spline with a coefficient of 2^64 took 20,000 steps of DOPRI5, and minutes."""
    tried: list[tuple[str, int]] = []

    def integrated(*args: object, solver: Solver, **more: object) -> None:
        tried.append((solver.method, solver.max_steps))
        raise IntegrationError("given up", time=1e-4, reason="max_steps")

    monkeypatch.setattr("ndcn.laws.law_ode.integrate", integrated)
    with pytest.raises(IntegrationError):
        LawODE(Stiff())(states(GRAPHS["path"], 1), torch.tensor([1.0]), GRAPHS["path"], 0.0)
    assert tried == [("dopri5", 500), ("bdf", 10_000)]
