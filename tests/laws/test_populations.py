"""Lotka-Volterra: its fixed point, a species alone, who is extinct."""

from __future__ import annotations

import torch

from ndcn import Graph, networks, simulate
from ndcn.laws import LotkaVolterra
from problems import DIRECTED, GRAPHS

T0 = torch.tensor(0.0)


def test_by_hand() -> None:
    x = torch.tensor([[1.0], [2.0], [0.0], [3.0]], dtype=torch.float64)  # 0 - 1 - 2 - 3
    expected = torch.tensor([[2 - 0.5 - 0.1 * 2], [4 - 2 - 0.1 * 2 * 1], [0.0], [6 - 4.5]], dtype=torch.float64)
    torch.testing.assert_close(LotkaVolterra(alpha=2, theta=0.5, c=0.1)(T0, x, GRAPHS["path"]), expected)


def test_all_rest_where_competition_takes_all_growth() -> None:
    graph = Graph.from_dense(DIRECTED)
    alpha, theta = torch.linspace(1, 2, 5, dtype=torch.float64), torch.linspace(3, 2, 5, dtype=torch.float64)
    rest = torch.linalg.solve(torch.diag(theta) + 0.3 * graph.to_dense(), alpha).unsqueeze(1)
    law = LotkaVolterra(alpha, theta, c=0.3)
    assert (rest > 0).all()
    torch.testing.assert_close(law(T0, rest, graph), torch.zeros_like(rest), rtol=0, atol=1e-12)
    last = simulate(law, graph, torch.ones(5, 1, dtype=torch.float64), [0.0, 60.0]).states[-1]
    torch.testing.assert_close(last, rest, rtol=1e-6, atol=1e-6)


def test_a_species_alone_is_logistic() -> None:
    times = torch.linspace(0, 5, 6, dtype=torch.float64)
    data = simulate(LotkaVolterra(alpha=1.5, theta=0.5), GRAPHS["single"], torch.tensor([0.2]).double(), times)
    x0 = data.states[0, 0, 0]
    exact = 3 / (1 + (3 / x0 - 1) * torch.exp(-1.5 * times))
    torch.testing.assert_close(data.states[:, 0, 0], exact, rtol=1e-6, atol=1e-7)


def test_the_extinct_stay_so_and_nobody_starts_extinct() -> None:
    graph = networks.grid(49)
    x0 = LotkaVolterra().initial_state(graph)
    assert 0.1 <= x0.min() < x0.max() < 1
    x0[7] = 0
    data = simulate(LotkaVolterra(), graph, x0, [0.0, 1.0, 5.0])
    assert (data.states[:, 7] == 0).all()
    assert data.states.min() >= 0
