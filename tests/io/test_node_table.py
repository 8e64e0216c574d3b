from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ndcn

EDGES = pd.DataFrame({"source": ["a", "b", "c"], "target": ["b", "c", "d"]})
STATES = pd.DataFrame({"date": ["2021-03-01", "2021-03-02"], "a": [1, 2], "b": [3, 4], "c": [5, 6], "d": [7, 8]})


def read(nodes: Any) -> ndcn.Dataset:
    return ndcn.read(EDGES, STATES, nodes=nodes)


@pytest.mark.parametrize("names", [("lat", "lon"), ("Latitude", "LNG"), ("latitude", "longitude")])
def test_degrees_are_found_in_any_order_and_other_numbers_are_attributes(
    names: tuple[str, str], tmp_path: Path
) -> None:
    north, east = names
    table = pd.DataFrame({"people": [9, 8, 7, 6], north: [60, 61, 59, 60], east: [5, 6, 7, 8], "name": list("cabd")})
    table.to_csv(tmp_path / "nodes.csv", index=False)
    data = read(tmp_path / "nodes.csv")
    assert data.trajectory.graph.positions is not None
    assert data.trajectory.graph.positions[:, 1].tolist() == [61, 59, 60, 60]
    assert data.trajectory.graph.positions[:, 0] == pytest.approx(np.array([6, 7, 5, 8]) * np.cos(np.radians(60)))
    assert any("placed by columns" in note for note in data.notes)
    assert data.trajectory.graph.attributes["people"].tolist() == [8, 7, 9, 6]
    assert any("attributes of nodes are 'people'" in note for note in data.notes)


def test_attributes_need_no_coordinates_and_may_have_gaps() -> None:
    table = pd.DataFrame({"node": list("cab"), "people": [9, None, 7], "mayor": ["x", "y", "z"], "area": [1.5, 2, 3]})
    table.loc[3] = ["zoe", 5, "x", 4]
    data = read(table)
    assert any("1 name that is no node of the data is left out: 'zoe'" in note for note in data.notes)
    graph = data.trajectory.graph
    assert graph.positions is None
    assert np.array_equal(graph.attributes["people"], [np.nan, 7, 9, np.nan], equal_nan=True)
    assert np.array_equal(graph.attributes["area"], [2, 3, 1.5, np.nan], equal_nan=True)
    assert any("'people' is not known of 2 nodes: 'a', 'd'" in note for note in data.notes)
    assert any("columns without numbers are not used ('mayor')" in note for note in data.notes)


def test_plane_coordinates_stay_as_they_are_and_some_may_be_missing() -> None:
    data = read(pd.DataFrame({"node": ["a", "c", "stranger"], "x": [1000.0, 2000.0, 0.0], "y": [5.0, None, 0.0]}))
    assert np.array_equal(data.trajectory.graph.positions, [[1000, 5], *[[np.nan, np.nan]] * 3], equal_nan=True)
    assert any("3 nodes without coordinates, drawn near neighbours: 'b', 'c', 'd'" in note for note in data.notes)


def test_numbers_may_name_nodes() -> None:
    edges, states = pd.DataFrame({"source": [1, 2], "target": [2, 3]}), STATES[["date", "a", "b", "c"]]
    data = ndcn.read(
        edges,
        states.set_axis(["date", "1", "2", "3"], axis=1),
        nodes=pd.DataFrame({"id": [3, 1, 2], "x": [3.0, 1, 2], "y": 0.0}),
    )
    assert data.trajectory.graph.positions is not None
    assert data.trajectory.graph.positions[:, 0].tolist() == [1, 2, 3]


def test_graphs_that_change_are_all_placed() -> None:
    edges = EDGES.assign(date=["2021-03-01", "2021-03-01", "2021-03-02"])
    data = ndcn.read(edges, STATES, nodes=pd.DataFrame({"node": list("abcd"), "x": range(4), "y": range(4)}))
    assert data.graphs is not None
    assert all(graph.positions is not None for graph in data.graphs.graphs)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            {"node": ["a"], "mayor": ["Ann"]},
            "neither coordinates nor other numbers of nodes: call two columns lat and lon .* its columns are 'node', 'mayor'",
        ),
        ({"node": ["A", "B"], "x": [1, 2], "y": [1, 2]}, "none of its names is a node of the data; they are 'A', 'B'"),
        ({"node": ["a", "a"], "x": [1, 2], "y": [1, 2]}, "'a' has a row already"),
        ({"node": ["a", "b"], "lat": [1, 5300000], "lon": [1, 2]}, "degrees lie between -90 and 90; rename columns"),
        ({"node": ["a", None], "x": [1, 2], "y": [1, 2]}, "must name a node and is empty"),
        ({"node": ["a", "b"], "people": [1, np.inf]}, "column 'people' is infinite; leave unknown cells empty"),
    ],
)
def test_tables_that_cannot_be_used_say_what_to_do(table: dict[str, list[Any]], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read(pd.DataFrame(table))
