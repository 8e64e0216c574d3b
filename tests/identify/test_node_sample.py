from __future__ import annotations

import numpy as np
import torch

import ndcn
from ndcn import Trajectory
from ndcn.identify import node_sample, observations, search
from ndcn.identify.library import formula_names, library, ranges_of
from ndcn.identify.observations import observed, signed
from ndcn.identify.search import Search


def data(n: int = 400) -> Trajectory:
    graph = ndcn.networks.small_world(n, seed=0, order=None)
    x0 = 2 * torch.rand(n, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return ndcn.simulate(ndcn.laws.Gene(), graph, x0, ndcn.sampling.irregular_times(5.0, count=40, seed=0))


def test_a_path_that_is_computed_later_is_the_same(monkeypatch) -> None:
    whole = observed(data(), noisy=False)
    monkeypatch.setattr(observations, "LATER", 10)
    monkeypatch.setattr(node_sample, "AT_ONCE", 1000)
    later = observed(data(), noisy=False)
    assert isinstance(later.inner, node_sample.LaterPath)
    which = torch.tensor([3, 0, 17])
    torch.testing.assert_close(later.inner[which], whole.inner[which], rtol=0, atol=0)
    torch.testing.assert_close(torch.cat(list(later.inner.split(7))), whole.inner, rtol=0, atol=0)
    torch.testing.assert_close(later.inner.flatten(0, 1), whole.inner.flatten(0, 1), rtol=0, atol=0)
    torch.testing.assert_close(signed(later).inner[which], signed(whole).inner[which], rtol=0, atol=0)
    assert len(later.inner) == 39


def test_sampled_nodes_have_all_their_neighbours() -> None:
    one = observed(data(), noisy=False)
    some = node_sample.some_nodes(one, 30)
    drawn = np.sort(np.random.default_rng(0).choice(400, size=30, replace=False))
    assert some.counted == 30
    torch.testing.assert_close(some.level[:, :30], one.level[:, drawn], rtol=0, atol=0)
    a, b = one.network.graph.adjacency, some.network.graph.adjacency
    x = one.level[5]
    around = np.setdiff1d(np.unique(a.csr[drawn].indices), drawn)
    torch.testing.assert_close((a @ x)[drawn], (b @ x[np.concatenate([drawn, around])])[:30])


def test_the_law_is_found_on_a_sample_and_judged_on_all(monkeypatch) -> None:
    monkeypatch.setattr(observations, "LATER", 10)
    monkeypatch.setattr(search, "SAMPLED_ABOVE", 100)
    monkeypatch.setattr(search, "HUGE", 100)
    monkeypatch.setattr(search, "LARGE", 100)
    monkeypatch.setattr(search, "some_nodes", lambda one: node_sample.some_nodes(one, 60))
    reg = ndcn.DynamicsRegressor(model="interaction").fit(data())
    assert reg.evidence_.explained
    assert {term.formula.text for term in reg.law_.equation.terms} == {"x", "x_j^h/(1 + x_j^h)"}


def test_a_sample_ranks_candidates_as_all_nodes_do() -> None:
    one = observed(data(), noisy=False)
    terms = library(formula_names(("x",)), ranges_of(one.level.reshape(-1, 1)))
    best = Search([one], terms).guesses()[0]
    assert any(term.formula.text == "x_j^h/(1 + x_j^h)" for term in best.terms)
