"""``ndcn inspect``, ``ndcn fit EDGES STATES`` and ``ndcn predict`` with dates and changes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pandas as pd
import pytest

import ndcn
from commands import output


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.csv").write_text("source,target\nann,bob\nbob,cid\n")
    rows = "".join(f"2021-03-{k:02d},{k},{2 * k},{30 - k}\n" for k in range(1, 21))
    (tmp_path / "states.csv").write_text("date,ann,bob,cid\n" + rows)
    return tmp_path


def test_inspect(files: Path) -> None:
    out = output("inspect", "edges.csv", "states.csv", "--out", "picture.png")
    assert "3 nodes, 2 edges, undirected" in out
    assert "20 snapshots from 2021-03-01 to 2021-03-20" in out
    assert (files / "picture.png").read_bytes().startswith(b"\x89PNG")
    facts = json.loads(output("inspect", "edges.csv", "states.csv", "--directed", "--json"))
    assert facts["directed"]
    assert facts["unit"] == "day"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["inspect", "nothing.csv", "states.csv"], "no file nothing.csv"),
        (["inspect", "edges.csv", "states.csv", "--out", "picture.txt"], "must end in .png"),
        (["inspect", "edges.csv", "states.csv", "--out", "nowhere/picture.png"], "no folder"),
        (["inspect", "edges.csv", "states.csv", "--time", "when"], "no column 'when'"),
        (["inspect", "edges.csv", "edges.csv"], "error: edges.csv has the columns"),
        (["inspect", "states.csv", "edges.csv"], "are the two files swapped? edges.csv looks like edges"),
        (["fit", "states.csv", "edges.csv"], "edges come first, then states"),
        (["inspect", "edges.csv", "states.csv", "--one-graph", "--edge-time", "x"], "give one of them"),
        (["fit", "edges.csv"], "give a file of states too"),
        (["fit", "edges.csv", "nothing.csv"], "no file nothing.csv"),
    ],
)
def test_bad_input(files: Path, words: list[str], message: str) -> None:
    assert message in " ".join(output(*words, code=2).split())
    assert sorted(path.name for path in files.iterdir()) == ["edges.csv", "states.csv"]


def test_fit_and_predict_with_dates(files: Path) -> None:
    out = json.loads(
        output("fit", "edges.csv", "states.csv", "--model", "ndcn", "--epochs", 5, "--json").splitlines()[-1]
    )
    assert out["snapshots"] == {"train": 14, "interpolation": 3, "extrapolation": 3}
    assert out["calendar"] == {"origin": "2021-03-01", "unit": "day", "tz": None}
    table = pd.read_csv(io.StringIO(output("predict", "model.ndcn", "--times", "2021-03-05,2021-04-01")))
    assert table["time"].tolist() == ["2021-03-05"] * 3 + ["2021-04-01"] * 3
    assert table["node"].tolist() == ["ann", "bob", "cid"] * 2
    same = pd.read_csv(io.StringIO(output("predict", "model.ndcn", "--times", "4,31")))
    pd.testing.assert_frame_equal(same, table)
    until = json.loads(output("predict", "model.ndcn", "--until", "2021-03-31", "--count", 2, "--json"))
    assert until["dates"] == ["2021-03-01", "2021-03-31"]
    assert until["times"] == [0, 30]
    assert "--times soon" in output("predict", "model.ndcn", "--times", "soon", code=2)
    early = "the prediction starts at 2021-03-01 and only goes forward, but 2021-02-01 was asked for"
    for words in (
        ["--times", "2021-03-05,2021-02-01"],
        ["--times", "2021-03-05", "--what-if", "remove ann", "--at", "2021-02-01"],
    ):
        assert early in " ".join(output("predict", "model.ndcn", *words, code=2).split())
    said = output("predict", "model.ndcn", "--until", "2021-02-01", code=2)
    assert "--until must lie after the first time 2021-03-01, got 2021-02-01" in " ".join(said.split())
    said = output("predict", "model.ndcn", "--times", "2021-03-05", "--out", "one.csv")
    assert said.startswith("1 time, 2021-03-05, 3 nodes: x\n")
    said = output("predict", "model.ndcn", "--times", "2021-03-09,2021-03-05", "--out", "two.csv")
    assert said.startswith("2 times from 2021-03-05 to 2021-03-09, 3 nodes: x\n")


def test_what_if(files: Path) -> None:
    output("fit", "edges.csv", "states.csv", "--model", "ndcn", "--epochs", 5)
    when = ["--times", "2021-03-01,2021-03-10,2021-03-20"]
    changes = ["--what-if", "remove ann", "--what-if", "shock bob +5", "--at", "2021-03-10"]
    said = output("predict", "model.ndcn", *when, *changes, "--out", "out.csv")
    assert "off the requested state" in said
    table = pd.read_csv("out.csv").set_index(["time", "node"])
    assert list(table.columns) == ["x", "x_changed"]
    before, at, after = (table.loc[day] for day in ("2021-03-01", "2021-03-10", "2021-03-20"))
    assert before["x"].tolist() == before["x_changed"].tolist()
    assert at.loc["bob", "x_changed"] != at.loc["bob", "x"]
    assert after["x_changed"].isna().tolist() == [True, False, False]
    changed = json.loads(output("predict", "model.ndcn", *when, *changes, "--json").splitlines()[0])["changed"]
    assert changed[2][0] == [None]
    for words, message in (
        (["--what-if", "remove zoe"], "no node 'zoe'"),
        (["--what-if", "cut ann cid"], "no edge from 'ann' to 'cid'"),
        (["--what-if", "explode"], "no change that is known"),
        (["--at", "2021-03-10"], "give --what-if too"),
    ):
        assert message in " ".join(output("predict", "model.ndcn", *when, *words, code=2).split())


def test_names_with_blanks_and_variables_with_hyphens(files: Path) -> None:
    (files / "edges.csv").write_text("source,target\nNew York,bob\nbob,cid\n")
    rows = "".join(f"{t},{n},{t + k}\n" for t in range(12) for k, n in enumerate(["New York", "bob", "cid"]))
    (files / "states.csv").write_text("time,node,new-cases\n" + rows)
    output("fit", "edges.csv", "states.csv", "--model", "ndcn", "--epochs", 2)
    for change in ("remove New York", "remove 'New York'", "cut 'New York' bob", "shock New York new-cases+5"):
        assert "new-cases_changed" in output("predict", "model.ndcn", "--times", "0,4", "--what-if", change)
    said = output("predict", "model.ndcn", "--times", "0,4", "--what-if", "cut New York bob", code=2)
    assert "names with blanks stand in quotes of their own, as in: cut 'New York' Boston" in " ".join(said.split())


def test_runs_and_graphs(files: Path) -> None:
    """Two runs on a graph that changes: all are learned, predictions follow the graphs."""
    (files / "edges.csv").write_text("source,target,time\nann,bob,0\nbob,cid,0\nann,cid,5\n")
    rows = [f"{r},{n},{t},{t + k}" for r in "AB" for t in range(12) for k, n in enumerate(["ann", "bob", "cid"])]
    (files / "states.csv").write_text("run,node,time,x\n" + "\n".join(rows) + "\n")
    out = json.loads(
        output("fit", "edges.csv", "states.csv", "--model", "ndcn", "--epochs", 3, "--json").splitlines()[-1]
    )
    assert out["snapshots"]["train"] == 16
    said = output("predict", "model.ndcn", "--times", "0,4,11", "--what-if", "remove bob").splitlines()
    assert any("take away input" in line for line in said if line.startswith("note: "))
    table = pd.read_csv(io.StringIO("\n".join(line for line in said if not line.startswith("note: "))))
    assert len(table) == 9
    assert table["x"].notna().all()
    assert table["x_changed"].isna().sum() == 3
    output("fit", "edges.csv", "states.csv", "--model", "ndcn", "--one-graph", "--epochs", 2)


def test_help_shows_the_files() -> None:
    assert "STATES" in output("fit", "--help")
    assert "edges.csv states.csv" in " ".join(output("inspect", "--help").split())
    assert "--what-if" in output("predict", "--help")


def test_nodes_are_placed_and_a_forecast_is_drawn(files: Path) -> None:
    (files / "nodes.csv").write_text("name,lat,lon\nann,50,7\nbob,51,8\ncid,52,9\n")
    out = output("fit", "edges.csv", "states.csv", "--nodes", "nodes.csv", "--horizon", 2, "--out", "f.ndcn")
    assert "notes on the data: `ndcn inspect edges.csv states.csv --nodes nodes.csv` shows them" in out
    assert "nodes are placed by columns 'lon' and 'lat'" in output(
        "inspect", "edges.csv", "states.csv", "--nodes", "nodes.csv"
    )
    assert ndcn.load("f.ndcn").train_[0].graph.positions[:, 1].tolist() == [50, 51, 52]
    output("predict", "f.ndcn", "--out", "f.csv", "--plot", "f.png")
    assert (files / "f.png").read_bytes().startswith(b"\x89PNG")
    output("report", "f.ndcn", "edges.csv", "states.csv", "--nodes", "nodes.csv", "--out", "f.html")
    page = (files / "f.html").read_text()
    assert "<title>states.csv: forecast at 3 nodes</title>" in page
    assert '"placed":true' in page
    assert "--nodes nodes.csv" in page
    assert "must end in .png" in output("predict", "f.ndcn", "--plot", "f.txt", code=2)
    assert "drop --data and --what-if" in output("predict", "f.ndcn", "--plot", "f.png", "--data", ".", code=2)
