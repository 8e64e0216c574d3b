"""The commands on a network that several processes share."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ndcn
from commands import output, parsed, refused
from ndcn import distributed
from ranks import together

MAIN = """
from ndcn.cli import main
for command in words["commands"]:
    sys.argv = ["ndcn", *command]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    sys.stdout = sys.__stdout__
    world.barrier()
"""


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    output("simulate", "--nodes", 36, "--snapshots", 12, "--out", tmp_path / "data")
    facts = parsed("partition", tmp_path / "data", "--parts", 2, "--method", "streaming", "--out", tmp_path / "parts")
    assert facts["parts"] == 2
    assert facts["bytes_per_evaluation"] == sum(facts["halo"]) * 80
    assert facts["cut"] > 0
    return tmp_path


def test_fit_predict_and_simulate_in_parts(cut: Path) -> None:
    fit = ["fit", "parts", "--epochs", "15", "--dtype", "float64", "--out", "together.ndcn"]
    predict = ["predict", "together.ndcn", "--data", "parts", "--times", "1,2.5", "--out", "answers"]
    some = ["predict", "together.ndcn", "--data", "parts", "--times", "1", "--nodes", "3,30", "--out", "some"]
    simulate = [
        "simulate",
        "--law",
        "gene",
        "--data",
        "parts",
        "--snapshots",
        "3",
        "--sampling",
        "regular",
        "--out",
        "gene",
    ]
    ended = together(2, MAIN, {"commands": [fit, predict, predict, some, simulate]}, cwd=cut)
    assert [rank.code for rank in ended] == [0, 0], ended
    assert "15 epochs" in ended[0].out
    assert "2 times, 36 nodes" in ended[0].out
    assert ended[1].out == ""
    output("fit", cut / "data", "--epochs", 15, "--dtype", "float64", "--out", cut / "alone.ndcn")
    alone, both = (ndcn.load(cut / f"{name}.ndcn") for name in ("alone", "together"))
    np.testing.assert_allclose(both.history_.loss, alone.history_.loss, rtol=1e-9)
    table = distributed.read_answers(cut / "answers").sort_values(["time", "node"])
    np.testing.assert_allclose(table["x"], alone.predict([1.0, 2.5]).states.reshape(-1), rtol=1e-5, atol=1e-5)
    assert sorted(distributed.read_answers(cut / "some")["node"]) == [3, 30]
    made = distributed.read_answers(cut / "gene").sort_values(["time", "node"])
    data = ndcn.Trajectory.load(cut / "data")
    truth = ndcn.simulate(ndcn.laws.Gene(), data.graph, data.states[0], ndcn.sampling.regular_times(5.0, 3))
    np.testing.assert_allclose(made["x"], truth.states.reshape(-1), rtol=1e-5)
    assert len(pd.read_parquet(cut / "answers")) == 72  # as other tools read the folder
    assert json.loads((cut / "answers" / "_answers.json").read_text())["parts"] == 2
    assert "training ndcn on 8 snapshots of 36 nodes in 2 parts" in ended[0].err


def test_a_law_is_found_in_parts_and_errors_are_told_once(cut: Path) -> None:
    fit = ["fit", "parts", "--model", "interaction", "--out", "law.ndcn"]
    wrong = ["predict", "law.ndcn", "--data", "parts", "--times", "1", "--nodes", "99", "--out", "some"]
    ended = together(2, MAIN, {"commands": [fit, wrong]}, cwd=cut, seconds=200)
    assert "sum_j A_ij 1.0000" in ended[0].out
    assert not ended[1].out
    assert [one.err.count("error:") for one in ended] == [1, 0]
    assert str(ndcn.load(cut / "law.ndcn").equations()) in ended[0].out


def test_nodes_are_named_in_one_process_too(cut: Path) -> None:
    output("fit", cut / "data", "--epochs", 2, "--out", cut / "model.ndcn")
    said = output("predict", cut / "model.ndcn", "--times", "1", "--nodes", "3,5")
    assert [line.split(",")[1] for line in said.splitlines()[1:]] == ["3", "5"]
    assert "no node '99'" in refused("predict", cut / "model.ndcn", "--times", "1", "--nodes", "99")


def test_wrong_uses_are_refused(cut: Path) -> None:
    assert "has 2 parts and 1 process came" in refused("fit", cut / "parts", "--out", cut / "model.ndcn")
    assert "takes a network that `ndcn partition` cut" in refused(
        "simulate", "--data", cut / "data", "--out", cut / "x"
    )
    assert "remove --network, --nodes and --order" in refused(
        "simulate", "--data", cut / "parts", "--nodes", 50, "--out", cut / "x"
    )
    assert "is cut into parts already" in refused("partition", cut / "parts", "--parts", 3, "--out", cut / "x")
    assert "`free_form` cannot be fitted on a network in parts" in refused(
        "fit", cut / "parts", "--model", "free_form", "--out", cut / "x"
    )
    output("fit", cut / "data", "--epochs", 2, "--out", cut / "model.ndcn")
    assert "evaluate needs it whole" in refused("evaluate", cut / "model.ndcn", cut / "parts")
    for command in ("report", "backtest", "network-test", "inspect"):
        model = [cut / "model.ndcn"] if command == "report" else []
        assert f"{command} needs it whole" in refused(command, *model, cut / "parts")
    assert "must be a whole number from 1 to 36" in refused(
        "partition", cut / "data", "--parts", 99, "--out", cut / "x"
    )
