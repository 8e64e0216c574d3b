"""Whether the graph helps: measured along edges, decided on validation nodes, and said."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from scipy import sparse

import ndcn
from ndcn._support.container import read_model, write_model
from ndcn.classify import choice as choice_module
from ndcn.classify.choice import AUTO, COMPARED, FieldChoice, assortativity, candidates, first_choice
from ndcn.classify.training import LabelledNodes


def planted(same: float, differ: float, n: int = 120, seed: int = 0) -> ndcn.datasets.NodeDataset:
    """Two classes of equal size, edges within and between them, and features that tell the class of two thirds of the nodes."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    chance = np.where(labels[:, None] == labels[None], same, differ)
    upper = np.triu(rng.random((n, n)) < chance, 1)
    features = rng.random((n, 6)) < 0.2
    features[np.arange(n), labels] |= rng.random(n) < 0.5
    part = rng.permutation(np.arange(n) % 3)
    masks = {f"{name}_mask": torch.from_numpy(part == k) for k, name in enumerate(("train", "val", "test"))}
    return ndcn.datasets.NodeDataset(
        name="planted",
        graph=ndcn.Graph.from_dense((upper | upper.T).astype(float)),
        features=sparse.csr_array(features.astype(np.float32)),
        labels=torch.from_numpy(labels),
        classes=("a", "b"),
        **masks,
    )


def fitted(data: ndcn.datasets.NodeDataset, **choices: object) -> ndcn.NodeClassifier:
    clf = ndcn.NodeClassifier(**{"hidden": 16, "epochs": 60, "progress": False, **choices})
    return clf.fit(data.graph, data.features, data.labels, data.train_mask, data.val_mask)


@pytest.fixture(scope="module")
def differing() -> ndcn.datasets.NodeDataset:
    """Neighbours are of the other class."""
    return planted(same=0.005, differ=0.1)


@pytest.fixture(scope="module")
def repelled(differing: ndcn.datasets.NodeDataset) -> ndcn.NodeClassifier:
    return fitted(differing)


def test_assortativity_is_networkxs() -> None:
    club = ndcn.datasets.karate_club()
    theirs = nx.karate_club_graph()
    found, edges = assortativity(club.graph, club.labels, torch.arange(34))
    unweighted = nx.Graph(theirs.edges)
    nx.set_node_attributes(unweighted, dict(theirs.nodes(data="club")), "club")
    assert (found, edges) == (pytest.approx(nx.attribute_assortativity_coefficient(unweighted, "club")), 78)
    some = torch.arange(10)
    part = unweighted.subgraph(range(10))
    found, edges = assortativity(club.graph, club.labels, some)
    assert (found, edges) == (
        pytest.approx(nx.attribute_assortativity_coefficient(part, "club"), nan_ok=True),
        part.number_of_edges(),
    )


def test_no_edges_between_labelled_nodes() -> None:
    club = ndcn.datasets.karate_club()
    assert assortativity(club.graph, club.labels, torch.tensor([0, 33])) == (None, 0)
    choice = first_choice(club.graph, club.labels, torch.tensor([0, 33]), validated=False)
    assert choice is not None
    assert str(choice) == "Diffusion is used: 0 edges between labelled nodes say too little about the graph."


def test_alike_neighbours_are_diffused_without_a_comparison() -> None:
    clf = fitted(planted(same=0.1, differ=0.01))
    assert clf.choice_ is not None
    assert (clf.choice_.field, dict(clf.choice_.accuracy), clf.choice_.helps) == ("diffusion", {}, None)
    assert str(clf.choice_).startswith("Neighbours tend to be alike (assortativity 0.")
    assert clf.recipe_.field == "diffusion"


