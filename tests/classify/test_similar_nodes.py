"""Edges between nodes of similar features."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from scipy import sparse

import ndcn
from ndcn.classify import similar_nodes
from ndcn.classify.similar_nodes import similar_pairs, telling, with_similar

N = 240
QUICK = {"hidden": 16, "epochs": 30, "progress": False}


def words_of(codes: torch.Tensor, seed: int = 0) -> sparse.csr_array:
    """Thirty words; ten of them are more common in one of two classes."""
    draw = np.random.default_rng(seed)
    chance = np.full((len(codes), 30), 0.15)
    for one in (0, 1):
        chance[codes.numpy() == one, 10 * one : 10 * one + 10] = 0.5
    return sparse.csr_array((draw.random(chance.shape) < chance).astype(float))


def two_towns(seed: int = 0) -> tuple[ndcn.Graph, sparse.csr_array, torch.Tensor]:
    """Two classes; half of the nodes have no edge at all, the others only within their class."""
    draw, codes = np.random.default_rng(seed), torch.arange(N) % 2
    ends = draw.integers(0, N // 4, size=(300, 2)) * 2 + draw.integers(0, 2, size=(300, 1))
    pairs = [(int(a), int(b)) for a, b in ends if a != b]
    return ndcn.Graph.from_edges(pairs, num_nodes=N, duplicates="first"), words_of(codes, seed), codes


@pytest.fixture(scope="module")
def fitted() -> ndcn.NodeClassifier:
    graph, words, codes = two_towns()
    known = torch.arange(N) < 60
    return ndcn.NodeClassifier(field="diffusion", **QUICK).fit(graph, words, codes, known)


@given(n=st.integers(1, 24), count=st.integers(0, 6), seed=st.integers(0, 1000), block=st.sampled_from([1, 5, 512]))
def test_pairs_are_those_of_the_definition(n: int, count: int, seed: int, block: int) -> None:
    features = np.random.default_rng(seed).normal(size=(n, 7)) * (np.random.default_rng(seed).random((n, 7)) < 0.6)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(similar_nodes, "BLOCK", block)
        found = similar_pairs(sparse.csr_array(features), count).toarray()
    length = np.linalg.norm(features, axis=1)
    unit = features / np.where(length > 0, length, 1)[:, None]
    cosine = unit @ unit.T
    near = np.zeros((n, n), dtype=bool)
    for i in range(n):
        others = sorted((j for j in range(n) if j != i), key=lambda j: -cosine[i, j])[:count]
        near[i, [j for j in others if cosine[i, j] > 1e-12]] = True
    np.testing.assert_array_equal(found, (near & near.T).astype(float))


def test_only_what_is_not_joined_is_joined_weakly() -> None:
    graph, words, _ = two_towns()
    joined = with_similar(graph, words, 4)
    before, after = graph.to_scipy().toarray(), joined.to_scipy().toarray()
    np.testing.assert_array_equal(after[before != 0], before[before != 0])
    new = after[(before == 0) & (after != 0)]
    assert len(new) > 100
    np.testing.assert_allclose(new, 0.1 * before[before != 0].mean())
    np.testing.assert_array_equal(after, after.T)
    assert joined.nodes == graph.nodes
    assert not joined.directed
    assert with_similar(graph, words.copy(), 4) is joined  # found once
    assert with_similar(graph, words, 3).num_edges < joined.num_edges
    other = words.copy()
    other.data[::2] *= 9
    assert with_similar(graph, other, 4).num_edges != joined.num_edges


def test_nodes_without_edges_are_joined_to_others(fitted: ndcn.NodeClassifier) -> None:
    alone = np.asarray(fitted.graph_.to_scipy().sum(axis=1)) == 0
    assert alone.sum() > 100
    assert (np.asarray(fitted.flow_graph_.to_scipy().sum(axis=1))[alone] > 0).mean() > 0.5
    assert fitted.recipe_.similar == 5
    none = ndcn.NodeClassifier(field="diffusion", similar=0, **QUICK)
    none.fit(fitted.graph_, fitted.features_, fitted.codes_, torch.arange(N) < 60)
    assert none.flow_graph_ is none.graph_
    assert (none.predict_proba() - fitted.predict_proba()).abs().max() > 1e-3


def test_they_are_named() -> None:
    graph, words, codes = two_towns()
    clf = ndcn.NodeClassifier(**QUICK).fit(graph, words, codes, torch.arange(N) < 160)
    added = clf.flow_graph_.num_edges - graph.num_edges
    assert clf.choice_.similar == added > 100
    assert f"{added} edges between nodes of similar features were added" in str(clf.choice_)


def test_words_that_say_nothing_join_nothing() -> None:
    graph, words, codes = two_towns()
    known = torch.arange(N) < 120
    shuffled = words[np.random.default_rng(1).permutation(N)]
    assert telling(words, codes, known.nonzero().flatten(), 5)
    assert not telling(shuffled, codes, known.nonzero().flatten(), 5)
    assert not telling(words, codes, torch.arange(4), 5)  # too few to tell
    clf = ndcn.NodeClassifier(field="diffusion", **QUICK).fit(graph, shuffled, codes, known)
    assert clf.flow_graph_ is clf.graph_
    assert clf.recipe_.similar == 0


@pytest.mark.parametrize(
    ("limit", "value"), [("MOST_PRODUCTS", N * N * (30 + similar_nodes.SORTING)), ("MOST_ENTRIES", N * 30)]
)
def test_small_and_large_tables_are_left_alone(monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    graph, words, codes = two_towns()
    assert with_similar(ndcn.networks.grid(36), words[:36], 5).num_edges == ndcn.networks.grid(36).num_edges
    monkeypatch.setattr(similar_nodes, limit, value)
    assert telling(words, codes, torch.arange(N), 5)
    assert with_similar(graph, words, 5) is not graph
    monkeypatch.setattr(similar_nodes, limit, value - 1)
    assert not telling(words, codes, torch.arange(N), 5)
    assert with_similar(graph, words, 5) is graph


def test_a_file_keeps_them(fitted: ndcn.NodeClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "one.ndcn")
    again = ndcn.load(tmp_path / "one.ndcn")
    assert again.predict_proba().equal(fitted.predict_proba())
    assert again.graph_ == fitted.graph_
    assert again.flow_graph_ == fitted.flow_graph_
    again.save(tmp_path / "two.ndcn")
    assert (tmp_path / "two.ndcn").read_bytes() == (tmp_path / "one.ndcn").read_bytes()


def test_explanations_count_what_came_over_them(fitted: ndcn.NodeClassifier) -> None:
    alone = np.asarray(fitted.graph_.to_scipy().sum(axis=1)) == 0
    joined = np.asarray(fitted.flow_graph_.to_scipy().sum(axis=1)) > 0
    why = fitted.explain(int(np.flatnonzero(alone & joined)[0]))
    assert abs(why.table.contribution.sum() + why.bias - why.log_odds) < 1e-5
    assert len(why.table) > 1
    assert why.table.hops.max() >= 1


def test_another_graph_gets_its_own(fitted: ndcn.NodeClassifier) -> None:
    graph, words, codes = two_towns(seed=1)
    found = fitted.predict_proba(graph=graph, features=words)
    assert (found.argmax(dim=1) == codes).double().mean() > 0.7
    same = fitted.predict_proba(graph=fitted.graph_, features=fitted.features_)
    torch.testing.assert_close(same, fitted.predict_proba())


@pytest.mark.parametrize("wrong", [-1, 1.5, "many"])
def test_wrong_numbers_are_refused(wrong: object) -> None:
    with pytest.raises((TypeError, ValueError), match="similar"):
        ndcn.NodeClassifier(similar=wrong)
