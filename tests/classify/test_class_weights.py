"""``class_weight``: rare classes count for more in the cross-entropy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.utils.class_weight import compute_class_weight

import ndcn
from ndcn import Graph, NodeBaseline, NodeClassifier
from ndcn.classify.class_weights import class_weights

CLASSES = np.array(["few", "many"])


@pytest.fixture(scope="module")
def unequal() -> tuple[Graph, sparse.csr_array, np.ndarray, np.ndarray]:
    """6 nodes of one class among 60, with features that tell little, and no help from the graph."""
    rng = np.random.default_rng(3)
    labels = np.where(np.arange(60) % 10 == 0, "few", "many")
    features = sparse.csr_array(rng.normal(size=(60, 2)) + np.where(labels == "few", 0.8, 0)[:, None])
    graph = Graph(sparse.csr_array(np.triu(rng.random((60, 60)) < 0.02, 1).astype(float)), directed=True)
    return graph, features, labels, np.ones(60, dtype=bool)


def classifier(**choices: object) -> NodeClassifier:
    plain = {"passes": 1, "dropout": 0, "hidden_dropout": 0, "row_dropout": 0, "normalize": False}
    return NodeClassifier(**{"T": 0.5, "hidden": 4, "epochs": 60, "progress": False, **plain, **choices})


def recall(estimator: NodeClassifier | NodeBaseline, labels: np.ndarray) -> float:
    return float((estimator.predict()[labels == "few"] == "few").mean())


def test_balanced_is_that_of_scikit_learn() -> None:
    codes = torch.tensor([0] * 3 + [1] * 17)
    expected = compute_class_weight("balanced", classes=CLASSES, y=CLASSES[codes.numpy()])
    np.testing.assert_allclose(class_weights("balanced", CLASSES, codes), expected)
    assert class_weights(None, CLASSES, codes) is None
    assert class_weights({"few": 3}, CLASSES, codes).tolist() == [3, 1]
    assert class_weights({7: 2.0}, np.array([5, 7]), codes).tolist() == [1, 2]


def test_rare_classes_are_found_more_often(unequal) -> None:
    graph, features, labels, train = unequal
    plain = classifier().fit(graph, features, labels, train)
    balanced = classifier(class_weight="balanced").fit(graph, features, labels, train)
    assert recall(balanced, labels) > recall(plain, labels)
    given = classifier(class_weight={"few": 5.0, "many": 5 / 9}).fit(graph, features, labels, train)
    assert given.predict_proba().equal(balanced.predict_proba())  # the same weights, given by hand
    alike = classifier(class_weight={"few": 2.0, "many": 2.0}).fit(graph, features, labels, train)
    torch.testing.assert_close(alike.predict_proba(), plain.predict_proba(), atol=1e-4, rtol=0)
    mlp = [
        NodeBaseline("mlp", epochs=60, class_weight=one, progress=False).fit(graph, features, labels, train)
        for one in (None, "balanced")
    ]
    assert mlp[1].predict_proba()[:, 0].mean() > mlp[0].predict_proba()[:, 0].mean() + 0.1


def test_gradients_may_be_off(unequal) -> None:
    graph, features, labels, train = unequal
    expected = classifier(class_weight="balanced", epochs=3).fit(graph, features, labels, train).predict_proba()
    with torch.inference_mode():
        found = classifier(class_weight="balanced", epochs=3).fit(graph, features, labels, train).predict_proba()
    assert found.equal(expected)


def test_files_and_checkpoints_keep_them(unequal, tmp_path) -> None:
    graph, features, labels, train = unequal
    codes = np.where(labels == "few", 3, 8)
    for given in ({np.int64(3): 4}, "balanced", None):
        clf = classifier(class_weight=given, epochs=2).fit(graph, features, codes, train)
        clf.save(tmp_path / "m.ndcn")
        again = ndcn.load(tmp_path / "m.ndcn")
        assert again.class_weight == given
        assert again.predict_proba().equal(clf.predict_proba())
    kept = tmp_path / "run.checkpoint"
    classifier(class_weight="balanced", epochs=2, checkpoint=kept).fit(graph, features, codes, train)
    with pytest.raises(ValueError, match="belongs to other data or settings"):
        classifier(epochs=2, checkpoint=kept).fit(graph, features, codes, train, resume=True)


def test_what_is_refused(unequal) -> None:
    for kind in (NodeClassifier, NodeBaseline):
        with pytest.raises(ValueError, match="class_weight must be None"):
            kind(class_weight="equal")
        with pytest.raises(TypeError, match='class_weight must be None, "balanced" or a mapping, got list'):
            kind(class_weight=[1, 2])
        with pytest.raises(ValueError, match="class 'few' has 0"):
            kind(class_weight={"few": 0})
    with pytest.raises(ValueError, match="names 'none', which is no class; the classes are 'few', 'many'"):
        classifier(class_weight={"none": 2.0}).fit(*unequal)
    with pytest.raises(ValueError, match="label_propagation does not use class_weight"):
        NodeBaseline("label_propagation", class_weight="balanced")
