"""Trajectories as pandas tables and xarray arrays: round trips and bad tables."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, strategies as st

from ndcn import Graph, Trajectory
from problems import trajectory
from strategies import graphs

PAIR = Graph.from_edges([("a", "b")])
TABLE = pd.DataFrame({"time": [0.0, 0.0, 1.0], "node": ["a", "b", "a"], "x": [1.0, 2.0, 3.0]})

LABELLED = {
    "positions": Graph.from_edges([(0, 1)]),
    "text": PAIR,
    "integers": Graph.from_edges([(20, 10)], nodes=[20, 10]),
    "tuples": Graph.from_edges([((0, 0), (0, 1))]),
    "uneven tuples": Graph.from_edges([((0,), (0, 1))], nodes=[(0,), (0, 1)]),
    "mixed": Graph.from_edges([("a", (0, 1))], nodes=["a", (0, 1)]),
}


def _same(one: Trajectory, other: Trajectory) -> None:
    assert torch.equal(one.times, other.times)
    torch.testing.assert_close(one.states, other.states, rtol=0, atol=0, equal_nan=True)
    assert one.graph == other.graph
    assert (one.mask is None) == (other.mask is None)


# pandas -------------------------------------------------------------------------------------------------------------


def test_long_and_wide_layouts() -> None:
    data = Trajectory(times=[0, 1], states=[[[1, 2], [3, 4]], [[5, 6], [7, 8]]], graph=PAIR, features=["u", "v"])
    long = {"time": [0, 0, 1, 1], "node": list("abab"), "u": [1, 3, 5, 7], "v": [2, 4, 6, 8]}
    pd.testing.assert_frame_equal(data.to_pandas(), pd.DataFrame(long), check_dtype=False)
    wide = data.to_pandas("wide")
    assert wide.columns.tolist() == [("a", "u"), ("a", "v"), ("b", "u"), ("b", "v")]
    assert wide.to_numpy().tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert wide.index.tolist() == [0, 1]


@pytest.mark.parametrize("labels", LABELLED)
@pytest.mark.parametrize("layout", ["long", "wide"])
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("missing", [False, True])
def test_round_trip(labels: str, layout: str, d: int, missing: bool) -> None:
    data = trajectory(LABELLED[labels], d=d, missing=missing)
    back = Trajectory.from_pandas(data.to_pandas(layout), data.graph, layout=layout)
    _same(back, data)
    assert back.features == data.features


@given(graph=graphs(labelled=True), data=st.data())
def test_rows_come_in_any_order(graph: Graph, data: st.DataObject) -> None:
    truth = trajectory(graph, T=3, d=2, missing=True) if graph.num_nodes > 2 else trajectory(graph, T=3, d=2)
    table = truth.to_pandas().sample(frac=1, random_state=data.draw(st.integers(0, 99)))
    _same(Trajectory.from_pandas(table, graph), truth)


def test_float64_stays_and_everything_else_is_float32() -> None:
    for values, dtype in (
        ([1.0, 2.0, 3.0], torch.float64),
        ([1, 2, 3], torch.float32),
        (np.ones(3, dtype=np.float32), torch.float32),
        (pd.array([1.0, 2.0, None], dtype="Float64"), torch.float64),
        (pd.array([1, 2, None], dtype="Int64"), torch.float32),
    ):
        assert Trajectory.from_pandas(TABLE.assign(x=values), PAIR).states.dtype == dtype


def test_absent_rows_are_missing() -> None:
    data = Trajectory.from_pandas(TABLE, PAIR)
    assert data.mask.flatten().tolist() == [True, True, True, False]
    assert data.states[1, 1].isnan()


def test_columns_of_other_names() -> None:
    table = TABLE.rename(columns={"time": "hour", "node": "city", "x": 7})
    data = Trajectory.from_pandas(table, PAIR, time="hour", node="city")
    assert data.features == ("7",)
    assert data.states[0].flatten().tolist() == [1, 2]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (TABLE.drop(columns="time"), r"no column 'time'; its columns are \['node', 'x'\]"),
        (TABLE.drop(columns="node"), "no column 'node'"),
        (TABLE.drop(columns="x"), "no column of values beside 'time' and 'node'"),
        (TABLE.replace("b", "z"), "1 nodes of the table are not in the graph: 'z'"),
        (pd.concat([TABLE, TABLE[2:]]), "node 'a' occurs 2 times at time 1; keep one row each"),
        (TABLE.assign(x=["1", "2", "three"]), "times and values must be numbers: .*three"),
        (TABLE.assign(time=[0, None, 1]), "the time is missing in row 1"),
        (TABLE.assign(time=[-1, -1, 0]), "times must be >= 0"),
        (TABLE.assign(x=[1, np.inf, 1]), "NaN or infinite"),
        (TABLE[:0], "at least one number"),
        (TABLE.assign(x=[1, 1j, 1]), "numbers, but column 'x' holds complex128; keep real and imaginary part"),
        (TABLE.assign(x=pd.Timestamp("2020-01-01")), "numbers, but column 'x' holds datetime64"),
        (TABLE.assign(time=[0, 1j, 1]), "times must be real numbers, but these are complex"),
    ],
)
def test_bad_tables(table: pd.DataFrame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Trajectory.from_pandas(table, PAIR)


DATES = {
    "dates": pd.to_datetime(["2020-01-01", "2020-01-01", "2020-01-03"]),
    "zones": pd.to_datetime(["2020-01-01", "2020-01-01", "2020-01-03"]).tz_localize("Europe/Rome"),
    "durations": pd.to_timedelta([0, 0, 2], unit="D"),
}


@pytest.mark.parametrize("kind", DATES)
def test_dates_are_refused_with_a_way_to_numbers(kind: str) -> None:
    table = TABLE.assign(time=DATES[kind])
    with pytest.raises(ValueError, match=r"times must be numbers, .* for days: \(table\['time'\] - ") as caught:
        Trajectory.from_pandas(table, PAIR)
    days = eval(str(caught.value).split("for days: ")[1], {"table": table, "pandas": pd})
    assert Trajectory.from_pandas(table.assign(time=days), PAIR).times.tolist() == [0, 2]


@pytest.mark.parametrize("kind", DATES)
@pytest.mark.parametrize("d", [1, 2])
def test_dates_are_refused_in_a_wide_table_too(kind: str, d: int) -> None:
    wide = trajectory(PAIR, T=2, d=d).to_pandas("wide").set_index(DATES[kind][1:])
    with pytest.raises(ValueError, match=r"times must be numbers, .* for days: \(table.index - ") as caught:
        Trajectory.from_pandas(wide, PAIR, layout="wide")
    days = eval(str(caught.value).split("for days: ")[1], {"table": wide, "pandas": pd})
    assert Trajectory.from_pandas(wide.set_index(days), PAIR, layout="wide").times.tolist() == [0, 2]


def test_unknown_layouts() -> None:
    with pytest.raises(ValueError, match='layout must be "long" or "wide", got \'tall\''):
        trajectory(PAIR).to_pandas("tall")
    with pytest.raises(ValueError, match='layout must be "long" or "wide", got \'tall\''):
        Trajectory.from_pandas(TABLE, PAIR, layout="tall")


# xarray -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", LABELLED)
@pytest.mark.parametrize("missing", [False, True])
def test_xarray_round_trip(labels: str, missing: bool) -> None:
    pytest.importorskip("xarray")
    data = trajectory(LABELLED[labels], d=2, missing=missing)
    array = data.to_xarray()
    assert array.dims == ("time", "node", "feature")
    back = Trajectory.from_xarray(array.transpose("feature", "node", "time"), data.graph)
    _same(back, data)
    assert back.features == data.features


def test_xarray_in_another_order_and_without_features() -> None:
    xr = pytest.importorskip("xarray")
    array = xr.DataArray([[1.0, 2.0]], dims=("time", "node"), coords={"time": [0], "node": ["b", "a"]})
    data = Trajectory.from_xarray(array, PAIR)
    assert data.states.flatten().tolist() == [2, 1]
    assert data.features == ("x",)
    unnamed = xr.DataArray(np.ones((1, 2, 2)), dims=("time", "node", "feature"))
    assert Trajectory.from_xarray(unnamed, LABELLED["positions"]).features == ("x1", "x2")


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (["a", "c"], "node 'b' of the graph is not in the array"),
        (["a", "b", "c"], "node 'c' of the array is not in the graph"),
        (["a", "b", "b"], "node 'b' occurs more than once in the array"),
    ],
)
def test_xarray_nodes_must_be_those_of_the_graph(nodes: list[str], message: str) -> None:
    xr = pytest.importorskip("xarray")
    array = xr.DataArray(np.ones((1, len(nodes))), dims=("time", "node"), coords={"time": [0], "node": nodes})
    with pytest.raises(ValueError, match=message):
        Trajectory.from_xarray(array, PAIR)


def test_xarray_times_must_be_numbers() -> None:
    xr = pytest.importorskip("xarray")
    coords = {"time": np.array(["2020-01-01"], dtype="datetime64[ns]"), "node": ["a", "b"]}
    with pytest.raises(ValueError, match=r"times must be numbers .* dates or durations; turn them into numbers"):
        Trajectory.from_xarray(xr.DataArray(np.ones((1, 2)), dims=("time", "node"), coords=coords), PAIR)


def test_xarray_dimensions_must_fit() -> None:
    xr = pytest.importorskip("xarray")
    with pytest.raises(
        ValueError, match=r"needs dimensions time, node and perhaps feature; it has \('time', 'place'\)"
    ):
        Trajectory.from_xarray(xr.DataArray(np.ones((1, 2)), dims=("time", "place")), PAIR)


def test_without_xarray_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ImportError, match=r"pip install 'ndcn\[xarray\]'"):
        trajectory(PAIR).to_xarray()
