"""``NodeClassifier.explain``: exact contributions of all nodes to the class of one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from scipy.linalg import expm
from sklearn.exceptions import NotFittedError

import ndcn
from ndcn import Graph, NodeClassifier, Solver
from ndcn.classify.explanation import arriving, hops_to
from ndcn.datasets import NodeDataset, karate_club


def fitted(**choices: object) -> NodeClassifier:
    data = karate_club()
    classifier = NodeClassifier(**{"T": 2.0, "hidden": 16, "epochs": 30, "progress": False, **choices})
    return classifier.fit(data.graph, data.features, data.labels, data.train_mask)


@pytest.fixture(scope="module")
def club() -> NodeClassifier:
    return fitted()


@pytest.fixture(scope="module")
def one_way() -> NodeClassifier:
    """A directed, weighted graph of three named classes, one node without edges."""
    rng = np.random.default_rng(1)
    labels = np.repeat(["a", "b", "c"], 8)
    dense = (rng.random((24, 24)) < np.where(labels[:, None] == labels, 0.4, 0.05)) * rng.random((24, 24))
    dense[-1], dense[:, -1] = 0, 0
    train = np.arange(24) % 8 < 3
    graph = Graph(sparse.csr_array(dense), nodes=[f"n{k}" for k in range(24)], directed=True)
    classifier = NodeClassifier(T=3.0, alpha=0.5, source=0.2, hidden=8, epochs=20, progress=False)
    return classifier.fit(graph, rng.random((24, 5)), labels, train, np.arange(24) % 8 == 7)


@pytest.mark.parametrize(
    "choices", [{}, {"learn_T": True, "learn_alpha": True}, {"dtype": "float64", "T": 8.0}], ids=str
)
def test_contributions_and_bias_are_the_log_odds(choices: dict) -> None:
    club = fitted(**choices)
    odds = club.predict_proba().double().log()
    for node in (0, 5, 8, 33):
        why = club.explain(node)
        best, second = odds[node].argsort(descending=True)[:2].tolist()
        assert (why.predicted, why.runner_up) == (best, second)
        assert why.log_odds == pytest.approx(float(odds[node, best] - odds[node, second]), abs=1e-5)
        assert why.table.contribution.sum() + why.bias == pytest.approx(why.log_odds, abs=1e-5)
        assert sum(why.by_split().values()) == pytest.approx(why.log_odds, abs=1e-5)
        assert why.probability == pytest.approx(float(odds[node].max().exp()), abs=1e-6)
        assert why.table.share.abs().sum() == pytest.approx(1)


def test_directed_graphs_with_names_and_three_classes(one_way: NodeClassifier) -> None:
    odds = one_way.predict_proba().double().log()
    for k, name in enumerate(one_way.graph_.nodes):
        why = one_way.explain(name)
        top = odds[k].sort(descending=True)[0]
        assert why.log_odds == pytest.approx(float(top[0] - top[1]), abs=1e-5)
        assert why.table.contribution.sum() + why.bias == pytest.approx(why.log_odds, abs=1e-5)
        assert why.predicted == one_way.predict()[k]
    alone = one_way.explain("n23").table
    assert (alone.node.tolist(), alone.hops.tolist(), alone.share.abs().tolist()) == (["n23"], [0], [1.0])


def test_weights_are_a_row_of_the_exact_solution(one_way: NodeClassifier) -> None:
    """g(Phi) of the equation with its source, by the matrix exponential."""
    weights = one_way.graph_.to_scipy()
    unit = one_way.graph_.with_adjacency(weights / weights.data.mean())  # alpha counts against typical edges
    phi = ndcn.operators.diffusion(unit, 0.5).csr.toarray()
    n, beta, t = len(phi), 0.2, 3.0
    matrix = np.block([[phi - (1 + beta) * np.eye(n), beta * np.eye(n)], [np.zeros((n, 2 * n))]])
    exact = expm(matrix * t) @ np.vstack([np.eye(n), np.eye(n)])
    found = arriving(one_way.model_, one_way.flow_graph_, [3, 20, 3])[0]
    np.testing.assert_allclose(found.numpy(), exact[:n][[3, 20, 3]], atol=1e-5)
    why = one_way.explain("n3")
    row = why.table.set_index("node").weight
    np.testing.assert_allclose(row, exact[3][[int(name[1:]) for name in row.index]], atol=1e-5)


def test_what_the_table_says_of_nodes(one_way: NodeClassifier) -> None:
    table = one_way.explain("n0").table
    assert list(table) == ["node", "hops", "label", "split", "weight", "contribution", "share"]
    assert (table.contribution.abs().diff().dropna() <= 0).all()
    found = table.set_index("node")
    assert found.hops["n0"] == 0
    acting = {f"n{j}" for j in one_way.graph_.to_scipy()[[0]].indices} - {"n0"}
    assert set(found.index[found.hops == 1]) == acting
    assert (found.label == np.repeat(["a", "b", "c"], 8)[[int(name[1:]) for name in found.index]]).all()
    assert set(found.index[found.split == "train"]) <= {f"n{k}" for k in range(24) if k % 8 < 3}
    assert set(found.index[found.split == "validation"]) <= {"n7", "n15", "n23"}
    assert set(one_way.explain("n0").labelled.split) == {"train"}


def test_hops_go_against_the_edges() -> None:
    path = Graph.from_edges([("a", "b"), ("b", "c")], directed=True)  # a acts on b, b on c
    assert hops_to(path, 2).tolist() == [2, 1, 0]
    assert hops_to(path, 0).tolist() == [0, np.inf, np.inf]


def test_unknown_labels_and_text(tmp_path) -> None:
    data = karate_club()
    labels = data.labels.clone()
    labels[8] = -1
    club = NodeClassifier(T=2.0, hidden=8, epochs=5, progress=False)
    club.fit(data.graph, data.features, labels, data.train_mask)
    why = club.explain(8)
    assert why.table.set_index("node").label[8] is None
    assert f"({100 * why.probability:.1f} %) rather than" in str(why)
    assert "... and" in str(why)
    assert len(why.text(3).splitlines()) == 2 + 1 + 3 + 1
    club.save(tmp_path / "club.ndcn")
    assert ndcn.load(tmp_path / "club.ndcn").explain("8").table.equals(why.table)


def test_nothing_changes_and_gradients_may_be_off(club: NodeClassifier) -> None:
    before = [p.detach().clone() for p in club.model_.parameters()]
    expected = club.explain(3).table
    with torch.no_grad():
        assert club.explain(3).table.equals(expected)
    with torch.inference_mode():
        assert club.explain(3).table.equals(expected)
    assert all(p.grad is None and p.equal(b) for p, b in zip(club.model_.parameters(), before, strict=True))


@pytest.mark.parametrize(
    "choices",
    [{"preset": "paper", "T": 1.2}, {"field": "relu"}, {"source": 0.0, "solver": Solver("rk4", step_size=0.5)}],
    ids=str,
)
def test_fields_that_are_no_sum_over_nodes(choices: dict) -> None:
    with pytest.raises(ValueError, match="only linear diffusion can be explained"):
        fitted(**{**choices, "epochs": 2}).explain(0)


def test_who_is_not_there(club: NodeClassifier) -> None:
    with pytest.raises(ValueError, match=r"the network has no node 'ann'; its nodes are 0, 1"):
        club.explain("ann")
    with pytest.raises(NotFittedError):
        NodeClassifier().explain(0)


def test_files_without_the_split(club: NodeClassifier, tmp_path, monkeypatch) -> None:
    """A file of 0.2 does not say what nodes were for."""
    from ndcn.classify import files

    assert files._split({}, 3).tolist() == [0, 0, 0]
    club.save(tmp_path / "club.ndcn")
    assert ndcn.load(tmp_path / "club.ndcn").split_.equal(club.split_)
    with pytest.raises(ValueError, match="split must say what each of 3 nodes was for"):
        files._split({"split": torch.tensor([0, 1, 4])}, 3)


def test_a_dataset_is_needed_no_more(club: NodeClassifier) -> None:
    data: NodeDataset = karate_club()
    assert club.split_.equal(data.train_mask.long())
