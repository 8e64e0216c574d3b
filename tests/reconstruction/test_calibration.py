"""Simulations of networks that were found."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

import ndcn
from ndcn.reconstruction.engine import Found
from ndcn.reconstruction.simulation import Simulated, _Rates, simulated

N = 6


@pytest.fixture(scope="module")
def found() -> tuple[ndcn.Reconstruction, list[ndcn.Trajectory]]:
    """Heat on a ring, by a coupling with a pole at x = -2."""
    ring = ndcn.Graph.from_edges([(k, (k + 1) % N) for k in range(N)], num_nodes=N, directed=True)
    empty, times = ndcn.Graph(sparse.csr_array((N, N))), np.linspace(0, 1, 15)
    start = np.random.default_rng(0).random((6, N, 1))
    runs = [ndcn.simulate(ndcn.laws.Heat(), ring, x0, times).replaced(graph=empty) for x0 in start]
    coupling, values = "x_i*x_j/(1 + b*x_i + c*x_j)", (0.5, 0.0)
    return ndcn.reconstruct(runs, coupling=coupling, values=values, calibrate=False), runs


def _law(found: Found) -> Simulated:
    return Simulated(found.increments, found.term, found.learned.coefficients / torch.from_numpy(found.grams.scales[1]))


def test_rates_far_from_observed_states_are_those_at_their_border(
    found: tuple[ndcn.Reconstruction, list[ndcn.Trajectory]],
) -> None:
    rates = _Rates(_law(found[0].found), np.ones((N, N)) - np.eye(N))
    graph, time = found[1][0].graph, torch.tensor(0.0)
    at_pole, far = (rates(time, torch.full((N, 1), x, dtype=torch.float64), graph) for x in (-2.0, -50.0))
    assert torch.equal(at_pole, far)
    assert bool((far.abs() < 1e3).all())


def test_a_run_that_cannot_be_followed_is_left_out(
    found: tuple[ndcn.Reconstruction, list[ndcn.Trajectory]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ndcn.reconstruction import simulation

    calls = []

    def failing(*args: object, **named: object) -> object:
        calls.append(1)
        if len(calls) == 2:
            raise ndcn.IntegrationError("too many steps", time=0.1, reason="max_steps")
        return ndcn.integrate(*args, **named)

    monkeypatch.setattr(simulation, "integrate", failing)
    one, runs = found
    paths = simulated(_law(one.found), np.zeros((N, N)), runs, np.random.default_rng(0))
    assert paths is not None
    assert len(paths.pieces) == len(runs) - 1
