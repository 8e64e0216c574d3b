"""BDF follows stiff problems with few evaluations, and says what it cannot do."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from ndcn import Graph, IntegrationError, Solver, integrate, laws
from problems import EXACT, GRAPHS, Function, heat

STIFF = Graph.from_edges([(0, 1, 1e5), (1, 2, 1.0), (2, 3, 1e5), (3, 4, 1.0)])
X0 = torch.tensor([[1.0], [0.0], [0.0], [2.0], [0.5]], dtype=torch.float64)


def test_stiff_heat_with_far_fewer_evaluations_than_dopri5() -> None:
    times = [1e-6, 1e-3, 0.02]
    exact = heat(STIFF, X0, torch.tensor(times, dtype=torch.float64))
    bdf, dopri5 = (
        integrate(laws.Heat(), STIFF, X0, times, solver=Solver(m, rtol=1e-6, atol=1e-8)) for m in ("bdf", "dopri5")
    )
    torch.testing.assert_close(bdf.states, exact, rtol=0, atol=2e-5)
    torch.testing.assert_close(dopri5.states, exact, rtol=0, atol=2e-5)
    assert bdf.statistics.evaluations < dopri5.statistics.evaluations / 10


def test_robertson_against_scipy() -> None:
    def rate(t: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        a, b, c = x.T
        return torch.stack([-0.04 * a + 1e4 * b * c, 0.04 * a - 1e4 * b * c - 3e7 * b * b, 3e7 * b * b], dim=1)

    times = [1e-3, 1.0, 40.0, 4e3]
    x0 = torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64)
    solution = integrate(Function(rate), GRAPHS["single"], x0, times, solver=Solver("bdf", rtol=1e-8, atol=1e-12))
    truth = solve_ivp(
        lambda t, y: rate(torch.tensor(t), torch.from_numpy(y)[None]).numpy()[0],
        (0, 4e3),
        [1.0, 0.0, 0.0],
        method="Radau",
        t_eval=times,
        rtol=1e-10,
        atol=1e-14,
    )
    np.testing.assert_allclose(solution.states[:, 0].numpy(), truth.y.T, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("name", EXACT)
def test_reaches_its_tolerance(name: str) -> None:
    problem = EXACT[name]
    times = problem.t0 + torch.linspace(0, 2, 21, dtype=torch.float64)
    solution = integrate(
        problem.field, problem.graph, problem.x0, times, solver=Solver("bdf", rtol=1e-8, atol=1e-10), t0=problem.t0
    )
    assert (solution.states - problem.states(times)).abs().max() < 1e-6


def test_counts_every_call_also_those_for_the_jacobian() -> None:
    field = Function(lambda t, x: -x * x)
    statistics = integrate(field, STIFF, X0, [5.0], solver=Solver("bdf")).statistics
    assert statistics.evaluations == field.calls > statistics.accepted_steps > 0


def test_at_the_start_only() -> None:
    field = Function(lambda t, x: -x)
    solution = integrate(field, STIFF, X0, [0.0, 0.0], solver=Solver("bdf"))
    assert torch.equal(solution.states, torch.stack([X0, X0]))
    assert field.calls == solution.statistics.evaluations == 0


def test_keeps_the_dtype_and_several_features() -> None:
    x0 = torch.rand(5, 3, generator=torch.Generator().manual_seed(0))
    solution = integrate(laws.Heat(), GRAPHS["weighted"], x0, [0.5], solver=Solver("bdf", rtol=1e-6, atol=1e-7))
    assert solution.states.dtype == torch.float32
    torch.testing.assert_close(solution.states.double(), heat(GRAPHS["weighted"], x0, [0.5]), atol=1e-5, rtol=0)


def test_a_field_that_couples_more_than_the_graph_is_still_solved() -> None:
    field = Function(lambda t, x: x.mean() - x)
    solution = integrate(field, GRAPHS["edgeless"], X0[:3], [2.0], solver=Solver("bdf", rtol=1e-8, atol=1e-10))
    mean = X0[:3].mean()
    exact = mean + (X0[:3] - mean) * torch.exp(torch.tensor(-2.0, dtype=torch.float64))
    torch.testing.assert_close(solution.states[0], exact, atol=1e-6, rtol=0)


def test_refuses_gradients_with_advice() -> None:
    with pytest.raises(ValueError, match=r"bdf gives no gradients; use dopri5.*no_grad"):
        integrate(laws.Heat(), STIFF, X0.clone().requires_grad_(), [1.0], solver=Solver("bdf"))
    with torch.no_grad():
        integrate(laws.Heat(), STIFF, X0.clone().requires_grad_(), [1.0], solver=Solver("bdf"))
    with pytest.raises(ValueError, match="gives no gradients"):
        integrate(laws.Heat(torch.nn.Parameter(torch.tensor(1.0))), STIFF, X0, [1.0], solver=Solver("bdf"))


def test_blow_up_is_reported_with_its_time() -> None:
    with pytest.raises(IntegrationError, match="bdf cannot go beyond") as caught:
        integrate(Function(lambda t, x: x * x), STIFF, X0, [1.0], solver=Solver("bdf"))
    assert caught.value.time == pytest.approx(0.5, abs=1e-2)  # 1 / max x0


def test_nan_at_the_start_and_later() -> None:
    with pytest.raises(IntegrationError, match="at the start") as caught:
        integrate(Function(lambda t, x: x * torch.nan), STIFF, X0, [1.0], solver=Solver("bdf"))
    assert caught.value.time == 0
    assert caught.value.reason == "start"
    with pytest.raises(IntegrationError, match="bdf cannot go beyond") as caught:
        integrate(Function(lambda t, x: torch.sqrt(1 - t) * x), STIFF, X0, [2.0], solver=Solver("bdf"))
    assert 0.9 < caught.value.time <= 1


def test_too_many_steps() -> None:
    with pytest.raises(IntegrationError, match=r"used its 5 steps .* raise max_steps") as caught:
        integrate(laws.Heat(), STIFF, X0, [1.0], solver=Solver("bdf", max_steps=5))
    assert 0 < caught.value.time < 1
    assert caught.value.reason == "max_steps"
