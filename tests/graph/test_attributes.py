"""Attributes of nodes: given, refused, kept."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ndcn

CHAIN = ndcn.Graph.from_edges([("a", "b"), ("b", "c", 2.0)])


@pytest.mark.parametrize(
    "table",
    [
        {"size": [1, np.nan, 3]},
        {"size": {"c": 3, "a": 1}},
        {"size": pd.Series([3, 1], index=["c", "a"])},
        pd.DataFrame({"size": [3.0, 1.0]}, index=["c", "a"]),
        pd.DataFrame({"size": [1.0, None, 3.0]}),
    ],
)
def test_a_table_by_order_or_by_name(table: object) -> None:
    graph = CHAIN.with_attributes(table)
    assert np.array_equal(graph.attributes["size"], [1, np.nan, 3], equal_nan=True)
    assert np.array_equal(graph.attribute("size"), graph.attributes["size"], equal_nan=True)
    assert graph == CHAIN
    assert not graph.attributes["size"].flags.writeable
    more = graph.with_attributes({"age": [1, 2, 3], "size": [0, 0, 0]})
    assert {name: values.tolist() for name, values in more.attributes.items()} == {"size": [0, 0, 0], "age": [1, 2, 3]}


def test_the_degree_is_always_there() -> None:
    assert CHAIN.attribute("degree").tolist() == [1, 3, 2]
    assert CHAIN.attributes == {}
    with pytest.raises(ValueError, match="no attribute 'population', only 'degree': add it by"):
        CHAIN.attribute("population")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"size": [1, 2]}, r"'size' must hold 3 numbers, one for each node, finite or NaN; got shape \(2,\)"),
        ({"size": [1, 2, np.inf]}, "with infinite ones"),
        ({"size": ["large", "small", "large"]}, "'size' must hold a number for each node.*leave out columns of texts"),
        ({"size": {"a": 1, "d": 2}}, "'size' has values for 'd', which is no node of the graph"),
        ({"size": pd.Series([1, 2], index=["a", "a"])}, "'size' has several values for the node 'a'"),
        ({"": [1, 2, 3]}, "an attribute has a name"),
        ([1, 2, 3], "names with a number for each node.*got list"),
    ],
)
def test_what_is_no_attribute_is_refused(table: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        CHAIN.with_attributes(table)


def test_copies_files_and_edits_keep_them(tmp_path: Path) -> None:
    graph = CHAIN.with_attributes({"size": [1, np.nan, 3], "age": [4, 5, 6]}).with_positions(np.eye(3, 2))
    data = ndcn.simulate(ndcn.laws.Heat(), graph, [[1.0], [0.0], [2.0]], [0.0, 0.5, 1.0])
    data.save(tmp_path / "data")
    reg = ndcn.DynamicsRegressor(ndcn.laws.Heat(k=None)).fit(data)
    ndcn.DynamicsRegressor("persistence").fit(data).save(tmp_path / "model.ndcn")
    for other in (
        pickle.loads(pickle.dumps(graph)),
        ndcn.Trajectory.load(tmp_path / "data").graph,
        ndcn.load(tmp_path / "model.ndcn").predict([1.5]).graph,
        data.replaced(states=2 * data.states).graph,
        graph.with_positions(None),
        reg.what_if("shock a +1", [0.5, 1.0]).graph,
    ):
        assert list(other.attributes) == ["size", "age"]
        for name, values in other.attributes.items():
            assert np.array_equal(values, graph.attributes[name], equal_nan=True)
    part = graph.with_adjacency(graph.to_scipy()[[2, 1]][:, [2, 1]], keep=[2, 1])
    assert part.nodes == ("c", "b")
    assert part.attributes["age"].tolist() == [6, 5]
    assert part.positions is not None
    assert part.positions[1].tolist() == [0, 1]
