"""Node classification as an experiment, on the karate club in place of the citation graphs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch

import ndcn
from ndcn.experiments import attempt, classify
from ndcn.experiments.classify import load_classification, run_classification
from ndcn.experiments.report import class_rows
from ndcn.experiments.result import Failed, Result
from ndcn.experiments.store import Store
from places import SHARED

PAPER = SHARED / "paper" / "tables.json"
PLANETOID = SHARED / "data" / "planetoid"


@pytest.fixture
def club(monkeypatch: pytest.MonkeyPatch) -> ndcn.datasets.NodeDataset:
    """The club with four validation nodes, under any name."""
    data = ndcn.datasets.karate_club()
    val = torch.zeros_like(data.train_mask)
    val[[1, 2, 31, 32]] = True
    data = dataclasses.replace(data, val_mask=val, test_mask=data.test_mask & ~val)
    monkeypatch.setattr(classify, "_dataset", lambda name, folder: data)
    return data


@pytest.mark.parametrize("name", ["label_propagation", "mlp", "ndcn", "ndcn_default"])
def test_a_run_is_a_fit_on_the_split(name: str, club: ndcn.datasets.NodeDataset) -> None:
    table = load_classification().narrowed(only=["cora"], models=[name], runs=2, epochs=5)
    first, second = table.all_runs()
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    result = run_classification(first.settings)
    assert torch.get_num_threads() == 2
    torch.set_num_threads(threads)
    assert set(result.scores) == {"train", "validation", "test"}
    assert 0 <= result.scores["test"]["accuracy"] <= 1
    if name == "ndcn_default":
        clf = ndcn.NodeClassifier(epochs=5, seed=1000)
        clf.fit(club.graph, club.features, club.labels, club.train_mask, club.val_mask)
        assert result.scores["test"]["accuracy"] == clf.score(club.test_mask)
        assert first.name == "cora classifier, preset = default, epochs = 5, seed 1000"
    assert first.key != second.key


def test_the_published_configuration_sees_no_validation_nodes() -> None:
    table = load_classification()
    validated = {
        model.name: run.settings["validation"] for model in table.models for run in table.cell_runs("cora", model)[:1]
    }
    assert [name for name, used in validated.items() if not used] == ["ndcn"]
    (ndcn_,) = (model for model in table.models if model.name == "ndcn")
    settings = table.cell_runs("citeseer", ndcn_)[0].settings
    assert (settings["model"]["T"], settings["model"]["alpha"]) == (1.0, 0.8)
    assert settings["resolved"]["solver"] == "published"


def test_rows_have_the_papers_values(tmp_path: Path) -> None:
    table = load_classification().narrowed(only=["cora"], models=["gcn", "ndcn", "ndcn_default"], runs=2)
    with Store(tmp_path / "a.sqlite") as store:
        for model in table.models:
            for run, share in zip(table.cell_runs("cora", model), (0.83, 0.85), strict=True):
                store.add(run, Result({part: {"accuracy": share} for part in ("train", "test")}, {}, 1, 2.0, {}))
        rows = {row.model: row for row in class_rows(table, store)}
    assert (rows["gcn"].mean, rows["gcn"].paper_mean, rows["gcn"].paper_std) == (pytest.approx(84), 81.5, None)
    assert (rows["ndcn"].std, rows["ndcn"].mark) == (pytest.approx(2**0.5), "above")
    assert rows["ndcn_default"].paper_mean == rows["ndcn"].paper_mean == 83.3


@pytest.mark.skipif(not PAPER.exists(), reason="the paper's tables are not at hand")
def test_numbers_are_those_of_the_paper() -> None:
    paper, table = json.loads(PAPER.read_text())["classification"], load_classification()
    for dataset in table.datasets:
        for model, pair in paper["accuracy_percent"].items():
            assert table.paper[dataset][model] == [value for value in pair[dataset] if value is not None]
        (own,) = (model for model in table.models if model.name == "ndcn")
        assert own.special[dataset] == paper["best"][dataset]


def test_data_that_are_not_there_are_a_failure_with_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    classify._dataset.cache_clear()
    damaged = tmp_path / "planetoid"
    damaged.mkdir()
    for part in ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index"):
        (damaged / f"ind.cora.{part}").write_bytes(b"no pickle")
    (run,) = load_classification().narrowed(only=["cora"], models=["mlp"], runs=1, folder=str(damaged)).all_runs()
    outcome = attempt(run)
    assert isinstance(outcome, Failed)
    assert "damaged" in outcome.reason


@pytest.mark.slow
@pytest.mark.skipif(not PLANETOID.exists(), reason="the citation graphs are not at hand")
@pytest.mark.parametrize(("dataset", "bar"), [("cora", 0.83), ("citeseer", 0.72)])
def test_the_default_on_real_data(dataset: str, bar: float) -> None:
    table = load_classification().narrowed(only=[dataset], models=["ndcn_default"], runs=1, folder=str(PLANETOID))
    (run,) = table.all_runs()
    outcome = attempt(run)
    assert isinstance(outcome, Result)
    assert outcome.scores["test"]["accuracy"] > bar
