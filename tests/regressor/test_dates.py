"""Dates everywhere: in times asked for, in tables, in messages; and the same digits in Python and on the command line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import ndcn
from commands import output, refused, run
from ndcn import DynamicsRegressor, Trajectory

EDGES = pd.DataFrame({"source": ["ann", "bob"], "target": ["bob", "cid"]})
DAYS = pd.date_range("2021-03-01", periods=30)
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {"date": DAYS, **{name: 5 + 1e-5 * k + RNG.normal(size=30) for k, name in enumerate(("ann", "bob", "cid"))}}
)
NEXT = ["2021-03-31", "2021-04-02"]
SIZES = {"ann": 1, "bob": 40, "cid": 3000}  # of counts


@pytest.fixture(scope="module")
def data() -> ndcn.Dataset:
    return ndcn.read(EDGES, TABLE)


@pytest.fixture(scope="module")
def auto(data: ndcn.Dataset) -> DynamicsRegressor:
    return DynamicsRegressor(model=ndcn.forecast.Auto(horizon=3)).fit(data)


@pytest.fixture(scope="module")
def trained(data: ndcn.Dataset) -> DynamicsRegressor:
    return DynamicsRegressor(epochs=3).fit(data)


@pytest.mark.parametrize(
    "times", [NEXT, pd.DatetimeIndex(NEXT), [pd.Timestamp(t) for t in NEXT], np.array(NEXT, dtype="datetime64[D]")]
)
def test_models_answer_for_dates(times: object, auto: DynamicsRegressor, trained: DynamicsRegressor) -> None:
    for reg in (auto, trained):
        said = reg.predict(times)
        assert torch.equal(said.states, reg.predict([30.0, 32.0]).states)
        assert said.to_pandas()["time"].dt.strftime("%Y-%m-%d").unique().tolist() == NEXT
        assert said.to_pandas("wide").index[0] == pd.Timestamp(NEXT[0])
        assert said.to_pandas(dates=False)["time"].unique().tolist() == [30.0, 32.0]
        assert "2021-03-31 .. 2021-04-02" in repr(said)
        assert said[:1].to_pandas()["time"].tolist() == [pd.Timestamp(NEXT[0])] * 3
    assert [end.calendar for end in auto.intervals(times)] == [auto.calendar_] * 2
    start = torch.ones(3, 1)
    late = trained.predict(["2021-05-02"], x0=start, t0="2021-05-01")
    assert torch.equal(late.states, trained.predict([62.0], x0=start, t0=61.0).states)
    changed = trained.what_if("remove ann", times, at=pd.Timestamp("2021-03-31"))
    assert changed.to_pandas()["time"].iloc[0] == pd.Timestamp(NEXT[0])


def test_predict_without_times(auto: DynamicsRegressor, trained: DynamicsRegressor, data: ndcn.Dataset) -> None:
    assert auto.predict().times.tolist() == [30.0, 31.0, 32.0]
    assert torch.equal(auto.intervals()[1].states, auto.intervals([30.0, 31.0, 32.0])[1].states)
    assert torch.equal(trained.predict().times, data.trajectory.times)


def test_a_run_alone_keeps_its_dates(data: ndcn.Dataset, tmp_path: Path) -> None:
    run = data.trajectory
    assert "2021-03-01 .. 2021-03-30" in repr(run)
    reg = DynamicsRegressor(epochs=2).fit(run)
    assert reg.predict(["2021-03-05"]).times.tolist() == [4.0]
    run.save(tmp_path / "folder")
    assert torch.equal(Trajectory.load(tmp_path / "folder").times, run.times)
    by_hand = ndcn.Dataset((Trajectory(times=run.times, states=run.states, graph=run.graph),), calendar=data.calendar)
    assert by_hand.trajectory.calendar == data.calendar


def test_messages_have_dates(auto: DynamicsRegressor, trained: DynamicsRegressor, data: ndcn.Dataset) -> None:
    with pytest.raises(ValueError, match=r"2021-02-28 lies before the first date of the data, 2021-03-01"):
        trained.predict(["2021-02-28"])
    with pytest.raises(ValueError, match=r"2021-02-28 lies before the first date of the data, 2021-03-01"):
        trained.predict(pd.DatetimeIndex(["2021-02-28"]))
    with pytest.raises(ValueError, match=r"cannot predict 2021-03-02: the first training time is 2021-03-03"):
        DynamicsRegressor(epochs=2).fit(data.trajectory[2:]).predict(["2021-03-02"])
    with pytest.raises(
        ValueError, match=r"goes from 2021-03-31 to 2021-04-02 \(3 steps of 1 day\), but 2021-04-03 was"
    ):
        auto.predict(["2021-04-03"])
    with pytest.raises(ValueError, match=r"begins only after the last snapshot, from 2021-03-31 .* but 2021-03-05 was"):
        auto.predict(["2021-03-05"])
    steps = DynamicsRegressor(model="gru_gnn", epochs=2).fit(data)
    with pytest.raises(
        ValueError,
        match=r"2021-03-05T12:00:00 is between two steps: .* 2021-03-01 \+ k \* 1 days; ask for 2021-03-05 or",
    ):
        steps.predict(["2021-03-05T12:00"])
    far = TABLE.assign(date=[*DAYS[:-1], pd.Timestamp("2031-01-01")])
    with pytest.raises(ValueError, match="between 2021-03-29 and 2031-01-01: too much"):
        DynamicsRegressor(model="auto").fit(ndcn.read(EDGES, far, unit="day"))


def test_the_table_of_a_forecast(auto: DynamicsRegressor) -> None:
    table = auto.table(level=0.9)
    assert list(table) == ["time", "node", "x", "x_lower", "x_upper"]
    assert table["time"].tolist() == [day for day in pd.date_range("2021-03-31", periods=3) for _ in range(3)]
    assert table["node"].tolist() == ["ann", "bob", "cid"] * 3
    lower, upper = auto.intervals(level=0.9)
    assert table["x_lower"].tolist() == lower.states.flatten().tolist()
    assert table["x_upper"].tolist() == upper.states.flatten().tolist()
    pd.testing.assert_frame_equal(auto.table(), table)
    both = auto.table(NEXT, level=[0.5, 0.9])
    assert list(both) == ["time", "node", "x", "x_lower_50", "x_upper_50", "x_lower_90", "x_upper_90"]
    assert both["x_upper_90"].tolist() == auto.intervals(NEXT)[1].states.flatten().tolist()
    for level, message in (
        ([], "0.9"),
        ([0.5, 0.5], "different ones"),
        (1.0, "between 0 and 1"),
        ([0.5, 2], "between 0 and 1"),
    ):
        with pytest.raises(ValueError, match=message):
            auto.table(level=level)


def test_the_table_of_a_model_without_spread(trained: DynamicsRegressor) -> None:
    assert list(trained.table()) == ["time", "node", "x"]
    assert len(trained.table()) == 90
    assert list(trained.table(["2021-03-05"], x0=torch.ones(3, 1))) == ["time", "node", "x"]
    with pytest.raises(ValueError, match="needs an ensemble"):
        trained.table(level=0.5)


@pytest.mark.parametrize("level", ["0.9", "0.5,0.9"])
def test_python_csv_and_json_have_the_same_digits(
    level: str, auto: DynamicsRegressor, trained: DynamicsRegressor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    levels = [float(word) for word in level.split(",")]
    for name, reg in (("auto", auto), ("trained", trained)):
        reg.save(f"{name}.ndcn")
        asked = ["predict", f"{name}.ndcn", "--times", ",".join(NEXT)]
        asked += ["--level", level] if name == "auto" else []
        table = reg.table(NEXT, **({"level": levels if len(levels) > 1 else levels[0]} if name == "auto" else {}))
        output(*asked, "--out", "table.csv")
        written = pd.read_csv("table.csv", dtype=str)
        shown = pd.read_csv(io.StringIO(run(*asked).stdout), dtype=str)
        pd.testing.assert_frame_equal(written, shown)
        told = json.loads(output(*asked, "--json").splitlines()[-1])
        assert told["dates"] == NEXT
        assert list(written) == list(table)
        assert written["time"].tolist() == table["time"].dt.strftime("%Y-%m-%d").tolist()
        for column in list(table)[2:]:
            word = "states" if column == "x" else column.removeprefix("x_")
            digits = [str(x) for step in told[word] for (x,) in step]
            assert written[column].tolist() == digits == table[column].astype(str).tolist()


def test_levels_that_are_none(auto: DynamicsRegressor, tmp_path: Path) -> None:
    auto.save(tmp_path / "auto.ndcn")
    for level in ("1.5", "0.5,0.5", "high", ""):
        assert "--level must lie between 0 and 1" in refused("predict", tmp_path / "auto.ndcn", "--level", level)
    assert "'2021-02-30' is no date" in refused("predict", tmp_path / "auto.ndcn", "--times", "2021-02-30")


def test_the_forecast_itself_takes_dates(auto: DynamicsRegressor, data: ndcn.Dataset, tmp_path: Path) -> None:
    auto.save(tmp_path / "model.ndcn")
    alone = ndcn.forecast.auto(data, horizon=3)
    for found in (auto.forecast_, ndcn.load(tmp_path / "model.ndcn").forecast_, alone):
        for ask in (found.predict, found.mean, found.deviation):
            said = ask([NEXT[0], pd.Timestamp(NEXT[1])])
            assert torch.equal(said.states, ask([30.0, 32.0]).states)
            assert said.to_pandas()["time"].iloc[0] == pd.Timestamp(NEXT[0])
        assert repr(found) == "Forecast(3 steps of 3 nodes, 1 feature, 2021-03-31 .. 2021-04-02)"
    with pytest.raises(ValueError, match=r"goes from 2021-03-31 to 2021-04-02 .* but 2021-06-01 was asked for"):
        alone.mean(["2021-06-01"])


def test_a_forecast_is_scored_on_later_snapshots_only(auto: DynamicsRegressor, data: ndcn.Dataset) -> None:
    with pytest.raises(
        ValueError, match=r"nothing about the snapshots that it was made from, up to 2021-03-30.*backtest"
    ):
        auto.score(data)
    run = data.trajectory
    both = run.replaced(times=torch.arange(32.0), states=torch.cat([run.states, run.states[:2]]), mask=None)
    with pytest.raises(ValueError, match=r"2 of these are later: give them alone, as run\[30:\]"):
        auto.score(both)
    assert auto.score(both[30:]) < 1


def test_counts_look_like_counts_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    EDGES.to_csv("edges.csv", index=False)
    few = {name: np.random.default_rng(k).poisson(size, 40) for k, (name, size) in enumerate(SIZES.items())}
    pd.DataFrame({"date": pd.date_range("2021-03-01", periods=40), **few}).to_csv("states.csv", index=False)
    output("fit", "edges.csv", "states.csv", "--horizon", 3)
    said = output("predict", "model.ndcn", "--mean", "--out", "forecast.csv")
    assert said.count("medians") == 1
    text, table = Path("forecast.csv").read_text(), pd.read_csv("forecast.csv")
    assert list(table) == ["time", "node", "x", "x_mean", "x_lower", "x_upper"]
    assert ".0," not in text
    assert ".0\n" not in text
    assert table["x_lower"].dtype.kind == table["x_upper"].dtype.kind == "i"
    assert np.array_equal((10 * table["x"]).round() / 10, table["x"])
    assert ((table["x_lower"] <= table["x"]) & (table["x"] <= table["x_upper"])).all()
    reg = ndcn.load("model.ndcn")
    assert np.array_equal(reg.table()[["x", "x_lower", "x_upper"]], table[["x", "x_lower", "x_upper"]])
    assert np.array_equal(reg.forecast_.mean(table["time"].unique()).states.flatten(), table["x_mean"])
    told = json.loads(output("predict", "model.ndcn", "--mean", "--json"))
    assert np.array_equal(np.ravel(told["states"]), table["x"])
    assert np.array_equal(np.ravel(told["mean"]), table["x_mean"])
    output("fit", "edges.csv", "states.csv", "--model", "persistence")
    assert "--mean: only the median and the mean of a forecast" in refused("predict", "model.ndcn", "--mean")
