"""Regression trees as another opinion: links that no law of the library describes, and laws that need no trees."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import ndcn
from ndcn.reconstruction import trees
from ndcn.reconstruction.paths import paths_of
from ndcn.reconstruction.trees import Forests, Opinion, best_of
from ndcn.reconstruction.verdict import Facts, verdict

N = 6


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty trees show what is tested here as well as two hundred, in a quarter of the time."""
    monkeypatch.setattr(trees, "TREES", 50)


def switched(runs: int, seed: int) -> list[ndcn.Trajectory]:
    """dx_i/dt = -x_i + 1 where x_(i-1) is in a band, by small steps, from random states that are drawn anew every now and then."""
    rng = np.random.default_rng(seed)
    empty = ndcn.Graph(sparse.csr_array((N, N)))
    out = []
    for _ in range(runs):
        x, states = rng.random(N), []
        for _ in range(40):
            states.append(x)
            before = np.roll(x, 1)
            x = x + 0.2 * (-x + ((before > 0.3) & (before < 0.6))) + 0.1 * rng.normal(size=N)
        out.append(ndcn.Trajectory(times=0.2 * np.arange(40), states=np.array(states)[..., None], graph=empty))
    return out


def test_forests_see_who_switches_whom() -> None:
    forests = Forests(paths_of(switched(8, 0)).pieces, 0, seed=0)
    scores = forests.scores()
    assert (scores.argmax(1) == np.roll(np.arange(N), 1)).all()
    assert scores.diagonal().sum() == 0
    held_out = paths_of(switched(4, 1)).pieces
    true = np.concatenate([np.diff(p.observed[..., 0], axis=0) / 0.2 for p in held_out])
    assert np.mean((forests.rates(held_out) - true) ** 2) < 0.98 * true.var()


def test_a_true_law_needs_no_trees() -> None:
    graph = ndcn.Graph.from_edges([(k, (k + 1) % N) for k in range(N)], directed=True)
    starts = np.random.default_rng(0).random((6, N, 1))
    runs = [ndcn.simulate(ndcn.laws.Heat(), graph, x0, np.linspace(0, 1, 12)) for x0 in starts]
    found = ndcn.reconstruct(runs, coupling="x_j - x_i", calibrate=False, trees=True)
    assert found.opinion is not None
    assert found.opinion.best == "law"
    assert found.opinion.errors["law"] < 0.1 * found.opinion.errors["trees"]
    assert found.graph() == graph


def test_one_run_gives_no_second_opinion() -> None:
    found = ndcn.reconstruct(switched(1, 2), coupling="x_j", calibrate=False, trees=True)
    assert found.opinion is None


def test_trees_reorder_probabilities_and_the_verdict_says_so() -> None:
    ranks = np.arange(9.0).reshape(3, 3)
    p = np.array([[0, 0.9, 0.1], [0.2, 0, 0.3], [0.4, 0, 0]])
    opinion = Opinion("trees", {"law": 1.2, "trees": 0.5, "law and trees": 0.8}, ranks)
    moved = opinion.ranked(p)
    assert moved[2, 1] == 0.9
    assert moved[0, 1] == pytest.approx(1e-6 / 6)
    assert sorted(moved[moved > 1e-5]) == [0.1, 0.2, 0.3, 0.4, 0.9]
    facts = Facts(moved, 0.99, 1e3, 1e2, ("x_j", "x_i*x_j"), 10.0, 0.05, 3, 3, 30, np.ones(3), 3, opinion=opinion)
    said = verdict(facts)
    assert said.answer == "not decidable"
    assert "regression trees" in said.reasons[0]
    assert not said.law
    assert opinion.ranked(p)[2, 1] != Opinion("law", opinion.errors, ranks).ranked(p)[2, 1]


def test_absence_of_links_is_claimed_only_where_they_would_show() -> None:
    def said(visible: int) -> ndcn.reconstruction.Verdict:
        return verdict(Facts(np.zeros((20, 20)), 0.0, 1.0, 1e2, ("x_j", ""), 0.1, 0.01, 0, visible, 1, np.ones(20), 20))

    assert said(9).answer == "decided"
    assert said(9).reasons[0].startswith("no links")
    assert said(2).answer == "not decidable"
    assert "would not show" in said(2).reasons[0]


def test_no_links_are_not_claimed_where_nothing_explains_held_out_runs() -> None:
    def said(error: float) -> ndcn.reconstruction.Verdict:
        opinion = Opinion("law", {"law": error, "trees": 1.3, "law and trees": 1.1}, np.zeros((20, 20)))
        given = (np.zeros((20, 20)), 0.0, 1.0, 1e2, ("x_j", ""), 1.0, 0.05, 0, 9, 5, np.ones(20), 20)
        return verdict(Facts(*given, opinion=opinion))

    assert said(0.4).answer == "decided"
    assert said(1.04).answer == "not decidable"
    assert "held out" in said(1.04).reasons[0]


def test_nodes_never_observed_are_told() -> None:
    p = np.where(np.roll(np.eye(20), 1, 1) > 0, 0.99, 0.0)
    given = (p, 0.9, 1e3, 1e2, ("x_j", ""), 0.1, 0.01, 9, 9, 9, np.ones(20), 20)
    assert any("1 node never observed (Rome)" in reason for reason in verdict(Facts(*given, unseen=("Rome",))).reasons)
    assert any("not checked by simulations" in reason for reason in verdict(Facts(*given, unchecked=True)).reasons)
    assert len(verdict(Facts(*given)).reasons) == 1


def test_who_explains_much_less_has_no_say() -> None:
    assert best_of({"law": 0.1, "trees": 0.3, "law and trees": 0.05}) == "law and trees"
    assert best_of({"law": 0.98, "trees": 0.89, "law and trees": 0.83}) == "trees"
    assert best_of({"law": 0.2, "trees": 0.9, "law and trees": 0.15}) == "law"
    assert best_of({"law": 90.0, "trees": 1.02, "law and trees": 20.0}) == "trees"
    assert best_of({"law": 1.01, "trees": 1.02, "law and trees": 0.99}) == "law"
    assert best_of({"law": float("nan"), "trees": 0.9, "law and trees": float("nan")}) == "trees"


def test_links_that_one_direction_tells_are_not_believed() -> None:
    def said(directions: int, **given: bool) -> ndcn.reconstruction.Verdict:
        p = np.where(np.roll(np.eye(20), 1, 1) > 0, 0.99, 0.0)
        return verdict(Facts(p, 0.9, 1e3, 1e2, ("x_j", ""), 0.1, 0.01, directions, 9, 1, np.ones(20), 20, **given))

    assert said(9).answer == "decided"
    assert said(1).answer == "not decidable"
    assert "1 direction above noise" in said(1).reasons[0]
    assert not said(1).law
    assert said(1, prior=True).answer == "decided"
