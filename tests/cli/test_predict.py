"""`ndcn predict`: tables and folders at times asked for."""

from __future__ import annotations

import pandas as pd
import pytest
import torch

import ndcn
from commands import parsed, refused, run


@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_predict_writes_a_table(folder, made, name):
    about = parsed("predict", made / "model.ndcn", "--times", "4.9,0.5, 0.5", "--out", name)
    assert (about["rows"], about["times"], about["features"]) == (75, [4.9, 0.5, 0.5], ["x"])
    table = pd.read_csv(name) if name.endswith("csv") else pd.read_parquet(name)
    assert list(table.columns) == ["time", "node", "x"]
    truth = ndcn.load(made / "model.ndcn").predict([4.9, 0.5, 0.5])
    assert table["x"].to_numpy() == pytest.approx(truth.states.reshape(-1).numpy(), rel=1e-6)
    assert table["node"].tolist() == list(range(25)) * 3
    assert "written to" in run("predict", made / "model.ndcn", "--times", "1", "--out", name).stdout


def test_predict_prints_the_table(made):
    lines = run("predict", made / "model.ndcn", "--until", 6, "--count", 3).stdout.splitlines()
    assert lines[0] == "time,node,x"
    assert [float(line.split(",")[0]) for line in lines[1::25]] == [0.0, 3.0, 6.0]
    about = parsed("predict", made / "model.ndcn", "--times", "1")
    assert torch.tensor(about["states"]).shape == (1, 25, 1)
    assert about["nodes"] == list(range(25))


def test_predict_on_other_data_with_labels(folder, made):
    graph = ndcn.Graph.from_edges([("a", "b"), ("b", "c")])
    ndcn.Trajectory(times=[0.5, 1.0], states=torch.rand(2, 3, 1), graph=graph).save("other")
    about = parsed("predict", made / "model.ndcn", "--times", "0.5,1", "--data", "other")
    assert about["nodes"] == ["a", "b", "c"]
    other = ndcn.Trajectory.load("other")
    expected = ndcn.load(made / "model.ndcn").predict([0.5, 1.0], graph=graph, x0=other.states[0], t0=0.5)
    assert torch.equal(torch.tensor(about["states"]), expected.states)  # the digits of a table name the same float32
    spread = parsed("predict", made / "model.ndcn", "--until", 1.5, "--count", 3, "--data", "other")
    assert spread["times"] == [0.5, 1.0, 1.5]
    assert "the prediction starts at t = 0.5" in refused(
        "predict", made / "model.ndcn", "--times", 0, "--data", "other"
    )
    ndcn.Trajectory(times=[0.0, 1.0], states=torch.rand(2, 3, 2), graph=graph).save("two")
    assert "2 features" in refused("predict", made / "model.ndcn", "--times", "1", "--data", "two")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "either --times"),
        (["--times", "1", "--until", "2"], "either --times"),
        (["--times", "one"], "separated by commas"),
        (["--times", ""], "separated by commas"),
        (["--times", "nan"], "finite"),
        (["--times", "-1"], "starts at t = 0 and only goes forward, but t = -1"),
        (["--until", "0"], "after the first time"),
        (["--until", "inf"], "after the first time"),
        (["--times", "1", "--out", "p.xlsx"], ".csv or .parquet"),
        (["--times", "1", "--out", "no/p.csv"], "there is no folder"),
        (["--times", "1", "--data", "nowhere"], "no data folder"),
    ],
)
def test_predict_refuses(folder, made, words, message):
    assert message in refused("predict", made / "model.ndcn", *words)
    assert not list(folder.iterdir())


def test_files_that_are_no_models_are_refused(folder, made):
    assert "no model file" in refused("predict", "nowhere.ndcn", "--times", "1")
    whole = (made / "model.ndcn").read_bytes()
    for name, content in {
        "cut": whole[: len(whole) // 2],
        "empty": b"",
        "foreign": b"hello, I am a text\n" * 20,
    }.items():
        (folder / name).write_bytes(content)
        assert "not an ndcn model" in refused("predict", name, "--times", "1")
        assert "not an ndcn model" in refused("evaluate", name, made / "data")
    assert "does not begin as one; `ndcn fit` writes models" in refused("predict", "foreign", "--times", "1")
    assert "is a folder, not a model file" in refused("evaluate", made / "data", made / "data")
    assert "is a folder, not a model file" in refused("predict", made / "data", "--times", "1")
    refused("evaluate", made / "model.ndcn", made / "model.ndcn")
