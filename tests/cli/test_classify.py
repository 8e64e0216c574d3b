"""``ndcn classify``: what it prints, writes and refuses; and reading its models."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch

import ndcn
import warm
from commands import refused as command_refused, run
from ndcn.cli import options
from ndcn.training import History

SMALL = ["--hidden", 4, "--epochs", 5]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NDCN_DATA", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def own(folder) -> Path:
    """Two groups in which everyone knows everyone, and one link between them; labels with gaps, one of them alone."""
    names = [f"p{k}" for k in range(16)]
    pairs = [(a, b) for part in (names[:8], names[8:]) for k, a in enumerate(part) for b in part[k + 1 :]]
    pd.DataFrame([*pairs, ("p0", "p15")], columns=["source", "target"]).to_csv("edges.csv", index=False)
    pd.DataFrame({"node": names[::-1], "age": range(16), "town": ["x", "y"] * 8}).to_csv("features.csv", index=False)
    marks = ["left"] * 6 + [""] * 2 + ["right"] * 6 + ["", "once"]
    pd.DataFrame({"node": names, "label": marks}).to_csv("labels.csv", index=False)
    return folder


def refused(*words: object, code: int = 2) -> str:
    before = sorted(Path().rglob("*"))
    said = command_refused("classify", *words, code=code)
    assert sorted(Path().rglob("*")) == before
    return said


def parsed(*words: object) -> dict:
    return json.loads(run("classify", *words, "--json").stdout)


OWN = ["edges.csv", "--features", "features.csv", "--labels", "labels.csv"]


def test_help_shows_an_example() -> None:
    text = run("classify", "--help").output
    assert "Example: ndcn classify edges.csv" in text
    assert "classify" in run("--help").output
    from ndcn.classify.baselines import PUBLISHED

    assert [model.value for model in options.NodeModel] == ["ndcn", *PUBLISHED]


def test_karate_by_default(folder) -> None:
    about = parsed("--T", 2, "--hidden", 16, "--epochs", 60)
    data = ndcn.datasets.karate_club()
    same = ndcn.NodeClassifier(T=2.0, hidden=16, epochs=60).fit(data.graph, data.features, data.labels, data.train_mask)
    assert about["accuracy"] == same.score(data.test_mask) > 0.8
    assert (about["dataset"], about["model"], about["runs"], about["paper"], about["std"]) == (
        "karate",
        "ndcn",
        1,
        None,
        None,
    )
    assert about["accuracies"] == [about["accuracy"]]
    assert about["split"] == {"train": 2, "validation": 0, "test": 32}
    assert (about["nodes"], about["edges"], about["features"], about["classes"]) == (34, 78, 34, ["Mr. Hi", "Officer"])
    assert about["commonest_class"] == 0.5
    said = run("classify", *SMALL)
    assert "training ndcn on NodeDataset(karate club" in said.stderr
    assert "test accuracy" in said.stdout
    assert "(probabilities as trained, without validation nodes)" in said.stdout
    assert (about["ece"], about["temperature"]) == (same.calibration(data.test_mask).ece, None)
    assert "one run" in said.stdout
    assert not list(folder.iterdir())


@pytest.mark.slow
def test_runs_are_independent_and_alike_in_several_processes(folder) -> None:
    one = parsed("--runs", 3, "--jobs", 1, "--seed", 5, *SMALL)
    two = parsed("--runs", 3, "--jobs", 2, "--seed", 5, *SMALL)
    assert one["accuracies"] == two["accuracies"]
    assert len(one["accuracies"]) == 3
    assert one["accuracy"] == pytest.approx(np.mean(one["accuracies"]))
    assert one["std"] == pytest.approx(np.std(one["accuracies"], ddof=1))
    assert parsed("--seed", 6, *SMALL)["accuracy"] == one["accuracies"][1]
    assert "over 2 runs" in run("classify", "--runs", 2, "--jobs", 1, *SMALL).stdout


def test_own_files(own) -> None:
    words = [*OWN, *SMALL, "--test", 0.25, "--validation", 0.25, "--out", "predictions.csv", "--save", "model.ndcn"]
    result = run("classify", *words, "--json")
    assert "class 'once' (1)" in result.stderr
    about = json.loads(result.stdout)
    assert about["classes"] == ["left", "once", "right"]
    assert about["split"] == {"train": 7, "validation": 3, "test": 3}
    assert about["validated"] is True
    assert about["features"] == 10  # age by eight quantiles, two towns
    table = pd.read_csv("predictions.csv", keep_default_na=False)
    assert list(table) == ["node", "predicted", "p(left)", "p(once)", "p(right)", "known", "label", "split"]
    assert sorted(table.node) == sorted(f"p{k}" for k in range(16))
    np.testing.assert_allclose(table[["p(left)", "p(once)", "p(right)"]].sum(axis=1), 1, rtol=1e-5)
    truth = pd.read_csv("labels.csv", keep_default_na=False).set_index("node").label
    assert (table.set_index("node").label == truth[table.node]).all()
    assert (table.known == (table.label != "")).all()
    assert table.split.value_counts().to_dict() == {"train": 7, "validation": 3, "test": 3, "": 3}
    tested = table[table.split == "test"]
    assert (tested.predicted == tested.label).mean() == pytest.approx(about["accuracy"])
    again = ndcn.load("model.ndcn")
    assert isinstance(again, ndcn.NodeClassifier)
    assert again.probability_temperature_ == about["temperature"] is not None
    assert again.calibration().ece == about["ece"]  # it knows the test nodes
    assert again.predict().tolist() == table.predicted.tolist()
    np.testing.assert_allclose(again.predict_proba().numpy(), table.filter(like="p(").to_numpy(), atol=1e-6)
    assert list(again.graph_.nodes) == table.node.tolist()
    assert sorted(p.name for p in own.iterdir()) == [
        "edges.csv",
        "features.csv",
        "labels.csv",
        "model.ndcn",
        "predictions.csv",
    ]


def test_files_as_fit_reads_them(own) -> None:
    """A graph file, another encoding and separator, words for missing values, and columns named by options."""
    words = [*SMALL, "--test", 0.25]
    about = parsed(*OWN, *words)
    edges, features, labels = (pd.read_csv(f"{name}.csv") for name in ("edges", "features", "labels"))
    nx.write_graphml(nx.from_pandas_edgelist(edges), "edges.graphml")
    features.assign(age=features.age + 0.5).to_csv("f.csv", index=False, sep=";", decimal=",", encoding="utf-16")
    labels.rename(columns={"node": "who", "label": "stra\u00dfe"}).to_csv(
        "l.csv", index=False, sep="\t", na_rep="#N/A", encoding="latin-1"
    )
    named = ["--label", "stra\u00dfe", "--node", 1]
    result = run("classify", "edges.graphml", "--features", "f.csv", "--labels", "l.csv", *named, *words, "--json")
    again = json.loads(result.stdout)
    for fact in ("accuracy", "split", "classes", "nodes", "edges", "features"):
        assert again[fact] == about[fact]
    assert "note: edges.graphml: 16 nodes and 57 edges" in result.stderr
    assert "note: l.csv: '#N/A' in column" in result.stderr
    assert "--node, --label: for edges of your own" in refused("karate", *named)


def test_parquet_and_baselines(own) -> None:
    for model in ("mlp", "label_propagation"):
        words = [] if model == "label_propagation" else SMALL
        about = parsed(*OWN, "--model", model, *words, "--out", "predictions.parquet")
        assert (about["model"], about["preset"]) == (model, None)
        assert len(pd.read_parquet("predictions.parquet")) == 16
    assert about["accuracy"] > 0.9
    said = run("classify", *OWN, "--model", "label_propagation", "--validation", 0.25).stdout
    assert "(not calibrated)" in said


def test_class_weights(own) -> None:
    run("classify", *OWN, *SMALL, "--class-weight", "balanced", "--save", "model.ndcn")
    assert ndcn.load("model.ndcn").class_weight == "balanced"
    said = refused(*OWN, "--model", "label_propagation", "--class-weight", "balanced")
    assert "label_propagation does not use class_weight" in said


def test_all_nodes_for_training(own) -> None:
    about = parsed(*OWN, *SMALL, "--test", 0)
    assert (about["accuracy"], about["accuracies"], about["split"]["train"]) == (None, [], 13)
    assert "accuracy is not known" in run("classify", *OWN, *SMALL, "--test", 0).stdout


def test_a_class_that_is_not_trained_on(own) -> None:
    labels = pd.read_csv("labels.csv")
    labels.assign(split=["train"] * 15 + ["test"])[labels.label.notna()].to_csv("labels.csv", index=False)
    assert "no training node has the class 'once'" in run("classify", *OWN, *SMALL).stderr
    labels.assign(split=["test"] + ["train"] * 15)[labels.label.notna()].to_csv("labels.csv", index=False)
    assert parsed(*OWN, *SMALL)["split"] == {"train": 12, "validation": 0, "test": 1}
    labels.assign(split="test")[labels.label.notna()].to_csv("labels.csv", index=False)
    assert "no training nodes to learn from: train_mask, or the column split of a table" in refused(*OWN)


def test_the_papers_values_stand_beside(folder, monkeypatch) -> None:
    asked = {}

    def small(name, root=None):
        asked["name"], asked["root"] = name, root
        data = ndcn.datasets.karate_club()
        val = torch.zeros_like(data.train_mask)
        val[1:5] = True
        return ndcn.datasets.NodeDataset(
            name, data.graph, data.features, data.labels, data.train_mask, val, data.test_mask & ~val, data.classes
        )

    monkeypatch.setattr("ndcn.classify.datasets.planetoid", small)
    about = parsed("cora", "--data", ".", *SMALL)
    assert asked == {"name": "cora", "root": Path()}
    assert about["paper"] == {"accuracy": pytest.approx(0.833), "std": pytest.approx(0.006)}
    assert about["validated"] is True
    assert about["validation_accuracy"] is not None
    assert "the paper: 83.3 ± 0.6 %" in run("classify", "cora", *SMALL).stdout
    about = parsed("citeseer", "--preset", "paper", *SMALL, "--save", "model.ndcn")
    assert about["validated"] is False
    model = ndcn.load("model.ndcn")
    assert (model.T, model.alpha, model.preset) == (1.0, 0.8, "paper")
    assert parsed("pubmed", "--model", "mlp", *SMALL)["paper"] is None
    gcn = parsed("citeseer", "--model", "gcn", *SMALL) if _has_pyg() else {"paper": {"accuracy": 0.703, "std": None}}
    assert gcn["paper"] == {"accuracy": pytest.approx(0.703), "std": None}


def _has_pyg() -> bool:
    from importlib.util import find_spec

    return find_spec("torch_geometric") is not None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.csv"], "there is no file nowhere.csv, and no data set of that name; known are karate, cora"),
        (["edges.csv"], "say which classes are known: --labels"),
        (["karate", "--labels", "labels.csv", "--test", 0.1], "--labels, --test: for edges of your own"),
        (["karate", "--data", "."], "--data: for cora"),
        (["cora", "--data", "missing"], "there is no folder missing"),
        (["--model", "mlp", "--T", 2, "--preset", "paper"], "mlp does not use --T, --preset; remove it"),
        (["--model", "mlp", "--save", "m.ndcn"], "--save writes ndcn's classifiers"),
        (["--model", "label_propagation", "--runs", 2], "all runs are the same"),
        (["--model", "label_propagation", "--hidden", 2], "label_propagation does not use hidden"),
        ([*OWN, "--preset", "paper", "--validation", 0.2], "without validation nodes"),
        (["--alpha", 2], "alpha must be between 0 and 1"),
        (["--model", "mlp", "--similar", 3], "mlp does not use --similar"),
        (["--T", -1], "T must be a number > 0"),
        (["--out", "p.txt"], "must end in .csv or .parquet"),
        (["--out", "no/where.csv"], "there is no folder"),
        (["--save", "no/where.ndcn"], "there is no folder"),
        (["--out", "p.csv", "--save", "p.csv"], "--out and --save both name p.csv"),
        (["edges.csv", "--labels", "missing.csv"], "there is no file missing.csv to read labels from"),
        (["edges.csv", "--labels", "edges.csv"], "rows that disagree about node 'p0'"),
        (["labels.csv", "--labels", "labels.csv"], "labels.csv line 8: column 'label' must name a node and is empty"),
        ([*OWN, "--test", 1.5], "test must be a share"),
        ([*OWN[:-1], "broken.csv", "--out", "p.csv"], "broken.csv is not text: it holds zero bytes"),
        (["--model", "transformer"], "label_propagation"),
        (["--runs", 0], "--runs"),
    ],
)  # fmt: skip
def test_what_is_refused(own, words, message) -> None:
    Path("broken.csv").write_bytes(b"node,label\np1,\x00\x01\xff\n")
    assert message in refused(*words)


def test_negative_weights(own) -> None:
    edges = pd.read_csv("edges.csv")
    edges.assign(weight=[-1.0] * 2 + [1.0] * (len(edges) - 2)).to_csv("edges.csv", index=False)
    said = refused(*OWN, *SMALL)
    assert "2 negative weights; kept" in said
    assert "diffusion of classes does not" in said
    assert "to classify nodes, drop these edges or take absolute values" in said
    assert parsed(*OWN, *SMALL, "--model", "mlp")["edges"] == 57


def test_no_network(folder, monkeypatch) -> None:
    import urllib.error

    from ndcn.classify.datasets import download

    def fails(*_: object, **__: object) -> None:
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr(download.urllib.request, "urlopen", fails)
    (folder / "here").mkdir()
    text = refused("cora", "--data", "here", code=1)
    assert "could not download" in text
    assert "ind.cora.x" in text


def test_without_pytorch_geometric(folder, monkeypatch) -> None:
    monkeypatch.setattr("ndcn.cli.classify.find_spec", lambda name: None)
    assert "pip install 'ndcn[pyg]'" in refused("--model", "gcn")


def test_published_settings_of_a_baseline(folder, monkeypatch) -> None:
    asked = {}

    def made(model: options.NodeModel, **settings: object) -> None:
        asked.update(settings)
        raise ValueError("far enough")

    monkeypatch.setattr("ndcn.cli.classify.find_spec", lambda name: True)
    monkeypatch.setattr("ndcn.cli.classify._estimator", made)
    assert "far enough" in refused("pubmed", "--model", "gat")
    assert (asked["learning_rate"], asked["weight_decay"]) == (0.01, 0.001)
    asked.clear()
    assert "far enough" in refused("cora", "--model", "gat")
    assert "learning_rate" not in asked


def test_an_interruption_writes_nothing(folder, monkeypatch) -> None:
    def interrupted(self: object, *_: object, resume: bool) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ndcn.NodeClassifier, "fit", interrupted)
    assert "error: interrupted" in refused("--out", "p.csv", code=1)
    monkeypatch.undo()
    monkeypatch.chdir(folder)

    def kept(self: ndcn.NodeClassifier, *_: object, resume: bool) -> ndcn.NodeClassifier:
        self.history_ = History(stopped="interrupted")
        return self

    monkeypatch.setattr(ndcn.NodeClassifier, "fit", kept)
    assert "error: interrupted" in refused("--out", "p.csv", code=1)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process groups to send SIGINT to")
def test_ctrl_c_with_several_processes(folder) -> None:
    words = ["classify", "--runs", "4", "--jobs", "2", "--epochs", "100000", "--out", "p.csv"]
    process = warm.start(warm.MAIN, words, new_session=True)
    assert process.stderr is not None
    assert "training" in process.stderr.readline()
    time.sleep(2)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert out == ""
    assert err == "error: interrupted\n"
    assert not list(folder.iterdir())


@pytest.fixture
def stopped_in_the_third(monkeypatch) -> None:
    """Ctrl-C while the third run trains: it comes in the first step of that run, and takes effect after it."""
    from ndcn.classify import training as classification

    real = classification.ClassifierTask.loss

    def loss(task: classification.ClassifierTask) -> torch.Tensor:
        if task.seed == 7:
            signal.raise_signal(signal.SIGINT)
        return real(task)

    monkeypatch.setattr(classification.ClassifierTask, "loss", loss)


def test_ctrl_c_keeps_the_runs_that_finished(folder, monkeypatch, stopped_in_the_third) -> None:
    words = ["--runs", 4, "--jobs", 1, "--seed", 5, *SMALL]
    result = run("classify", *words, "--out", "p.csv", "--json", code=1)
    assert "error: interrupted; 2 of 4 runs finished, which are reported" in result.stderr
    about = json.loads(result.stdout)
    assert (about["runs"], about["runs_asked"], len(about["accuracies"])) == (2, 4, 2)
    assert len(pd.read_csv("p.csv")) == 34
    Path("p.csv").write_text("one that was there")
    result = run("classify", *words, "--out", "p.csv", code=1)
    assert "p.partial.csv is of the first of them; p.csv is as it was" in result.stderr
    assert (Path("p.csv").read_text(), len(pd.read_csv("p.partial.csv"))) == ("one that was there", 34)
    Path("p.partial.csv").unlink()
    Path("club.ndcn").write_text("one that was there")
    result = run("classify", *words, "--save", "club.ndcn", code=1)
    assert "over 2 runs" in result.stdout
    assert "club.ndcn.partial is of the first of them; club.ndcn is as it was" in result.stderr
    assert Path("club.ndcn").read_text() == "one that was there"
    assert ndcn.load("club.ndcn.partial").seed == 5
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    again = json.loads(run("classify", *words, "--save", "club.ndcn", "--resume", "--json").stdout)
    assert again["accuracies"][:2] == about["accuracies"]
    assert (again["runs"], again["save"]) == (4, "club.ndcn")
    assert sorted(path.name for path in folder.glob("*")) == ["club.ndcn", "p.csv"]


def test_ctrl_c_again_does_not_lose_the_report(folder, monkeypatch, stopped_in_the_third) -> None:
    real = options.write_table

    def pressed_again(*words: object) -> None:
        signal.raise_signal(signal.SIGINT)
        real(*words)

    monkeypatch.setattr("ndcn.cli.classified.write_table", pressed_again)
    result = run("classify", "--runs", 4, "--jobs", 1, "--seed", 5, *SMALL, "--out", "p.csv", code=1)
    assert "over 2 runs" in result.stdout
    assert "2 of 4 runs finished, which are reported; p.csv is of the first of them" in result.stderr


def test_the_first_run_that_finished_keeps_its_estimator(monkeypatch) -> None:
    from ndcn.classify import NodeRun, RunsInterrupted, repeat, runs

    def as_they_end(work, tasks, **_: object):
        for k in (2, 1):
            yield k, NodeRun(f"estimator {k}", 0.5, None, {}, None, None)
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "run_all", as_they_end)
    with pytest.raises(RunsInterrupted) as caught:
        repeat([None] * 4, None, False, None)
    assert [one.estimator for one in caught.value.finished] == ["estimator 1", None]


EAGER = "import ndcn.training.loop; ndcn.training.loop.SAVE_EVERY = 0.0; from ndcn.cli import main; main()"


LONG = ["classify", "--hidden", "8", "--epochs", "200", "--seed", "3", "--save"]


@pytest.fixture(scope="module")
def never_interrupted(tmp_path_factory: pytest.TempPathFactory) -> ndcn.NodeClassifier:
    path = tmp_path_factory.mktemp("whole") / "whole.ndcn"
    run(*LONG, path)
    return ndcn.load(path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals as this test sends")
@pytest.mark.parametrize(
    "sent", ["SIGINT", pytest.param("SIGKILL", marks=pytest.mark.slow)]
)  # `ndcn fit` is killed too
def test_resuming_is_as_never_interrupted(folder, sent: str, never_interrupted: ndcn.NodeClassifier) -> None:
    process = warm.start(EAGER, [*LONG, "club.ndcn"])
    end = time.monotonic() + 60
    while not Path("club.ndcn.checkpoint").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(signal.Signals[sent])
    _, err = process.communicate(timeout=60)
    assert [path.name for path in folder.glob("[!.]*")] == [
        "club.ndcn.checkpoint"
    ]  # a kill may leave a part of the next
    if sent == "SIGINT":
        assert process.returncode == 1
        assert "club.ndcn was not written; club.ndcn.checkpoint is kept: continue with --resume" in err
        assert "weights" not in err
        assert "Traceback" not in err
    run(*LONG, "club.ndcn", "--resume")
    assert [path.name for path in folder.glob("[!.]*")] == ["club.ndcn"]
    resumed = ndcn.load("club.ndcn")
    assert resumed.history_.loss == never_interrupted.history_.loss
    assert resumed.predict_proba().equal(never_interrupted.predict_proba())


def test_checkpoints_of_other_runs(folder) -> None:
    Path("club.ndcn.checkpoint").write_text("something else")
    said = " ".join(refused(*SMALL, "--save", "club.ndcn", "--resume").split())
    assert "club.ndcn.checkpoint is not a checkpoint that can be read" in said
    assert "--resume would continue from it" in run("classify", *SMALL, "--save", "club.ndcn").stderr
    assert [path.name for path in folder.iterdir()] == ["club.ndcn"]
    assert "name the model with --save" in refused(*SMALL, "--resume")
    run("classify", *SMALL, "--runs", 2, "--jobs", 1, "--save", "club.ndcn", "--resume")
    assert [path.name for path in folder.iterdir()] == ["club.ndcn"]


def test_a_worker_that_dies(folder) -> None:
    def kill() -> None:
        while not multiprocessing.active_children():
            time.sleep(0.01)
        multiprocessing.active_children()[0].kill()

    killer = threading.Thread(target=kill)
    killer.start()
    assert "a process of the runs died" in refused("--runs", 2, "--jobs", 2, "--epochs", 100_000, code=1)
    killer.join()
    assert not multiprocessing.active_children()


# Reading models -------------------------------------------------------------------------------------------------


def test_load_reads_both_kinds(folder) -> None:
    run("classify", *SMALL, "--save", "club.ndcn")
    club = ndcn.load("club.ndcn")
    assert isinstance(club, ndcn.NodeClassifier)
    assert set(club.predict().tolist()) <= {"Mr. Hi", "Officer"}
    run("simulate", "--nodes", 9, "--snapshots", 8)
    run("fit", "data", "--epochs", 2)
    assert isinstance(ndcn.load("model.ndcn"), ndcn.DynamicsRegressor)
    for words in (("predict", "club.ndcn", "--times", "1"), ("evaluate", "club.ndcn", "data")):
        text = " ".join(run(*words, code=2).stderr.split())
        assert "club.ndcn holds a NodeClassifier, which has no dynamics to predict" in text
    with pytest.raises(ValueError, match="holds a DynamicsRegressor, not a NodeClassifier"):
        ndcn.NodeClassifier.load("model.ndcn")


def test_a_kind_from_the_future_is_refused(folder) -> None:
    from safetensors.torch import save_file

    save_file(
        {"x": torch.zeros(1)},
        "m",
        metadata={"ndcn": json.dumps({"format": "ndcn-model", "version": 1, "kind": "Oracle"})},
    )
    with pytest.raises(ValueError, match="holds a Oracle, which this ndcn does not know"):
        ndcn.load("m")


def test_a_field_of_ones_own_is_given_to_load(folder) -> None:
    data = ndcn.datasets.karate_club()
    field = ndcn.fields.DiffusionField()
    first = ndcn.NodeClassifier(T=1.0, hidden=4, epochs=2, field=field, solver=ndcn.Solver("euler", step_size=0.5))
    first.fit(data.graph, data.features, data.labels, data.train_mask).save("own.ndcn")
    with pytest.raises(ValueError, match="a field of your own"):
        ndcn.load("own.ndcn")
    assert torch.equal(ndcn.load("own.ndcn", model=field).predict_proba(), first.predict_proba())


def test_a_graph_whose_neighbours_differ(folder) -> None:
    """Files of Geom-GCN: a ring of 36 nodes, each of another class than both neighbours."""
    pairs = "".join(f"{k}\t{(k + 1) % 36}\n" for k in range(36))
    Path("ring_out1_graph_edges.txt").write_text("node_id\tnode_id\n" + pairs)
    rows = "".join(f"{k}\t{k % 3 % 2},{k % 5 % 2},1\t{k % 2}\n" for k in range(36))
    Path("ring_out1_node_feature_label.txt").write_text("node_id\tfeature\tlabel\n" + rows)
    third = np.arange(36) // 12
    masks = {name: third == k for k, name in enumerate(("train_mask", "val_mask", "test_mask"))}
    np.savez("ring_split_0.6_0.2_2.npz", **masks)
    about = parsed("ring", "--data", ".", "--split", 2, *SMALL)
    assert about["assortativity"] == -1
    assert about["field"] in ("features", "signed", "diffusion")
    assert "on the validation nodes" in about["verdict"]
    assert about["verdict"] in run("classify", "ring", "--data", ".", "--split", 2, *SMALL).stdout
    assert "with --data FOLDER" in refused("ring", code=2)
    assert "--split: for graphs in the files of Geom-GCN" in refused("--split", 1)