def test_neighbours_that_differ_are_repelled(
    differing: ndcn.datasets.NodeDataset, repelled: ndcn.NodeClassifier
) -> None:
    data, clf = differing, repelled
    assert clf.choice_ is not None
    assert clf.choice_.field == "signed"
    assert "the signed field is used" in str(clf.choice_).lower()
    assert set(clf.choice_.accuracy) == set(COMPARED)
    alone = fitted(data, field="features")
    assert alone.choice_ is None
    assert (
        clf.score(data.test_mask) > alone.score(data.test_mask) + 0.1
    )  # features tell two thirds, neighbours the rest
    assert clf.choice_.accuracy["features"] == alone.score(data.val_mask)


@pytest.mark.parametrize("better", COMPARED)
def test_another_field_must_be_clearly_better(monkeypatch: pytest.MonkeyPatch, better: str) -> None:
    data = planted(same=0.05, differ=0.05)
    fit = ndcn.NodeClassifier._learn_field

    def learned(self: ndcn.NodeClassifier, recipe: Any, nodes: LabelledNodes, *rest: Any) -> Any:
        """All nodes are right by one field, and one validation node in five wrong by the others, or one in all."""
        found = fit(self, recipe, nodes, *rest)
        wrong = nodes.validation[:: 5 if clear else len(nodes.validation)]
        p = torch.eye(2)[data.labels]
        if ("consistent" if recipe.field == "signed" and recipe.consistency else recipe.field) != better:
            p[wrong] = p[wrong].flip(1)
        monkeypatch.setattr(self, "predict_proba", lambda: p)
        return (p.argmax(1) == data.labels)[nodes.validation].double().mean().item(), *found[1:]

    monkeypatch.setattr(ndcn.NodeClassifier, "_learn_field", learned)
    monkeypatch.setattr(choice_module, "RARE", 1.0)
    for clear in (True, False):
        clf = fitted(data, epochs=1)
        assert clf.choice_ is not None
        taken = better if clear else "signed"
        assert clf.choice_.field == clf.recipe_.field == ("signed" if taken == "consistent" else taken)
        assert clf.choice_.taken == taken
        assert clf.choice_.accuracy[better] == 1.0
        told = clear and better != "features" and taken == better
        assert clf.choice_.helps is (False if clf.choice_.field == "features" else True if told else None)
        assert ("no other is clearly better" in str(clf.choice_)) is (taken != better)


@pytest.mark.parametrize(
    ("found", "share", "expected"),
    [
        (-0.2, 0.5, ["signed", "features", "diffusion"]),
        (-0.2, 0.1, ["signed", "consistent", "features", "diffusion"]),
        (0.3, 0.5, ["diffusion", "signed", "features"]),
        (None, 0.5, ["signed", "features", "diffusion"]),
    ],
)
def test_what_is_compared(found: float | None, share: float, expected: list[str]) -> None:
    assert candidates(found, 0 if found is None else 100, share) == expected


def test_somewhat_alike_neighbours_are_diffused_for_a_short_time() -> None:
    data = planted(same=0.06, differ=0.03)
    known = data.train_mask | data.val_mask
    clf = ndcn.NodeClassifier(hidden=16, epochs=5, progress=False).fit(data.graph, data.features, data.labels, known)
    assert clf.choice_ is not None
    assert clf.choice_.short
    assert (clf.recipe_.T, clf.recipe_.alpha, clf.recipe_.source) == (2.0, 0.0, 0.0)
    assert "somewhat alike" in str(clf.choice_)


def test_a_graph_without_edges_is_left_alone() -> None:
    data = planted(same=0.0, differ=0.0)
    clf = fitted(data, epochs=5)
    assert clf.choice_ is not None
    assert (clf.choice_.field, str(clf.choice_)) == ("features", "The graph has no edges: features alone are used.")


def test_random_classes_do_not_tend_to_differ() -> None:
    assert "hardly more alike" in str(FieldChoice("signed", -0.01, 192))
    assert "tend to differ" in str(FieldChoice("signed", -0.3, 192))


