"""SIS and SIR against values by hand, exact solutions on regular graphs, and what they keep."""

from __future__ import annotations

import math

import pytest
import torch

from ndcn import Graph, networks, simulate
from ndcn.laws import SIR, SIS
from problems import GRAPHS

T0 = torch.tensor(0.0)
RING = Graph.from_edges([(i, (i + 1) % 6) for i in range(6)])  # every degree is 2
TIMES = torch.linspace(0, 4, 9, dtype=torch.float64)


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64).unsqueeze(1)


def test_sis_by_hand() -> None:
    x = column(0.5, 0.2, 0.0, 1.0)  # on the path 0 - 1 - 2 - 3
    expected = column(-0.5 * 0.5 + 2 * 0.5 * 0.2, -0.5 * 0.2 + 2 * 0.8 * 0.5, 2 * (0.2 + 1.0), -0.5)
    torch.testing.assert_close(SIS(beta=2, delta=0.5)(T0, x, GRAPHS["path"]), expected)


@pytest.mark.parametrize(("beta", "delta"), [(1.0, 1.0), (2.0, 0.5), (0.2, 1.0)])
def test_sis_is_logistic_on_a_regular_graph(beta: float, delta: float) -> None:
    rate, rest = 2 * beta - delta, 1 - delta / (2 * beta)
    data = simulate(SIS(beta, delta), RING, torch.full((6, 1), 0.1, dtype=torch.float64), TIMES)
    exact = rest / (1 + (rest / 0.1 - 1) * torch.exp(-rate * TIMES))
    torch.testing.assert_close(data.states[:, 3, 0], exact, rtol=1e-6, atol=1e-7)
    at_rest = torch.full((6, 1), rest, dtype=torch.float64)
    torch.testing.assert_close(SIS(beta, delta)(T0, at_rest, RING), torch.zeros_like(at_rest), rtol=0, atol=1e-12)


def test_sis_stays_between_0_and_1() -> None:
    graph = networks.power_law(60, seed=0)
    x0 = torch.rand(60, 1, generator=torch.Generator().manual_seed(0)).round()
    data = simulate(SIS(), graph, x0, torch.linspace(0, 10, 30))
    assert data.states.min() >= 0
    assert data.states.max() <= 1


def test_sir_by_hand() -> None:
    x = torch.tensor([[0.9, 0.1], [0.5, 0.3], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    infected = [2 * 0.9 * 0.3, 2 * 0.5 * (0.1 + 0.0), 2 * 1.0 * (0.3 + 1.0), 0.0]
    removed = [0.5 * 0.1, 0.5 * 0.3, 0.0, 0.5]
    expected = torch.tensor([[-new, new - gone] for new, gone in zip(infected, removed, strict=True)])
    torch.testing.assert_close(SIR(beta=2, gamma=0.5)(T0, x, GRAPHS["path"]), expected.double())


def test_sir_keeps_the_sum_of_its_three() -> None:
    """With s and i solved, gamma times the integral of i is what became of the rest: r = 1 - s - i."""
    graph, times = networks.power_law(40, seed=0), torch.linspace(0, 5, 1001, dtype=torch.float64)
    data = simulate(SIR(beta=0.5, gamma=0.7), graph, SIR().initial_state(graph, dtype=torch.float64), times)
    s, i = data.states.unbind(2)
    assert data.features == ("s", "i")
    removed = 0.7 * torch.cumulative_trapezoid(i, times, dim=0)
    torch.testing.assert_close((s + i)[1:] + removed, torch.ones_like(removed), rtol=0, atol=1e-4)
    assert (s.diff(dim=0) < 0).all()
    assert data.states.min() >= 0


@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 1.0), (3.0, 0.5)])
def test_sir_keeps_its_invariant_on_a_regular_graph(beta: float, gamma: float) -> None:
    start = torch.tensor([[0.95, 0.05]], dtype=torch.float64).repeat(6, 1)
    s, i = simulate(SIR(beta, gamma), RING, start, TIMES).states.unbind(2)
    kept = s + i - gamma / (2 * beta) * s.log()
    torch.testing.assert_close(kept, torch.full_like(kept, 1 - gamma / (2 * beta) * math.log(0.95)), rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
def test_epidemics_start_with_few_infected(seed: int) -> None:
    graph = networks.grid(400)
    x = SIS().initial_state(graph, seed=seed)
    both = SIR().initial_state(graph, seed=seed)
    assert 0 <= x.min() < x.max() < 0.1
    assert torch.equal(both[:, 1:], x)
    torch.testing.assert_close(both.sum(1), torch.ones(400))
    assert not torch.equal(x, SIS().initial_state(graph, seed=seed + 1))
