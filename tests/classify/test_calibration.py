"""Calibrated probabilities: the temperature of the validation nodes, and the expected calibration error."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.exceptions import NotFittedError
from torch.nn.functional import cross_entropy

import ndcn
from ndcn import NodeBaseline, NodeClassifier
from ndcn.classify.calibration import COLDEST, HOTTEST, calibration_of, temperature_of
from ndcn.datasets import NodeDataset, karate_club


@pytest.fixture(scope="module")
def groups() -> NodeDataset:
    """Three groups of 30 with a third of all edges between them: not all nodes can be told."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 30)
    near = np.triu(rng.random((90, 90)) < np.where(labels[:, None] == labels, 0.12, 0.04), 1)
    part = np.arange(90) % 3
    train, val, test = (torch.from_numpy(part == k) for k in range(3))
    graph = ndcn.Graph(sparse.csr_array((near | near.T).astype(float)))
    features = sparse.csr_array(np.eye(3)[labels] + rng.random((90, 3)))
    return NodeDataset("groups", graph, features, torch.from_numpy(labels), train, val, test, ("a", "b", "c"))


def fitted(data: NodeDataset, validated: bool = True, **choices: object) -> NodeClassifier:
    classifier = NodeClassifier(**{"T": 2.0, "hidden": 8, "epochs": 20, "progress": False, **choices})
    val = data.val_mask if validated else None
    return classifier.fit(data.graph, data.features, data.labels, data.train_mask, val)


def test_the_temperature_minimises_the_cross_entropy() -> None:
    generator = torch.Generator().manual_seed(0)
    for size in (0.1, 1.0, 30.0):
        logits = size * torch.randn(200, 4, generator=generator, dtype=torch.float64)
        codes = (logits / size + torch.randn(200, 4, generator=generator)).argmax(dim=1)
        best = temperature_of(logits, codes)
        least = cross_entropy(logits / best, codes)
        for factor in (0.999, 1.001, 0.9, 1.1, 0.5, 2.0):
            assert cross_entropy(logits / (best * factor), codes) > least
        assert best == pytest.approx(size * temperature_of(logits / size, codes), rel=1e-9)


def test_temperatures_without_a_minimum() -> None:
    logits = torch.tensor([[3.0, 0.0, 1.0], [0.0, 2.0, 0.0]])
    warm = temperature_of(logits, torch.tensor([0, 1]))  # all right: Platt's 3 / 4
    assert COLDEST < warm < HOTTEST
    many = temperature_of(logits.repeat(200, 1), torch.tensor([0, 1]).repeat(200))
    assert many < warm  # more that are right make it surer
    assert temperature_of(logits, torch.tensor([1, 0])) == HOTTEST  # worse than a guess
    assert temperature_of(torch.zeros(3, 2), torch.tensor([0, 1, 0])) in (HOTTEST, COLDEST)


def test_the_expected_calibration_error_by_hand() -> None:
    p = torch.tensor([[0.7, 0.3], [0.2, 0.8], [0.6, 0.4], [0.5, 0.5]], dtype=torch.float64)
    found = calibration_of(p, torch.tensor([0, 0, 0, 0]), bins=5)
    # bins (0.4, 0.6]: 0.5 and 0.6, both right; (0.6, 0.8]: 0.7 right and 0.8 wrong
    assert found.counts.tolist() == [0, 0, 2, 2, 0]
    np.testing.assert_allclose(found.confidence[2:4], [0.55, 0.75], rtol=1e-6)
    np.testing.assert_allclose(found.accuracy[2:4], [1.0, 0.5])
    assert np.isnan(found.accuracy[[0, 1, 4]]).all()
    assert found.ece == pytest.approx((2 * 0.45 + 2 * 0.25) / 4)
    assert (found.mean_accuracy, found.mean_confidence) == (pytest.approx(0.75), pytest.approx(0.65))
    certain = calibration_of(torch.eye(3), torch.tensor([0, 1, 2]))
    assert (certain.ece, certain.counts[-1], len(certain.counts)) == (0.0, 3, 15)
    assert "as trained" in str(certain)


