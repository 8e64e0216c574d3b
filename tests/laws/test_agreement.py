"""Kuramoto and consensus: exact solutions for two nodes, and what symmetric graphs keep."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given

from ndcn import Graph, networks, simulate
from ndcn.laws import Consensus, Heat, Kuramoto
from problems import GRAPHS, states
from strategies import graphs

T0 = torch.tensor(0.0)
PAIR = Graph.from_edges([(0, 1)])
TIMES = torch.linspace(0, 3, 7, dtype=torch.float64)


def test_kuramoto_by_hand() -> None:
    x = torch.tensor([[0.0], [math.pi / 2], [math.pi / 2], [math.pi]], dtype=torch.float64)  # 0 - 1 - 2 - 3
    found = Kuramoto(omega=[1, 2, 3, 4], k=0.5)(T0, x, GRAPHS["path"])
    torch.testing.assert_close(found, torch.tensor([[1.5], [1.5], [3.5], [3.5]], dtype=torch.float64))


@given(graphs(directed=False))
def test_the_mean_frequency_is_that_of_the_oscillators(graph: Graph) -> None:
    omega = torch.linspace(-1, 2, graph.num_nodes, dtype=torch.float64)
    rate = Kuramoto(omega, k=0.7)(T0, states(graph, 2), graph)
    torch.testing.assert_close(rate.mean(0), omega.mean().expand(2), rtol=0, atol=1e-12)


@given(graphs())
def test_kuramoto_knows_only_differences_of_phases(graph: Graph) -> None:
    x, law = states(graph, 1), Kuramoto()
    torch.testing.assert_close(law(T0, x + 1.3, graph), law(T0, x, graph), rtol=0, atol=1e-12)
    torch.testing.assert_close(law(T0, x + 2 * math.pi, graph), law(T0, x, graph), rtol=0, atol=1e-12)


@pytest.mark.parametrize("k", [0.2, 1.0])
def test_two_oscillators(k: float) -> None:
    """Their difference p follows dp/dt = -2 k sin p: tan(p/2) decays as exp(-2 k t)."""
    data = simulate(Kuramoto(omega=0.4, k=k), PAIR, torch.tensor([0.0, 2.5], dtype=torch.float64), TIMES)
    first, second = data.states[:, 0, 0], data.states[:, 1, 0]
    exact = 2 * torch.atan(math.tan(1.25) * torch.exp(-2 * k * TIMES))
    torch.testing.assert_close(second - first, exact, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close((first + second) / 2, 1.25 + 0.4 * TIMES, rtol=1e-6, atol=1e-7)


def test_strong_coupling_locks_phases() -> None:
    graph = networks.random(40, seed=0)
    law = Kuramoto(omega=torch.linspace(-1, 1, 40), k=2.0)
    data = simulate(law, graph, torch.linspace(0, 1, 40).double(), [0.0, 20.0])
    torch.testing.assert_close(law(T0, data.states[-1], graph), torch.zeros(40, 1).double(), rtol=0, atol=1e-5)


def test_consensus_by_hand() -> None:
    x = torch.tensor([[0.0], [1.0], [1.0], [-1.0]], dtype=torch.float64)
    one, two = 2 * math.tanh(0.5), 2 * math.tanh(1.0)
    expected = torch.tensor([[one], [-one], [-two], [two]], dtype=torch.float64)
    torch.testing.assert_close(Consensus(k=2, s=0.5)(T0, x, GRAPHS["path"]), expected)


@given(graphs(directed=False))
def test_consensus_keeps_the_mean_on_undirected_graphs(graph: Graph) -> None:
    rate = Consensus(k=1.5, s=2.0)(T0, states(graph, 2), graph)
    torch.testing.assert_close(rate.sum(0), torch.zeros(2, dtype=torch.float64), rtol=0, atol=1e-12)


@given(graphs())
def test_influence_is_bounded_and_near_agreement_it_is_heat(graph: Graph) -> None:
    x = states(graph, 1)
    bound = 0.5 * graph.to_dense().abs().sum(1, keepdim=True)
    assert (Consensus(k=0.5, s=3.0)(T0, 100 * x, graph).abs() <= bound + 1e-12).all()
    close = 1e-5 * x
    torch.testing.assert_close(
        Consensus(2.0, 3.0)(T0, close, graph), Heat(6.0)(T0, close, graph), rtol=1e-6, atol=1e-12
    )


def test_two_opinions() -> None:
    """Their difference p follows dp/dt = -2 k tanh(s p): sinh(s p) decays as exp(-2 k s t)."""
    k, s = 0.4, 1.5
    data = simulate(Consensus(k, s), PAIR, torch.tensor([0.0, 2.0], dtype=torch.float64), TIMES)
    exact = torch.asinh(math.sinh(2 * s) * torch.exp(-2 * k * s * TIMES)) / s
    torch.testing.assert_close(data.states[:, 1, 0] - data.states[:, 0, 0], exact, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(data.states.mean(1)[:, 0], torch.ones(7, dtype=torch.float64), rtol=0, atol=1e-7)


def test_phases_and_opinions_to_start_from() -> None:
    graph = networks.grid(400)
    phases, opinions = Kuramoto().initial_state(graph), Consensus().initial_state(graph)
    assert 0 <= phases.min() < 0.1
    assert 6.2 < phases.max() < 2 * math.pi
    assert -1 <= opinions.min() < -0.9
    assert 0.9 < opinions.max() < 1
