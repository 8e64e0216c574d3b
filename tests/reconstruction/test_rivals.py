"""Couplings of similar shape: simulations under each of them decide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse

import ndcn
from ndcn.laws import Formula, Term
from ndcn.reconstruction.engine import with_noise
from ndcn.reconstruction.families import Scored, same, scored
from ndcn.reconstruction.increments import Increments
from ndcn.reconstruction.paths import paths_of
from ndcn.reconstruction.rivals import Contest, contested
from ndcn.reconstruction.verdict import Facts, verdict

N = 16
LINEAR, SINE = (Term(Formula(text, ["x"]), True, 0) for text in ("x_j - x_i", "sin(x_j - x_i)"))


def oscillators(reach: float) -> tuple[Increments, list[ndcn.Trajectory]]:
    """Phases within so much of 0, with 2 % noise."""
    rng = np.random.default_rng(0)
    graph = ndcn.Graph.from_dense((rng.random((N, N)) < 0.15) * (1 - np.eye(N)), directed=True)
    empty, times = ndcn.Graph(sparse.csr_array((N, N))), np.linspace(0, 1.0, 12)
    runs = []
    for _ in range(12):
        states = ndcn.simulate(ndcn.laws.Kuramoto(), graph, rng.uniform(-reach, reach, (N, 1)), times).states.numpy()
        noisy = states + 0.02 * reach * rng.normal(size=states.shape)
        runs.append(ndcn.Trajectory(times=times, states=noisy, graph=empty))
    return with_noise(paths_of(runs), ["x"], 0), runs


def looks(increments: Increments, first: float, second: float) -> list[Scored]:
    """Both couplings with evidence as if they had these leads."""
    out = []
    for term, lead in ((LINEAR, first), (SINE, second)):
        one = scored(increments, term, np.arange(N), torch.Generator().manual_seed(0), 20)
        assert one is not None
        out.append(replace(one, evidence=lead))
    return out


def test_data_are_compared_with_those_under_each_coupling() -> None:
    rows = torch.linspace(0.5, 1.5, 40, dtype=torch.float64)
    assert Contest(4 * rows, 4 * rows + 0.1, -3 * rows).sureness > 5
    assert Contest(1 * rows, 9 * rows, rows - 0.01 * torch.randn(40, dtype=torch.float64)).sureness < -5
    noise = torch.randn(3, 40, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert abs(Contest(*noise).sureness) < 3


def test_simulations_put_a_wrong_order_right() -> None:
    increments, runs = oscillators(3.0)
    ranked, sure = contested(increments, looks(increments, 10.0, 0.0), runs, seed=0)
    assert ranked[0].term == SINE
    assert sure >= 1


def test_couplings_that_are_the_same_up_to_noise_are_no_doubt() -> None:
    increments, runs = oscillators(0.1)
    assert same(increments, SINE, LINEAR, in_noise=True)
    ranked, sure = contested(increments, looks(increments, 0.0, 2.0)[::-1], runs, seed=0)
    assert ranked[0].term == LINEAR
    assert sure >= 1


def test_rivals_far_behind_are_not_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    increments, runs = oscillators(0.1)
    monkeypatch.setattr("ndcn.reconstruction.rivals.simulated", lambda *_: pytest.fail("simulated"))
    ranked, sure = contested(increments, looks(increments, 100.0 * N, 0.0), runs, seed=0)
    assert ranked[0].term == LINEAR
    assert sure == np.inf


def test_what_cannot_be_told_apart_is_not_claimed() -> None:
    p = np.where(np.roll(np.eye(20), 1, 1) > 0, 0.99, 0.0)

    def said(sure: float) -> ndcn.reconstruction.Verdict:
        return verdict(Facts(p, 0.9, 1e3, 50.0, ("x_j", "tanh(x_j)"), 0.1, 0.01, 9, 9, 9, np.ones(20), 20, sure=sure))

    assert said(1.5).law
    assert not said(0.5).law
    assert any("cannot be told apart" in reason for reason in said(0.5).reasons)