def test_validation_nodes_calibrate_and_never_change_the_class(groups: NodeDataset) -> None:
    plain, calibrated = fitted(groups, validated=False), fitted(groups)
    assert plain.probability_temperature_ is None
    t = calibrated.probability_temperature_
    assert t is not None
    assert t != 1
    table = calibrated._table(groups.features, calibrated.recipe_)
    with torch.no_grad():
        logits = calibrated.model_(table, groups.graph)[0]
    assert calibrated.predict().equal(logits.argmax(dim=1))
    torch.testing.assert_close(calibrated.predict_proba(), (logits / t).softmax(dim=1))
    val = groups.val_mask
    assert t == temperature_of(logits[val], groups.labels[val])
    assert cross_entropy(logits[val] / t, groups.labels[val]) < cross_entropy(logits[val], groups.labels[val])
    assert calibrated.calibration(val).ece < calibration_of(logits[val].softmax(dim=1), groups.labels[val]).ece
    assert "temperature" in str(calibrated.calibration())
    why = calibrated.explain(40)
    top = calibrated.predict_proba()[40].double().log().sort(descending=True)[0]
    assert why.table.contribution.sum() + why.bias == pytest.approx(float(top[0] - top[1]), abs=1e-5)


def test_who_is_judged_by(groups: NodeDataset) -> None:
    clf = fitted(groups)
    assert clf.held_out().equal(groups.test_mask)
    assert clf.calibration().counts.sum() == 30
    clf.split_[:2] = 3
    assert clf.held_out().nonzero().flatten().tolist() == [0, 1]
    clf.split_[:] = 0
    with pytest.raises(ValueError, match="does not say which nodes were for training"):
        clf.calibration()
    clf.split_[:] = 1
    with pytest.raises(ValueError, match="no node of known class was held out"):
        clf.held_out()
    with pytest.raises(ValueError, match="mask holds no node"):
        clf.calibration(torch.zeros(90, dtype=torch.bool))
    with pytest.raises(NotFittedError):
        NodeClassifier().calibration()


def test_files_keep_the_temperature(groups: NodeDataset, tmp_path, monkeypatch) -> None:
    from ndcn.classify import files

    clf = fitted(groups)
    clf.save(tmp_path / "new.ndcn")
    again = ndcn.load(tmp_path / "new.ndcn")
    assert again.probability_temperature_ == clf.probability_temperature_
    assert again.predict_proba().equal(clf.predict_proba())
    write = files.write_model

    def changed(**more: object) -> None:
        def without(path, kind, about, tensors) -> None:
            kept = {name: value for name, value in about.items() if name != "temperature"}
            write(path, kind, {**kept, **more}, {name: t for name, t in tensors.items() if name != "split"})

        monkeypatch.setattr(files, "write_model", without)
        clf.save(tmp_path / "other.ndcn")

    changed()  # as 0.2 wrote it
    old = ndcn.load(tmp_path / "other.ndcn")
    assert old.probability_temperature_ is None
    assert old.predict().equal(clf.predict())
    for wrong in (0, -1.0, "hot"):
        changed(temperature=wrong)
        with pytest.raises(ValueError, match="temperature must be a number > 0"):
            ndcn.load(tmp_path / "other.ndcn")


def test_baselines(groups: NodeDataset) -> None:
    mlp = NodeBaseline("mlp", epochs=20, progress=False)
    mlp.fit(groups.graph, groups.features, groups.labels, groups.train_mask, groups.val_mask)
    assert mlp.probability_temperature_ is not None
    assert 0 <= mlp.calibration().ece <= 1
    club = karate_club()
    spread = NodeBaseline("label_propagation").fit(club.graph, None, club.labels, club.train_mask)
    assert spread.probability_temperature_ is None
    assert spread.calibration(club.test_mask).counts.sum() == 32


def test_the_diagram(groups: NodeDataset) -> None:
    clf = fitted(groups)
    ax = ndcn.plot.reliability(clf)
    found = clf.calibration()
    filled = found.counts > 0
    np.testing.assert_allclose([bar.get_height() for bar in ax.containers[0]], found.accuracy[filled])
    tops = [bar.get_y() + bar.get_height() for bar in ax.containers[1]]
    np.testing.assert_allclose(tops, found.confidence[filled])
    (below,) = ax.child_axes
    assert [bar.get_height() for bar in below.containers[0]] == found.counts[filled].tolist()
    assert f"ECE {100 * found.ece:.1f} %" in ax.get_title()
    assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1 - 1  # it covers no bar
    assert f"error {100 * found.ece:.1f} % on" in str(found)
    assert ndcn.plot.reliability(clf, groups.val_mask, ax) is ax
