"""``ndcn explain``: what it prints, writes and refuses."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import ndcn
from commands import output, parsed, refused, run


@pytest.fixture
def model(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    run("classify", "--T", 2, "--hidden", 8, "--epochs", 10, "--save", "club.ndcn")
    return Path("club.ndcn")


def test_a_node_is_explained(model: Path) -> None:
    why = ndcn.load(model).explain(8)
    said = parsed("explain", model, 8, "--top", 3, "--out", "why.csv")
    assert (said["node"], said["predicted"], said["nodes"]) == ("8", str(why.predicted), len(why.table))
    assert said["log_odds"] == pytest.approx(why.log_odds)
    assert sum(said["parts"].values()) == pytest.approx(said["log_odds"], abs=1e-5)
    assert [row["node"] for row in said["table"]] == why.table.node.head(3).tolist()
    table = pd.read_csv("why.csv")
    assert table.contribution.sum() + said["parts"]["bias"] == pytest.approx(said["log_odds"], abs=1e-5)
    text = output("explain", model, 8, "--top", 3)
    assert f"8: {why.predicted} (" in text
    assert set(why.table.split) == {"train", "test"}  # the command knows the test nodes too


def test_what_is_refused(model: Path) -> None:
    assert "the network has no node 'ann'" in refused("explain", model, "ann")
    assert "there is no model file" in refused("explain", "no.ndcn", 1)
    assert "must end in .csv or .parquet" in refused("explain", model, 1, "--out", "why.txt")
    run("simulate", "--nodes", 9, "--snapshots", 8)
    run("fit", "data", "--epochs", 1, "--out", "model.ndcn")
    assert "which has no classes" in refused("explain", "model.ndcn", 1)
    run("classify", "--preset", "paper", "--hidden", 4, "--epochs", 1, "--save", "paper.ndcn")
    assert "only linear diffusion can be explained" in refused("explain", "paper.ndcn", 1)
