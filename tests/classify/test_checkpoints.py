"""Checkpoints of node estimators: a resumed fit is the uninterrupted one bit for bit, and one of another run is refused."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import ndcn
from ndcn import Graph, NodeBaseline, NodeClassifier, Solver
from ndcn.classify.baselines import BaselineTask
from ndcn.classify.training import ClassifierTask, NodeTask
from ndcn.datasets import NodeDataset, karate_club
from ndcn.training import loop

Estimator = NodeClassifier | NodeBaseline
EPOCHS = 12
KINDS = {
    "default": lambda **given: NodeClassifier(**{"T": 2.0, "hidden": 8, "seed": 3, "epochs": EPOCHS, **given}),
    "learned": lambda **given: NodeClassifier(
        **{"hidden": 8, "learn_T": True, "learn_alpha": True, "epochs": EPOCHS, **given}
    ),
    "paper": lambda **given: NodeClassifier(**{"preset": "paper", "hidden": 8, "epochs": EPOCHS, **given}),
    "mlp": lambda **given: NodeBaseline("mlp", **{"hidden": 8, "seed": 3, "epochs": EPOCHS, **given}),
    "gat": lambda **given: NodeBaseline("gat", **{"hidden": 2, "seed": 3, "epochs": EPOCHS, **given}),
}
needs_pyg = pytest.mark.skipif(
    importlib.util.find_spec("torch_geometric") is None, reason="PyTorch Geometric (ndcn[pyg]) is not installed"
)
NAMES = [pytest.param(name, marks=needs_pyg if name == "gat" else ()) for name in KINDS]


class Killed(Exception):
    pass


@pytest.fixture(scope="module")
def data() -> NodeDataset:
    return karate_club()


def fit(estimator: Estimator, data: NodeDataset, validated: bool = False, **changes: object) -> Estimator:
    validation = torch.zeros_like(data.test_mask)
    validation[data.test_mask.nonzero().flatten()[::3]] = True
    resume = bool(changes.pop("resume", False))
    given = {"graph": data.graph, "features": data.features, "labels": data.labels, "train_mask": data.train_mask}
    return estimator.fit(**{**given, **changes}, val_mask=validation if validated else None, resume=resume)


def at_epoch(monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[], None]) -> None:
    """Call ``act`` in the loss of an epoch, counted from 1."""
    for kind in (ClassifierTask, BaselineTask):
        calls: list[int] = []

        def loss(
            task: NodeTask, real: Callable[..., torch.Tensor] = kind.loss, calls: list[int] = calls
        ) -> torch.Tensor:
            calls.append(1)
            if len(calls) == number:
                act()
            return real(task)

        monkeypatch.setattr(kind, "loss", loss)


def same(one: Estimator, other: Estimator) -> bool:
    weights = [[value.clone() for value in e.model_.state_dict().values()] for e in (one, other)]
    return (
        all(a.equal(b) for a, b in zip(*weights, strict=True))
        and one.history_.loss == other.history_.loss
        and one.history_.validation == other.history_.validation
        and one.history_.stopped == other.history_.stopped
        and one.predict_proba().equal(other.predict_proba())
    )


def kill() -> None:
    raise Killed


@pytest.fixture
def save_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SAVE_EVERY", -1.0)


@pytest.mark.usefixtures("save_always")
@pytest.mark.parametrize("validated", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_resuming_after_a_kill_ends_with_the_same_bits(
    name: str, validated: bool, data: NodeDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    whole = fit(KINDS[name](), data, validated)
    for at in (1, 2, 7, EPOCHS) if name == "default" else (1, 7):
        with monkeypatch.context() as patched:
            at_epoch(patched, at, kill)
            with pytest.raises(Killed):
                fit(KINDS[name](checkpoint=path), data, validated)
        assert path.exists() == (at > 1)
        before = torch.random.get_rng_state()
        again = fit(KINDS[name](checkpoint=path), data, validated, resume=True)
        assert same(again, whole)
        assert torch.random.get_rng_state().equal(before)
        assert same(fit(KINDS[name](checkpoint=path), data, validated, resume=True), whole)  # nothing is left to do
        path.unlink()
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("save_always")
@pytest.mark.parametrize("name", ["default", "mlp"])
def test_resuming_a_run_that_stops_early(
    name: str, data: NodeDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"epochs": 400, "patience": 4, "learning_rate": 0.3}
    whole = fit(KINDS[name](**given), data, True)
    epochs = len(whole.history_.loss)
    assert whole.history_.stopped == "early"
    assert 4 < epochs < 400
    for at in (epochs - 2, epochs):  # while it waits
        with monkeypatch.context() as patched:
            at_epoch(patched, at, kill)
            with pytest.raises(Killed):
                fit(KINDS[name](checkpoint=tmp_path / "run", **given), data, True)
        assert same(fit(KINDS[name](checkpoint=tmp_path / "run", **given), data, True, resume=True), whole)
    assert same(fit(KINDS[name](checkpoint=tmp_path / "run", **given), data, True, resume=True), whole)


@pytest.mark.parametrize("validated", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_ctrl_c_waits_for_the_end_of_the_epoch_and_resumes(
    name: str, validated: bool, data: NodeDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.getsignal(signal.SIGINT)
    whole = fit(KINDS[name](), data, validated)
    with monkeypatch.context() as patched:
        at_epoch(patched, 9, lambda: signal.raise_signal(signal.SIGINT))
        with pytest.warns(
            RuntimeWarning, match=rf"interrupted after 9 of {EPOCHS} epochs: the best weights so far, of"
        ):
            part = fit(KINDS[name](checkpoint=tmp_path / "run"), data, validated)
    assert part.history_.stopped == "interrupted"
    assert part.history_.loss == whole.history_.loss[:9]
    assert part.predict_proba().isfinite().all()
    assert signal.getsignal(signal.SIGINT) is before
    assert same(fit(KINDS[name](checkpoint=tmp_path / "run"), data, validated, resume=True), whole)

    def twice() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patched:
        at_epoch(patched, 2, twice)
        with pytest.raises(KeyboardInterrupt):
            fit(KINDS[name](), data, validated)


def test_training_in_another_thread(data: NodeDataset) -> None:
    found: list[Estimator] = []
    thread = threading.Thread(target=lambda: found.append(fit(KINDS["mlp"](), data)))
    thread.start()
    thread.join()
    assert same(found[0], fit(KINDS["mlp"](), data))


@pytest.mark.parametrize("name", ["default", "mlp"])
def test_a_checkpoint_of_other_data_is_refused(name: str, data: NodeDataset, tmp_path: Path) -> None:
    path = tmp_path / "run"
    fit(KINDS[name](checkpoint=path), data)
    edges = data.graph.to_scipy().toarray()
    edges[0, 33] = edges[33, 0] = 2.0
    other_classes = data.labels.clone()
    other_classes[5] = 1 - other_classes[5]
    other_nodes = data.train_mask.clone()
    other_nodes[5] = True
    features = np.eye(34)
    features[3, 4] = 1.0
    for change in (
        {"graph": Graph.from_dense(edges)},
        {"features": features},
        {"labels": other_classes},
        {"train_mask": other_nodes},
        {"validated": True},
    ):
        with pytest.raises(ValueError, match="belongs to other data or settings"):
            fit(KINDS[name](checkpoint=path), data, resume=True, **change)
    fit(KINDS[name](checkpoint=path), data, features=features)  # without resume it is replaced


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("default", {"seed": 4}),
        ("default", {"T": 3.0}),
        ("default", {"epochs": EPOCHS + 1}),
        ("default", {"dropout": 0.1}),
        ("default", {"normalize": False}),
        ("default", {"dtype": "float64"}),
        ("default", {"preset": "paper"}),
        ("default", {"source": 0.0, "solver": Solver("euler", step_size=0.5)}),
        ("mlp", {"seed": 4}),
        ("mlp", {"learning_rate": 0.02}),
        ("mlp", {"weight_decay": 0.0}),
    ],
)
def test_a_checkpoint_of_other_settings_is_refused(
    name: str, change: dict[str, object], data: NodeDataset, tmp_path: Path
) -> None:
    path = tmp_path / "run"
    fit(KINDS[name](checkpoint=path), data)
    with pytest.raises(ValueError, match="belongs to other data or settings"):
        fit(KINDS[name](checkpoint=path, **change), data, resume=True)


def test_what_does_not_decide_the_result_may_change(data: NodeDataset, tmp_path: Path) -> None:
    path = tmp_path / "run"
    first = fit(KINDS["default"](checkpoint=path), data)
    moved = path.rename(tmp_path / "moved")
    again = fit(KINDS["default"](checkpoint=str(moved), progress=False, dtype=torch.float32), data, resume=True)
    assert same(first, again)


def test_a_saved_classifier_forgets_where_its_checkpoint_was(data: NodeDataset, tmp_path: Path) -> None:
    classifier = fit(KINDS["default"](checkpoint=tmp_path / "run"), data)
    classifier.save(tmp_path / "model.ndcn")
    again = ndcn.load(tmp_path / "model.ndcn")
    assert again.checkpoint is None
    assert again.predict_proba().equal(classifier.predict_proba())


def test_label_propagation_keeps_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="label_propagation does not use checkpoint; remove it"):
        NodeBaseline("label_propagation", checkpoint=tmp_path / "run")


SCRIPT = """
import sys, ndcn
from ndcn.training import loop
loop.SAVE_EVERY = 0.0
data = ndcn.datasets.karate_club()
kind = {"default": ndcn.NodeClassifier, "mlp": lambda **given: ndcn.NodeBaseline("mlp", **given)}[sys.argv[1]]
found = kind(hidden=8, epochs=int(sys.argv[3]), checkpoint=sys.argv[2], seed=3)
found.fit(data.graph, data.features, data.labels, data.train_mask, resume=True)
print(found.predict_proba().double().sum(dim=0).tolist(), len(found.history_.loss))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.slow  # `ndcn classify` is killed and resumed in tests/cli/test_classify.py
@pytest.mark.parametrize("name", ["default", "mlp"])
def test_a_process_that_is_killed_and_started_again(name: str, data: NodeDataset, tmp_path: Path) -> None:
    def start(path: str) -> subprocess.Popen[str]:
        words = [sys.executable, "-c", SCRIPT, name, str(tmp_path / path), "150"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

    process = start("part")
    end = time.monotonic() + 60
    while not (tmp_path / "part").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    resumed, errors = start("part").communicate(timeout=120)
    assert resumed, errors
    assert resumed == start("whole").communicate(timeout=120)[0]
