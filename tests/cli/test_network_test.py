"""Forecasts and the test of the network on the command line: ``ndcn fit EDGES STATES``, ``predict``, ``network-test``."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ndcn
from commands import run
from ndcn.forecast import learned, options


def out(*words: object) -> str:
    return run(*words).stdout


def refused(*words: object) -> str:
    return " ".join(run(*words, code=2).output.split())


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """60 days on a ring of 12 nodes, each drawn to its neighbours."""
    monkeypatch.chdir(tmp_path)
    rng, x = np.random.default_rng(0), np.zeros((60, 12))
    for t in range(1, 60):
        mean = (np.roll(x[t - 1], 1) + np.roll(x[t - 1], -1)) / 2
        x[t] = 0.3 * x[t - 1] + 0.6 * mean + rng.normal(size=12)
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"n{k},n{(k + 1) % 12}\n" for k in range(12)))
    days = pd.date_range("2021-01-01", periods=60).strftime("%Y-%m-%d")
    pd.DataFrame(x, index=pd.Index(days, name="date"), columns=[f"n{k}" for k in range(12)]).to_csv("states.csv")
    return tmp_path


def test_two_files_to_a_forecast(files: Path) -> None:
    said = out("fit", "edges.csv", "states.csv", "--horizon", 5)
    for words in (
        "values on both sides of 0",
        "steps ahead",
        "combination",
        "best simple guess online",
        "persistence",
        "Trained models were not compared: --compare-learned",
        "forecasts of 5 steps, 2021-03-02 to 2021-03-06, written to model.ndcn",
    ):
        assert words in said
    assert not list(files.glob("*checkpoint*"))
    table = pd.read_csv(io.StringIO(out("predict", "model.ndcn")))
    assert list(table.columns) == ["time", "node", "x", "x_lower", "x_upper"]
    assert table["time"].unique().tolist() == [f"2021-03-0{k}" for k in range(2, 7)]
    assert table["node"].tolist()[:12] == sorted(f"n{k}" for k in range(12))
    assert ((table["x_lower"] <= table["x"]) & (table["x"] <= table["x_upper"])).all()
    said = out("predict", "model.ndcn", "--out", "forecast.csv")
    first, medians, last = said.splitlines()
    assert (first, last) == ("5 times from 2021-03-02 to 2021-03-06, 12 nodes: x", "written to forecast.csv")
    assert medians.startswith("values are medians")
    narrow = pd.read_csv(io.StringIO(out("predict", "model.ndcn", "--until", "2021-03-03", "--level", 0.5)))
    assert len(narrow) == 24
    assert ((narrow["x_upper"] - narrow["x_lower"]) < (table["x_upper"] - table["x_lower"])[:24]).all()
    about = json.loads(out("predict", "model.ndcn", "--times", "2021-03-04", "--json"))
    assert about["dates"] == ["2021-03-04"]
    assert about["level"] == 0.9
    assert about["lower"][0][3][0] == pytest.approx(table["x_lower"][2 * 12 + 3])


def test_fit_as_json_and_from_a_folder(files: Path) -> None:
    about = json.loads(out("fit", "edges.csv", "states.csv", "--json"))
    assert about["model"] == "auto"
    assert about["horizon"] == 14
    assert about["snapshots"] == {"train": 60}
    assert {"kind", "table", "kept"} <= about["features"]["x"].keys()
    ndcn.read("edges.csv", "states.csv").trajectory.save("data")
    assert "written to folder.ndcn" in out("fit", "data", "--model", "auto", "--out", "folder.ndcn")
    table = pd.read_csv(io.StringIO(out("predict", "folder.ndcn")))
    assert table["time"].unique().tolist() == list(range(60, 74))
    assert json.loads(out("fit", "data", "--epochs", 2, "--json"))["model"] == "ndcn"  # as ever


def test_trained_models_are_compared_on_request(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "NAMES", ("gru_gnn",))
    monkeypatch.setattr("ndcn.regressor.kinds.forecast.NAMES", ("gru_gnn",))
    monkeypatch.setattr(learned, "EPOCHS", 2)
    about = json.loads(out("fit", "edges.csv", "states.csv", "--horizon", 2, "--compare-learned", "--json"))
    assert "gru_gnn" in [row["name"] for row in about["features"]["x"]["table"]["rows"]]
    said = out("fit", "edges.csv", "states.csv", "--horizon", 2, "--compare-learned")
    assert "\ngru_gnn" in said  # however bad it was
    assert "not compared" not in said


def test_what_is_refused(files: Path) -> None:
    out("fit", "edges.csv", "states.csv", "--horizon", 5)
    two = ("fit", "edges.csv", "states.csv")
    for words, message in (
        ((*two, "--epochs", 5), "`auto` does not use `epochs`; remove it, or name a model that is trained"),
        ((*two, "--resume"), "`auto` does not use `--resume`"),
        ((*two, "--extrapolation", 0.2), "--extrapolation: auto learns from all snapshots"),
        ((*two, "--horizon", 31), "from 1 to 30"),
        ((*two, "--model", "ndcn", "--horizon", 5), "`ndcn` does not use `--horizon`; remove it"),
        ((*two, "--model", "ndcn", "--compare-learned"), "`ndcn` does not use `--compare-learned`"),
        (("predict", "model.ndcn", "--times", "2021-03-20"), "goes from 2021-03-02 to 2021-03-06, and 2021-03-20"),
        (("predict", "model.ndcn", "--until", "2021-02-01"), "nothing about the times of the data themselves"),
        (("predict", "model.ndcn", "--times", "2021-03-02", "--until", "2021-03-04"), "not both"),
        (("predict", "model.ndcn", "--what-if", "remove n1"), "--what-if: this model cannot start from another state"),
        (("predict", "model.ndcn", "--count", 5), "drop it"),
        (("predict", "model.ndcn", "--level", 1.5), "--level must lie between 0 and 1"),
    ):
        assert message in refused(*words)
    ndcn.read("edges.csv", "states.csv").trajectory.save("data")
    assert "--data: this model continues from its own data" in refused("predict", "model.ndcn", "--data", "data")


def test_ctrl_c_leaves_what_was_there(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ndcn.DynamicsRegressor, "fit", stopped)
    assert "model.ndcn was not written" in run("fit", "edges.csv", "states.csv", code=1).stderr
    Path("model.ndcn").write_text("older")
    assert "model.ndcn is as it was" in run("fit", "edges.csv", "states.csv", code=1).stderr
    assert Path("model.ndcn").read_text() == "older"


def test_intervals_of_ensembles(files: Path) -> None:
    out("fit", "edges.csv", "states.csv", "--model", "ndcn", "--epochs", 2, "--ensemble", 2, "--jobs", 1)
    table = pd.read_csv(io.StringIO(out("predict", "model.ndcn", "--times", "2021-01-05", "--level", 0.95)))
    assert list(table.columns) == ["time", "node", "x", "x_std", "x_lower", "x_upper"]
    assert np.allclose(table["x_upper"] - table["x"], 1.96 * table["x_std"], rtol=1e-3)
    assert "say when" in refused("predict", "model.ndcn")
    out("fit", "edges.csv", "states.csv", "--model", "ndcn", "--epochs", 2)
    said = refused("predict", "model.ndcn", "--times", "2021-01-05", "--level", 0.9)
    assert "one model has no spread" in said
    assert "ndcn fit --ensemble 5" in said


def test_unequal_times(files: Path) -> None:
    """Times of the table are as short as those of the data."""
    states = pd.read_csv("states.csv").drop(columns="date")
    states.insert(0, "time", np.cumsum(np.where(np.arange(60) % 10 == 3, 0.3, 0.1)).round(3))
    states.to_csv("states.csv", index=False)
    done = run("fit", "edges.csv", "states.csv", "--horizon", 3)
    assert "times are not equally spaced: values were held on a grid of step 0.1" in done.stderr
    times = pd.read_csv(io.StringIO(out("predict", "model.ndcn")))["time"].unique()
    assert times.tolist() == [7.3, 7.4, 7.5]
    Path("short.csv").write_text("".join(Path("states.csv").read_text().splitlines(keepends=True)[:9]))
    assert "at least 12 snapshots, got 8" in refused("fit", "edges.csv", "short.csv")
    assert "the test needs at least 24 snapshots, got 8" in refused("network-test", "edges.csv", "short.csv")


def test_several_runs_and_variables(files: Path) -> None:
    rows = [
        f"{run},n{k},{t},{t + k + t * t % 7 + t * k % 3},{(7 * t + k) % 5}"
        for run, last in (("A", 20), ("B", 30))
        for t in range(last)
        for k in range(12)
    ]
    Path("states.csv").write_text("run,node,time,a,b\n" + "\n".join(rows) + "\n")
    done = run("fit", "edges.csv", "states.csv", "--horizon", 2)
    assert "2 runs were given, and one is used: B" in done.stderr
    assert "\nb: " in done.stdout
    table = pd.read_csv(io.StringIO(out("predict", "model.ndcn")))
    assert {"a", "b", "a_lower", "a_upper", "b_lower", "b_upper"} <= set(table.columns)
    assert table["time"].unique().tolist() == [30, 31]
    said = out("network-test", "edges.csv", "states.csv", "--shuffles", 19)
    assert "This is about 'a'; 'b' was not tested: name it with feature= (--feature NAME)" in said
    said = out("network-test", "edges.csv", "states.csv", "--shuffles", 19, "--feature", "b")
    assert "This is about 'b'; 'a' was not tested" in said


def test_evaluate_with_what_came_later(files: Path) -> None:
    rows = Path("states.csv").read_text().splitlines(keepends=True)
    Path("early.csv").write_text("".join(rows[:57]))
    Path("late.csv").write_text("".join([rows[0], *rows[40:]]))
    out("fit", "edges.csv", "early.csv", "--horizon", 3)
    about = json.loads(out("evaluate", "model.ndcn", "edges.csv", "states.csv", "--json"))
    assert about["train"] is None
    assert about["extrapolation"]["snapshots"] == 3
    late = json.loads(
        out("evaluate", "model.ndcn", "edges.csv", "late.csv", "--json")
    )  # dates are counted from another day
    for told in (late, about):
        assert told["extrapolation"].pop("mase") > 0  # its scale is that of the past in the file
    assert late["extrapolation"] == pytest.approx(about["extrapolation"])
    assert "no snapshot after 20" in refused("evaluate", "model.ndcn", "edges.csv", "early.csv")
    assert "give a file of states too" in refused("evaluate", "model.ndcn", "edges.csv")
    out("fit", "edges.csv", "early.csv", "--model", "ndcn", "--epochs", 2)
    assert json.loads(out("evaluate", "model.ndcn", "edges.csv", "states.csv", "--json"))["extrapolation"]


def test_network_test(files: Path) -> None:
    said = out("network-test", "edges.csv", "states.csv", "--shuffles", 19, "--horizon", 3, "--out", "picture.png")
    assert "The network matters" in said
    assert "shuffled" in said
    assert Path("picture.png").read_bytes().startswith(b"\x89PNG")
    about = json.loads(out("network-test", "edges.csv", "states.csv", "--shuffles", 19, "--json"))
    assert about["helps"]
    assert about["p_value"] == 0.05
    ndcn.read("edges.csv", "states.csv").trajectory.save("data")
    assert json.loads(out("network-test", "data", "--shuffles", 19, "--json"))["gain"] == pytest.approx(about["gain"])
    for words, message in (
        (["edges.csv"], "give a file of states too"),
        (["nowhere"], "no data folder"),
        (["data", "--horizon", 40], "horizon must be from 1 to 15"),
        (["data", "--shuffles", 5], "--shuffles"),
        (["data", "--feature", "y"], "--feature y: the data have x"),
        (["data", "--period", 50], "period must be at most 30 steps"),
        (["data", "--out", "picture.txt"], "must end in .png"),
    ):
        assert message in refused("network-test", *words)


def test_what_the_values_are_can_be_said_to_every_command_that_asks(files: Path) -> None:
    plain, told = (
        json.loads(out("network-test", "edges.csv", "states.csv", "--shuffles", 19, "--json", *words))
        for words in ((), ("--period", 4))
    )
    assert told["gain"] != plain["gain"]  # fewer lags
    words = ("backtest", "edges.csv", "states.csv", "--origins", 1, "--horizon", 2, "--json")
    once, again = (json.loads(out(*words, *more)) for more in ((), ("--period", 5, "--keep-outliers")))
    assert once["errors"] != again["errors"]
    assert "does not use `--period`" in refused(*words, "--model", "persistence", "--period", 5)
