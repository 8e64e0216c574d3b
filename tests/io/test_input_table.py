"""Tables of inputs: wide and long, with dates and numbers, gaps, wrong names and times."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ndcn
from ndcn.io import read_inputs

EDGES = pd.DataFrame({"source": ["ann", "bob"], "target": ["bob", "cid"]})
DAYS = pd.date_range("2021-03-01", periods=6).astype(str)
STATES = pd.DataFrame({"date": DAYS, "ann": range(6), "bob": range(6, 12), "cid": range(12, 18)})
WEATHER = pd.DataFrame({"date": pd.date_range("2021-02-27", periods=9).astype(str), "rain": np.arange(9.0)})


def test_wide_with_dates() -> None:
    data = ndcn.read(EDGES, STATES, inputs=WEATHER)
    inputs = data.trajectory.inputs
    assert inputs is not None
    assert inputs.names == ("rain",)
    assert inputs["rain"].between == "linear"
    assert inputs.at(0.5)["rain"].item() == 2.5  # two days before the first snapshot it was 0
    assert any("rain, linear between times" in note for note in data.notes)


def test_a_switch_is_held_and_between_overrules() -> None:
    switch = WEATHER.assign(rain=[0, 0, 1, 1, 0, 0, 1, 1, 1])
    run = ndcn.read(EDGES, STATES, inputs=switch).trajectory
    assert run.inputs is not None
    assert run.inputs["rain"].between == "held"
    run = ndcn.read(EDGES, STATES, inputs=switch, between="linear").trajectory
    assert run.inputs is not None
    assert run.inputs["rain"].between == "linear"


def test_long_for_each_node(tmp_path: Path) -> None:
    rows = [
        (day, node, k + 10 * n) for k, day in enumerate(DAYS) for n, node in enumerate(["cid", "ann", "bob", "eve"])
    ]
    pd.DataFrame(rows, columns=["date", "node", "dose"]).to_csv(tmp_path / "doses.csv", index=False)
    data = ndcn.read(EDGES, STATES, inputs=tmp_path / "doses.csv")
    assert data.trajectory.inputs is not None
    assert data.trajectory.inputs.at(1.0)["dose"].tolist() == [11, 21, 1]
    assert any("no nodes of the data are left out: 'eve'" in note for note in data.notes)


def test_gaps_are_bridged_and_said() -> None:
    gappy = WEATHER.assign(rain=[0, 1, np.nan, 3, 4, 5, 6, 7, 8], sun=1.0)
    data = ndcn.read(EDGES, STATES, inputs=gappy)
    assert data.trajectory.inputs is not None
    assert data.trajectory.inputs.at(0.0)["rain"].item() == 2
    assert any("1 cell of 'rain'" in note and "bridged" in note for note in data.notes)
    assert any("'sun' is constant" in note for note in data.notes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t[:5], "'rain' is known until 2021-03-03, and the snapshots go to 2021-03-06"),
        (lambda t: t[3:], "'rain' begins at 2021-03-02, and the snapshots begin at 2021-03-01"),
        (lambda t: pd.concat([t, t[-1:]]), "this time has a row already"),
        (lambda t: t.assign(date=range(9)), "has numbers as times and the states have dates"),
        (lambda t: t.drop(columns="rain"), "no column of numbers besides the times"),
        (lambda t: t.assign(rain=np.nan), "has no numbers"),
        (lambda t: t.assign(node="zoe"), "none of them is a node of the data"),
    ],
)
def test_wrong_tables(change: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ndcn.read(EDGES, STATES, inputs=change(WEATHER))  # type: ignore[operator]


def test_nodes_without_an_input() -> None:
    rows = pd.DataFrame({"date": np.repeat(DAYS, 2), "node": ["ann", "bob"] * 6, "dose": np.arange(12.0)})
    with pytest.raises(ValueError, match="1 node without any value of 'dose': 'cid'"):
        ndcn.read(EDGES, STATES, inputs=rows)


def test_numbers_as_times_and_ready_inputs() -> None:
    states = STATES.assign(date=range(6))
    run = ndcn.read(EDGES, states, inputs=pd.DataFrame({"t": [0, 5], "rain": [0.0, 1.0]}), between="linear").trajectory
    assert run.inputs is not None
    assert run.inputs.end == 5
    ready = ndcn.Inputs([0.0, 5.0], {"rain": [0.0, 1.0]})
    assert ndcn.read(EDGES, states, inputs=ready).trajectory.inputs is ready
    with pytest.raises(ValueError, match="between says what inputs do"):
        ndcn.read(EDGES, states, between="held")
    with pytest.raises(ValueError, match='"held" or "linear"'):
        read_inputs(WEATHER, ["ann"], None, between="cubic")


def test_columns_called_like_nodes_are_pointed_out() -> None:
    data = ndcn.read(EDGES, STATES, inputs=WEATHER.assign(ann=np.arange(9.0) ** 2))
    assert any("columns are called like nodes ('ann')" in note for note in data.notes)
