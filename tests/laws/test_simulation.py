"""simulate: units, types, and what can go wrong."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ndcn import Graph, IntegrationError, Solver, simulate
from ndcn.laws import Gene, Heat, Law
from problems import GRAPHS, heat, states


@pytest.mark.parametrize("scale", [10.0**k for k in range(-12, 13, 3)])
def test_heat_is_solved_equally_well_in_any_unit(graph: Graph, scale: float) -> None:
    x0, times = states(graph, 2), torch.tensor([0.0, 0.1, 1.0, 3.0])
    found = simulate(Heat(), graph, x0 * scale, times).states / scale
    torch.testing.assert_close(found, heat(graph, x0, times), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("ratio", [1e-5, 1e-3, 1e3, 1e5])
def test_features_of_different_size_are_solved_equally_well(ratio: float) -> None:
    graph, size = GRAPHS["path"], torch.tensor([1.0, ratio], dtype=torch.float64)
    x0 = torch.tensor([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], dtype=torch.float64)
    data = simulate(Heat(), graph, x0 * size, [0.1, 1.0])
    torch.testing.assert_close(data.states / size, heat(graph, x0, [0.1, 1.0]), rtol=1e-6, atol=1e-7)
    assert data.statistics.accepted_steps < 2000


def test_a_start_at_rest_and_one_next_to_nothing() -> None:
    class Rain(Law):
        def node(self, x: torch.Tensor) -> torch.Tensor:
            return 1 - x

    for x0 in (torch.zeros(4, 1), torch.full((4, 1), 1e-320, dtype=torch.float64)):
        found = simulate(Rain(), GRAPHS["path"], x0, [1.0]).states
        torch.testing.assert_close(found, torch.full_like(found, 1 - np.exp(-1)), rtol=1e-6, atol=0)


def test_a_solution_that_the_type_cannot_hold() -> None:
    class Growth(Law):
        def node(self, x: torch.Tensor) -> torch.Tensor:
            return x

    with pytest.raises(
        IntegrationError, match=r"at t = 90 is larger than float32 can hold .*float64 \(x0.double\(\)\)"
    ) as caught:
        simulate(Growth(), GRAPHS["path"], torch.ones(4), [0.0, 80.0, 90.0, 100.0])
    assert caught.value.time == 90
    assert simulate(Growth(), GRAPHS["path"], torch.ones(4).double(), [100.0]).states.max() > 1e43


def test_the_result_has_the_type_of_the_initial_state() -> None:
    for x0, dtype in ((torch.ones(4), torch.float32), (np.ones((4, 1)), torch.float64), ([1, 2, 3, 4], torch.float32)):
        data = simulate(Gene(), GRAPHS["path"], x0, [0, 1])
        assert data.states.dtype == dtype
        assert data.states.shape == (2, 4, 1)


def test_a_later_start_and_another_solver() -> None:
    x0 = states(GRAPHS["path"], 1)
    data = simulate(Heat(), GRAPHS["path"], x0, [2.0, 3.0], t0=2.0, solver=Solver("rk4", step_size=0.01))
    torch.testing.assert_close(data.states, heat(GRAPHS["path"], x0, torch.tensor([0.0, 1.0])), rtol=1e-6, atol=1e-6)
    assert data.statistics.accepted_steps == 100


@pytest.mark.parametrize(
    ("x0", "times", "message"),
    [
        (torch.ones(3), [0, 1], r"x0 must have shape \(n, d\) with n = 4 nodes"),
        (torch.full((4,), float("nan")), [0, 1], "x0 has NaN or infinite entries"),
        (torch.ones(4), [1, 0], "times are not in increasing order"),
        (torch.ones(4), [0, float("nan")], "times must be finite"),
        (torch.ones(4), [-1, 0], "times must be >= 0"),
    ],
)
def test_bad_questions(x0: torch.Tensor, times: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simulate(Heat(), GRAPHS["path"], x0, times)


def test_times_before_the_start_are_refused() -> None:
    with pytest.raises(ValueError, match=r"0\.5"):
        simulate(Heat(), GRAPHS["path"], torch.ones(4), [0.5, 2.0], t0=1.0)


def test_an_explosion_says_when() -> None:
    class Explosion(Law):
        def node(self, x: torch.Tensor) -> torch.Tensor:
            return x * x

    with pytest.raises(IntegrationError) as caught:
        simulate(Explosion(), GRAPHS["single"], torch.ones(1), [0.0, 2.0])
    assert caught.value.time == pytest.approx(1.0, abs=0.01)