def test_where_few_are_labelled_consistency_finds_classes_that_repel() -> None:
    """Six classes, each joined to one other; a tenth of the nodes is labelled."""
    rng = np.random.default_rng(40)
    classes = rng.integers(0, 6, 400)
    near = np.where(classes[:, None] == (classes ^ 1)[None], 1.0, 0.05)
    joined = np.triu(rng.random((400, 400)) < 8 * near / 400 / near.mean(), 1)
    words = rng.random((400, 300)) < 0.05 + 0.1 * (rng.random((6, 300)) < 0.15)[classes]
    graph = ndcn.Graph(sparse.csr_array((joined | joined.T).astype(float)), directed=False)
    part = torch.from_numpy(rng.permutation(400))
    train, validation, test = (torch.isin(torch.arange(400), some) for some in (part[:60], part[60:230], part[230:]))
    auto, signed = (
        ndcn.NodeClassifier(field=field, progress=False).fit(graph, words, classes, train, validation)
        for field in (None, "signed")
    )
    assert auto.choice_ is not None
    assert auto.choice_.taken == "consistent"
    assert auto.score(test) > signed.score(test) + 0.05


def test_features_alone_do_not_see_the_graph() -> None:
    data = planted(same=0.05, differ=0.05)
    other = planted(same=0.1, differ=0.0).graph
    alone = fitted(data, field="features", epochs=20)
    same = alone.predict_proba(graph=other, features=data.features)
    torch.testing.assert_close(same, alone.predict_proba())


def test_without_validation_nodes_classes_along_edges_decide() -> None:
    data = planted(same=0.005, differ=0.1)
    known = data.train_mask | data.val_mask
    clf = ndcn.NodeClassifier(hidden=16, epochs=40, progress=False).fit(data.graph, data.features, data.labels, known)
    assert clf.choice_ is not None
    assert clf.choice_.field == "signed"
    assert "validation nodes could tell" in str(clf.choice_)
    assert clf.score(data.test_mask) > 0.7


def test_few_columns_are_learned_from_faster() -> None:
    wide, narrow = (ndcn.NodeClassifier().recipe("diffusion", few_columns=few) for few in (False, True))
    assert (wide.consistency, narrow.consistency) == (2.0, 0.0)
    assert narrow.learning_rate > wide.learning_rate
    assert ndcn.NodeClassifier(consistency=1.0).recipe("diffusion", few_columns=True).consistency == 1.0


def test_a_choice_survives_the_file(repelled: ndcn.NodeClassifier, tmp_path) -> None:
    clf = repelled
    clf.save(tmp_path / "model.ndcn")
    again = ndcn.load(tmp_path / "model.ndcn")
    assert again.choice_ == clf.choice_
    assert torch.equal(again.predict_proba(), clf.predict_proba())
    why, other = clf.explain(7), again.explain(7)
    assert why.log_odds == pytest.approx(other.log_odds)
    assert why.table.contribution.sum() + why.bias == pytest.approx(why.log_odds, abs=1e-5)


def test_resuming_a_comparison_is_as_never_interrupted(tmp_path) -> None:
    data = planted(same=0.005, differ=0.1)
    whole = fitted(data, epochs=10)
    path = tmp_path / "run"
    fitted(data, epochs=10, checkpoint=path)
    kept = sorted(file.name for file in tmp_path.iterdir())
    assert kept == sorted(f"run.{name}" for name in COMPARED)
    (tmp_path / "run.diffusion").unlink()  # as if it had been stopped before the last
    clf = ndcn.NodeClassifier(hidden=16, epochs=10, progress=False, checkpoint=path)
    clf.fit(data.graph, data.features, data.labels, data.train_mask, data.val_mask, resume=True)
    assert clf.choice_ == whole.choice_
    assert torch.equal(clf.predict_proba(), whole.predict_proba())


