"""NodeClassifier: learning, predicting, what it refuses, and its files."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import ndcn
from ndcn import Graph, NodeClassifier, Solver, TrainingError
from ndcn.classify.features import FeatureTable
from ndcn.classify.recipes import recipe_of
from ndcn.datasets import NodeDataset, karate_club, planetoid
from places import SHARED

REAL = SHARED / "data" / "planetoid"
needs_files = pytest.mark.skipif(not REAL.is_dir(), reason="the files of Planetoid are not here")


def small(**choices: object) -> NodeClassifier:
    return NodeClassifier(**{"T": 2.0, "hidden": 16, "epochs": 40, "progress": False, **choices})


def fitted(data: NodeDataset, **choices: object) -> NodeClassifier:
    return small(**choices).fit(data.graph, data.features, data.labels, data.train_mask)


@pytest.fixture(scope="module")
def karate() -> NodeDataset:
    return karate_club()


@pytest.fixture(scope="module")
def club(karate: NodeDataset) -> NodeClassifier:
    return fitted(karate)


# Learning -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"preset": "paper", "T": 1.2, "epochs": 100},
        {"field": "relu", "epochs": 20},
        {"source": 0.0, "solver": Solver("rk4", step_size=0.25)},
        {"learn_T": True, "learn_alpha": True},
        {"field": "relu", "learn_alpha": True, "epochs": 20},
        {"passes": 1, "dropout": 0, "hidden_dropout": 0, "row_dropout": 0},
        {"dtype": "float64", "activation": "tanh"},
        {"preset": "paper", "field": "diffusion", "epochs": 100},
    ],
    ids=str,
)
def test_the_club_is_told_apart(karate: NodeDataset, choices: dict) -> None:
    classifier = fitted(karate, **choices)
    assert classifier.score(karate.test_mask) > 0.8
    assert classifier.history_.loss[-1] < classifier.history_.loss[0]
    probabilities = classifier.predict_proba()
    assert probabilities.shape == (34, 2)
    torch.testing.assert_close(probabilities.sum(dim=1), torch.ones(34, dtype=probabilities.dtype))
    assert classifier.predict().equal(probabilities.argmax(dim=1))


def test_learned_time_and_alpha_move_and_stay_in_range(karate: NodeDataset) -> None:
    model = fitted(karate, learn_T=True, learn_alpha=True, alpha=0.0).model_
    assert model.T > 0
    assert abs(model.T - 2.0) > 1e-3
    assert 0 < model.field.operator.alpha < 1


def test_the_state_at_T_is_the_solution(karate: NodeDataset) -> None:
    """Within 1e-3 of tight tolerances, in single precision: the equation with its source, as a system of X and X(0)."""
    classifier = fitted(karate, T=8.0)
    model = classifier.model_
    table = FeatureTable(karate.features)
    with torch.no_grad():
        found = model.state(table, karate.graph).double()
        x0 = torch.relu(table.times(model.encoder.weight.T.contiguous()) + model.encoder.bias).double()

    class WithSource(torch.nn.Module):
        def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
            return ndcn.operators.diffusion(graph, 0.5) @ x - x + 0.2 * (x0 - x)

    solver = Solver("dopri5", rtol=1e-10, atol=1e-12)
    exact = ndcn.integrate(WithSource(), karate.graph, x0, [8.0], solver=solver).states[0]
    assert (found - exact).norm() < 1e-3 * exact.norm()
    assert (found - exact).norm() < 1e-4 * exact.norm()  # what it is in fact


def test_a_field_of_ones_own(karate: NodeDataset) -> None:
    class Mixing(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.eye(16))

        def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
            return ndcn.operators.kipf(graph) @ torch.tanh(x @ self.weight) - x

    mine = Mixing()
    classifier = fitted(karate, field=mine, solver=Solver("rk4", step_size=0.5))
    assert classifier.score(karate.test_mask) > 0.8
    assert mine.weight.equal(torch.eye(16))  # a copy was trained
    assert not classifier.model_.field.weight.equal(torch.eye(16))


def test_the_seed_is_all_that_matters(karate: NodeDataset) -> None:
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    first = fitted(karate, epochs=5).predict_proba()
    assert torch.random.get_rng_state().equal(before)
    torch.manual_seed(2)
    assert fitted(karate, epochs=5).predict_proba().equal(first)
    assert not fitted(karate, epochs=5, seed=1).predict_proba().equal(first)


def test_validation_nodes_choose_the_epoch(karate: NodeDataset) -> None:
    validation = karate.test_mask.clone()
    validation[17:] = False
    last = fitted(karate, learning_rate=0.3, epochs=30, alignment=0.0)
    kept = small(learning_rate=0.3, epochs=30, alignment=0.0)
    kept.fit(karate.graph, karate.features, karate.labels, karate.train_mask, validation)
    assert (
        kept.history_.loss == last.history_.loss
    )  # looking at them changes nothing but the choice and the shares of classes
    assert len(kept.history_.validation) == 30
    assert kept.score(validation) >= last.score(validation)


def test_patience_stops(karate: NodeDataset) -> None:
    classifier = small(epochs=500, patience=3, learning_rate=0.5)
    classifier.fit(karate.graph, karate.features, karate.labels, karate.train_mask, karate.test_mask)
    assert classifier.history_.stopped == "early"
    assert len(classifier.history_.loss) < 500


def test_ctrl_c_keeps_what_was_learned(karate: NodeDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    from ndcn.classify import training as classification

    real, calls = classification.ClassifierTask.loss, []

    def interrupted(*arguments: object) -> torch.Tensor:
        calls.append(1)
        if len(calls) == 7:
            signal.raise_signal(signal.SIGINT)  # the epoch is finished first
        return real(*arguments)

    monkeypatch.setattr(classification.ClassifierTask, "loss", interrupted)
    with pytest.warns(RuntimeWarning, match="interrupted after 7 of 40 epochs"):
        classifier = fitted(karate)
    assert classifier.history_.stopped == "interrupted"
    assert classifier.predict_proba().isfinite().all()


def test_a_loss_that_explodes_is_told(karate: NodeDataset) -> None:
    with pytest.raises(TrainingError, match=r"in epoch \d+ of 40.*smaller learning_rate"):
        fitted(karate, learning_rate=1e30)


class Explosion(torch.nn.Module):
    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        return 100 * x * x + 1


def test_a_state_that_explodes_is_told(karate: NodeDataset) -> None:
    with pytest.raises(TrainingError, match=r"became nan in epoch 1 of 40 \(.*explodes"):
        fitted(karate, field=Explosion(), T=10.0)


# What goes in ---------------------------------------------------------------------------------------------------


def test_features_of_all_kinds_are_the_same(karate: NodeDataset) -> None:
    rng = np.random.default_rng(0)
    dense = rng.random((34, 6)) * (rng.random((34, 6)) < 0.5)
    kinds = [dense, sparse.csr_matrix(dense), sparse.coo_array(dense), torch.from_numpy(dense), dense.tolist()]
    kinds += [torch.from_numpy(dense).to_sparse(), torch.from_numpy(dense).to_sparse_csr()]
    found = [
        small(epochs=3).fit(karate.graph, kind, karate.labels, karate.train_mask).predict_proba() for kind in kinds
    ]
    for other in found[1:]:
        assert other.equal(found[0])


def test_labels_as_strings_with_gaps(karate: NodeDataset, tmp_path: Path) -> None:
    names = np.array(["Hi", "Officer"], dtype=object)[karate.labels.numpy()]
    names[5], names[6], names[7] = None, "", float("nan")
    classifier = small().fit(karate.graph, karate.features, names, karate.train_mask)
    assert classifier.classes_.tolist() == ["Hi", "Officer"]
    assert set(classifier.predict().tolist()) == {"Hi", "Officer"}
    assert classifier.score() > 0.8
    known = np.array([name if isinstance(name, str) and name else "Hi" for name in names])
    assert classifier.score(karate.test_mask, labels=known) > 0.8
    assert classifier.score(karate.test_mask, labels=np.full(34, "somebody else")) == 0.0
    classifier.save(tmp_path / "club.ndcn")
    assert NodeClassifier.load(tmp_path / "club.ndcn").predict().tolist() == classifier.predict().tolist()


def test_classes_need_not_count_from_zero(karate: NodeDataset) -> None:
    classifier = small().fit(karate.graph, karate.features, (karate.labels * 5 + 2).double(), karate.train_mask)
    assert classifier.classes_.tolist() == [2, 7]
    assert set(classifier.predict().tolist()) == {2, 7}


def test_classes_of_very_different_size(karate: NodeDataset) -> None:
    train = torch.ones(34, dtype=torch.bool)
    labels = torch.zeros(34, dtype=torch.long)
    labels[33] = 1
    assert small().fit(karate.graph, karate.features, labels, train).score() >= 33 / 34


def test_another_graph(club: NodeClassifier, karate: NodeDataset) -> None:
    order = np.random.default_rng(0).permutation(34)
    shuffled = Graph(karate.graph.to_scipy()[order][:, order])
    found = club.predict_proba(graph=shuffled, features=karate.features[order])
    torch.testing.assert_close(found, club.predict_proba()[order])
    assert club.predict(graph=shuffled, features=karate.features[order]).shape == (34,)
    with pytest.raises(TypeError, match=r"must be an ndcn.Graph, got csr_array"):
        club.predict(graph=karate.graph.to_scipy(), features=karate.features)
    with pytest.raises(ValueError, match="give both"):
        club.predict(graph=shuffled)
    with pytest.raises(ValueError, match="there are 33 features, the model was trained on 34"):
        club.predict(graph=shuffled, features=karate.features[:, 1:])


def test_directed_and_weighted_graphs() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 20)
    near = (rng.random((40, 40)) < np.where(labels[:, None] == labels, 0.3, 0.02)) * rng.random((40, 40))
    train = np.zeros(40, dtype=bool)
    train[[0, 1, 20, 21]] = True
    classifier = small().fit(Graph.from_dense(near), sparse.eye_array(40), labels, train)
    assert classifier.score(~train) > 0.7


def test_wrong_input_is_told(karate: NodeDataset) -> None:
    graph, f, y, train = karate.graph, karate.features, karate.labels, karate.train_mask

    def told(message: str, *arguments: object, kind: type[Exception] = ValueError) -> None:
        with pytest.raises(kind, match=message):
            small().fit(*arguments)

    told("34 nodes, but there are 33 rows of features", graph, f[:-1], y, train)
    told("must be an ndcn.Graph, got Graph", graph.to_networkx(), f, y, train, kind=TypeError)
    told(r"34 nodes, but labels have shape \(33,\)", graph, f, y[1:], train)
    told(r"train_mask must say True or False for each of the 34 nodes, got int64 of shape \(2,\)", graph, f, y, [0, 33])
    told(r"val_mask must say True or False", graph, f, y, train, train.long())
    told("there are no training nodes to learn from", graph, f, y, torch.zeros(34, dtype=torch.bool))
    told("2 nodes are for both training and validation", graph, f, y, train, train)
    told("no training node has the class 1: add one", graph, f, y, train & (y == 0))
    told("1 nodes in train_mask have no known class", graph, f, torch.where(torch.arange(34) == 0, -1, y), train)
    told("no node has a known class", graph, f, torch.full((34,), -1), train)
    told("whole numbers or strings, got float32", graph, f, y + 0.5, train)
    told("all strings or all whole numbers", graph, f, np.array([1, "a"] * 17, dtype=object), train)
    told("whole numbers or strings, got complex", graph, f, np.full(34, 1j), train)
    told("some are NaN or infinite", graph, np.full((34, 2), np.nan), y, train)
    told("table of real numbers", graph, np.full((34, 2), "a"), y, train)
    told("table of real numbers", graph, np.ones(34), y, train)
    told("there are no features; use scipy.sparse.eye_array", graph, np.ones((34, 0)), y, train)
    with pytest.raises(ValueError, match="patience needs validation nodes"):
        small(patience=3).fit(graph, f, y, train)


def test_scores_need_known_classes(club: NodeClassifier, karate: NodeDataset) -> None:
    with pytest.raises(ValueError, match="mask holds no node"):
        club.score(torch.zeros(34, dtype=torch.bool))
    with pytest.raises(ValueError, match="33 nodes in mask have no known class"):
        club.score(torch.ones(34, dtype=torch.bool), labels=torch.where(karate.labels == 5, 0, -1) + torch.eye(34)[0])
    for method in ("predict", "predict_proba", "score"):
        with pytest.raises(NotFittedError):
            getattr(NodeClassifier(), method)()


# Arguments ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"alpha": 1.5}, r"alpha must be between 0 and 1, got 1.5"),
        ({"alpha": "half"}, "alpha must be"),
        ({"T": 0}, "T must be a number > 0 and at most 1000, got 0"),
        ({"T": float("inf")}, "T must be"),
        ({"hidden": 2.5}, "hidden must be a whole number >= 1, got 2.5"),
        ({"epochs": 0}, "epochs must be"),
        ({"passes": 0}, "passes must be"),
        ({"patience": 0}, "patience must be"),
        ({"seed": -1}, "seed must be"),
        ({"dropout": 1.0}, r"dropout must be a probability in \[0, 1\), got 1.0"),
        ({"row_dropout": -0.1}, "row_dropout must be"),
        ({"weight_decay": -1}, "weight_decay must be a number >= 0"),
        ({"learning_rate": True}, "learning_rate must be a number > 0"),
        ({"preset": "best"}, "unknown preset 'best'; known are default, paper"),
        ({"field": "heat"}, "unknown field 'heat'; known are auto, diffusion, signed, features, relu"),
        ({"activation": "gelu"}, "unknown activation 'gelu'"),
        ({"field": "relu", "source": 0.1}, "source belongs to field"),
        ({"solver": Solver()}, "drop the solver, or use source=0"),
        ({"field": "relu", "learn_T": True}, "learn_T needs field"),
        ({"field": torch.nn.Identity(), "learn_alpha": True}, "learn_alpha belongs to"),
    ],
    ids=str,
)
def test_what_is_wrong_is_told_at_once(choices: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NodeClassifier(**choices)
    with pytest.raises(ValueError, match=message):
        recipe_of(NodeClassifier().set_params(**choices).get_params(deep=False))


def test_wrong_kinds_are_told() -> None:
    with pytest.raises(TypeError, match=r"solver must be an ndcn.Solver"):
        NodeClassifier(solver="dopri5")
    with pytest.raises(TypeError, match=r"field must be a name or an nn.Module"):
        NodeClassifier(field=3)
    with pytest.raises(ValueError, match="dtype must be"):
        fitted(karate_club(), dtype="float16")
    with pytest.raises(ValueError, match="cannot compute on device"):
        fitted(karate_club(), device="nowhere")


def test_habits_of_scikit_learn() -> None:
    classifier = NodeClassifier(T=3.0, alpha=0.2, hidden=7, seed=4)
    twin = clone(classifier)
    assert twin.get_params() == classifier.get_params()
    assert not hasattr(twin, "model_")
    assert "T=3.0" in repr(classifier)


# Files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "choices", [{}, {"preset": "paper"}, {"learn_T": True, "learn_alpha": True}, {"dtype": torch.float64}]
)
def test_a_file_gives_back_the_classifier(karate: NodeDataset, tmp_path: Path, choices: dict) -> None:
    first = fitted(karate, epochs=np.int64(4), **choices)
    first.save(tmp_path / "club.ndcn")
    again = NodeClassifier.load(tmp_path / "club.ndcn")
    assert again.predict_proba().equal(first.predict_proba())
    assert again.score(karate.test_mask) == first.score(karate.test_mask)
    assert again.graph_ == karate.graph
    assert again.history_ == first.history_
    assert (
        clone(again)
        .fit(karate.graph, karate.features, karate.labels, karate.train_mask)
        .predict_proba()
        .equal(first.predict_proba())
    )


def test_a_file_with_a_field_of_ones_own(karate: NodeDataset, tmp_path: Path) -> None:
    class Own(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rate = torch.nn.Parameter(torch.tensor(0.5))

        def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
            return self.rate * (ndcn.operators.kipf(graph) @ x - x)

    path = tmp_path / "own.ndcn"
    first = fitted(karate, field=Own(), solver=Solver("euler", step_size=0.5), epochs=3)
    first.save(path)
    assert NodeClassifier.load(path, field=Own()).predict_proba().equal(first.predict_proba())
    with pytest.raises(ValueError, match="field of your own; pass one of the same kind"):
        NodeClassifier.load(path)
    fitted(karate, epochs=1).save(path)
    with pytest.raises(ValueError, match="needs no field"):
        NodeClassifier.load(path, field=Own())


def test_files_that_are_not_ours(club: NodeClassifier, tmp_path: Path) -> None:
    path = tmp_path / "file.ndcn"
    with pytest.raises(FileNotFoundError, match="there is no model file"):
        NodeClassifier.load(path)
    with pytest.raises(ValueError, match="is a folder"):
        NodeClassifier.load(tmp_path)
    with pytest.raises(NotFittedError):
        NodeClassifier().save(path)
    path.write_text("hello")
    with pytest.raises(ValueError, match="not an ndcn model, or is damaged"):
        NodeClassifier.load(path)

    def with_about(about: object, tensors: dict | None = None) -> None:
        save_file(tensors or {"x": torch.zeros(1)}, path, metadata={"ndcn": json.dumps(about)})

    with_about({})
    with pytest.raises(ValueError, match="but not an ndcn model"):
        NodeClassifier.load(path)
    ours = {"format": "ndcn-model", "version": 1, "kind": "NodeClassifier"}
    with_about({**ours, "kind": "DynamicsRegressor"})
    with pytest.raises(ValueError, match=r"holds a DynamicsRegressor, not a NodeClassifier; use ndcn.load"):
        NodeClassifier.load(path)
    with_about({**ours, "version": 9})
    with pytest.raises(ValueError, match="format version 9, this ndcn reads version 1"):
        NodeClassifier.load(path)
    with_about(ours)
    with pytest.raises(ValueError, match="it holds no settings"):
        NodeClassifier.load(path)
    with_about({**ours, "settings": {"solver": None}})
    with pytest.raises(ValueError, match="is damaged: it has no entry 'shape'"):
        NodeClassifier.load(path)
    with_about({**ours, "settings": {"solver": None, "alpha": 2}})
    with pytest.raises(ValueError, match="does not fit: alpha must be"):
        NodeClassifier.load(path)


# Real data ------------------------------------------------------------------------------------------------------


@needs_files
def test_cora_in_a_few_epochs() -> None:
    data = planetoid("cora", root=REAL)
    classifier = NodeClassifier(epochs=60, progress=False)
    classifier.fit(data.graph, data.features, data.labels, data.train_mask, data.val_mask)
    assert classifier.score(data.test_mask) > 0.81


@needs_files
@pytest.mark.slow
@pytest.mark.parametrize(("name", "T", "alpha", "least"), [("cora", 1.2, 0.0, 0.80), ("citeseer", 1.0, 0.8, 0.69)])
def test_the_published_preset(name: str, T: float, alpha: float, least: float) -> None:
    data = planetoid(name, root=REAL)
    classifier = NodeClassifier(T, alpha, preset="paper", progress=False)
    classifier.fit(data.graph, data.features, data.labels, data.train_mask)
    assert classifier.score(data.test_mask) > least


def test_the_unit_of_weights_does_not_matter() -> None:
    club = ndcn.datasets.karate_club()
    found = [
        NodeClassifier(hidden=8, epochs=5, progress=False)
        .fit(club.graph.with_adjacency(unit * club.graph.to_scipy()), club.features, club.labels, club.train_mask)
        .predict_proba()
        for unit in (1.0, 1e-3, 1e6)
    ]
    for other in found[1:]:
        torch.testing.assert_close(other, found[0])


@pytest.mark.parametrize("features", [np.ones((34, 2)), np.zeros((34, 3))])
def test_features_that_say_nothing_get_a_warning(features: np.ndarray) -> None:
    club = ndcn.datasets.karate_club()
    with pytest.warns(UserWarning, match="all nodes have the same features"):
        NodeClassifier(hidden=8, epochs=1, progress=False).fit(club.graph, features, club.labels, club.train_mask)