@pytest.mark.parametrize("taken", COMPARED)
@pytest.mark.parametrize("clear", [True, False])
def test_sentences_name_what_was_compared(taken: str, clear: bool) -> None:
    field = "signed" if taken == "consistent" else taken
    accuracy = {name: 0.5 + 0.1 * (name == taken) for name in COMPARED}
    said = str(FieldChoice(field, 0.1, 50, accuracy, taken=taken, clear=clear))
    assert "60.0 %" in said
    assert said.count("50.0 %") == 3
    assert said.endswith("used.")
    assert ("not clear" in said) is (not clear and taken != "features")
    assert AUTO not in said


def test_files_of_earlier_versions_predict_as_they_did(tmp_path) -> None:
    """They name neither the field nor the values of their recipe, which had other defaults."""
    data = planted(same=0.1, differ=0.01)
    then = {"T": 8.0, "alpha": 0.5, "hidden": 64, "source": 0.2, "field": "diffusion"}
    clf = fitted(data, **then, normalize=True, epochs=5)
    clf.save(tmp_path / "new.ndcn")
    about, tensors = read_model(tmp_path / "new.ndcn", "NodeClassifier")
    added = ("recipe", "choice", "alignment", "average")
    about = {name: value for name, value in about.items() if name not in added}
    about["settings"] = {name: value for name, value in about["settings"].items() if name not in added}
    about["settings"] |= dict.fromkeys(then)  # None: the default of that time
    write_model(tmp_path / "old.ndcn", "NodeClassifier", about, tensors)
    old = ndcn.load(tmp_path / "old.ndcn")
    assert torch.equal(old.predict_proba(), clf.predict_proba())
    assert old.choice_ is None


def test_files_of_signed_fields_without_members_hold_one(tmp_path) -> None:
    clf = fitted(planted(same=0.005, differ=0.1), field="signed", members=1, normalize="euclidean", epochs=5)
    clf.save(tmp_path / "new.ndcn")
    about, tensors = read_model(tmp_path / "new.ndcn", "NodeClassifier")
    del about["recipe"]["members"]
    del about["settings"]["members"]
    write_model(tmp_path / "old.ndcn", "NodeClassifier", about, tensors)
    assert torch.equal(ndcn.load(tmp_path / "old.ndcn").predict_proba(), clf.predict_proba())


def test_members_are_one_network_once_trained() -> None:
    data = planted(same=0.005, differ=0.1)
    clf = fitted(data, field="signed", members=3, epochs=10)
    assert (clf.model_.members, clf.model_.encoder.out_features, clf.recipe_.hidden) == (1, 48, 48)
    why = clf.explain(7)
    assert why.table.contribution.sum() + why.bias == pytest.approx(why.log_odds, abs=1e-5)
    with pytest.raises(ValueError, match="members"):
        ndcn.NodeClassifier(preset="paper", members=2)


@pytest.mark.parametrize("field", ["signed", "features"])
def test_many_labels_need_less_decay(field: str) -> None:
    clf = ndcn.NodeClassifier()
    few, many = clf.recipe(field, 999), clf.recipe(field, 1000)
    assert (few.weight_decay, few.hidden_dropout) == (5e-3, 0.5)
    assert (many.weight_decay, many.hidden_dropout, many.source) == (5e-4, 0.8, 1.0)
    assert clf.recipe("diffusion", 999) == clf.recipe("diffusion", 1000)
    assert ndcn.NodeClassifier(weight_decay=0.1).recipe(field, 1000).weight_decay == 0.1
    draw = torch.Generator().manual_seed(0)
    ring = ndcn.Graph.from_edges([(i, (i + 1) % 1100) for i in range(1100)])
    codes = torch.randint(0, 2, (1100,), generator=draw)
    small = ndcn.NodeClassifier(field=field, hidden=4, epochs=1, members=1, progress=False)
    assert small.fit(ring, torch.eye(1100)[:, :8], codes, torch.arange(1100) < 1000).recipe_.weight_decay == 5e-4
    assert small.fit(ring, torch.eye(1100)[:, :8], codes, torch.arange(1100) < 999).recipe_.weight_decay == 5e-3
