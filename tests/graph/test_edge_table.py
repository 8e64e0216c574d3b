"""Edge tables: every way to list edges, and what is wrong with a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given

from ndcn import Graph
from strategies import graphs

TRIANGLE = np.array([[0, 1], [1, 2], [0, 2]])


@pytest.mark.parametrize(
    "edges",
    [
        TRIANGLE,
        TRIANGLE.astype(float),
        torch.from_numpy(TRIANGLE),
        TRIANGLE.tolist(),
        (tuple(row) for row in TRIANGLE),
        np.column_stack([TRIANGLE, np.ones(3)]),
        pd.DataFrame(TRIANGLE, columns=["source", "target"]),
        pd.DataFrame(TRIANGLE, columns=["from", "to"]),
        pd.DataFrame({"weight": 1, "target": TRIANGLE[:, 1], "source": TRIANGLE[:, 0]}),
        pd.DataFrame({"source": [0, 1, 0], "target": pd.array([1, 2, 2], dtype="Int64")}),
    ],
    ids=[
        "array",
        "floats",
        "tensor",
        "lists",
        "generator",
        "weights",
        "table",
        "names",
        "columns in any order",
        "nullable",
    ],
)
def test_every_way_to_list_the_same_edges(edges: object) -> None:
    assert Graph.from_edges(edges) == Graph.from_dense(1 - np.eye(3))


def test_a_directed_row_acts_from_source_on_target() -> None:
    graph = Graph.from_edges([(0, 1, 5.0)], directed=True)
    assert graph.to_dense().tolist() == [[0, 0], [5, 0]]


def test_labels_are_sorted_and_weights_default_to_one() -> None:
    graph = Graph.from_edges([("c", "a", -2.0), ("b", "c")])
    assert graph.nodes == ("a", "b", "c")
    assert graph.to_dense().tolist() == [[0, 0, -2], [0, 0, 1], [-2, 1, 0]]


@pytest.mark.parametrize(
    ("edges", "nodes"),
    [
        ([((1, 0), (0, 1)), ((0, 1), (0, 0))], ((0, 0), (0, 1), (1, 0))),
        ([("b", 2), (1, "a")], ("b", 1, 2, "a")),
        ([("a", 1), (1, (2, 3))], ("a", 1, (2, 3))),
    ],
    ids=["tuples", "text and numbers", "three kinds"],
)
def test_labels_of_any_kind(edges: list, nodes: tuple) -> None:
    assert Graph.from_edges(edges).nodes == nodes
    graph = Graph.from_edges(edges, nodes=nodes)
    assert list(graph.nodes) == list(nodes)
    assert all(graph.to_dense()[nodes.index(v), nodes.index(u)] == 1 for u, v in edges)


def test_nodes_give_the_order_and_those_without_edges() -> None:
    graph = Graph.from_edges([("a", "b")], nodes=["z", "b", "a"])
    assert graph.nodes == ("z", "b", "a")
    assert graph.to_dense().tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]


def test_no_edges_but_nodes() -> None:
    assert Graph.from_edges([], nodes=["a", "b"]).num_edges == 0
    assert Graph.from_edges([], num_nodes=3).num_nodes == 3


@given(graphs(directed=False))
def test_both_directions_may_be_listed(graph: Graph) -> None:
    i, j = (part.numpy() for part in graph.edge_index())
    table = pd.DataFrame({"source": j, "target": i, "weight": graph.to_dense()[i, j].numpy()})
    assert Graph.from_edges(table, num_nodes=graph.num_nodes) == graph


def test_directions_that_disagree_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"1 edges have another weight in each direction, .* 'a' and 'b'; use directed"
    ):
        Graph.from_edges([("a", "b", 1.0), ("b", "a", 2.0), ("a", "c")])
    with pytest.raises(ValueError, match="between 0 and 1;"):
        Graph.from_edges([(0, 1, 1.0), (1, 0, 2.0)], num_nodes=2)


@pytest.mark.parametrize(("duplicates", "weight"), [("sum", 3), ("first", 1)])
@pytest.mark.parametrize("directed", [True, False])
def test_repeated_edges(duplicates: str, weight: float, directed: bool) -> None:
    graph = Graph.from_edges([(0, 1, 1.0), (0, 1, 2.0), (1, 2)], duplicates=duplicates, directed=directed)
    assert graph.to_dense()[1, 0] == weight
    assert graph.to_dense()[2, 1] == 1


def test_repeated_edges_are_refused_by_default() -> None:
    with pytest.raises(ValueError, match="1 edges are listed more than once, the first is 'a' to 'b'; use duplicates="):
        Graph.from_edges([("a", "b"), ("a", "b")])
    with pytest.raises(ValueError, match="the first is 0 to 1;"):
        Graph.from_edges([(0, 1), (0, 1)], num_nodes=2)


@pytest.mark.parametrize("weight", [np.nan, np.inf, None])
@pytest.mark.parametrize("duplicates", ["error", "sum", "first"])
def test_weights_that_are_not_finite_are_refused_and_never_summed_away(weight: float, duplicates: str) -> None:
    rows = [("a", "b", weight), ("b", "a", 1.0), ("b", "c", 1.0)]
    with pytest.raises(ValueError, match="1 edge weights are NaN or infinite, the first from 'a' to 'b'; drop"):
        Graph.from_edges(pd.DataFrame(rows), duplicates=duplicates)


@pytest.mark.parametrize(
    ("edges", "arguments", "message"),
    [
        ([(0, 1)], {"duplicates": "last"}, '"error", "sum" or "first", got \'last\''),
        ([(0, 1)], {"num_nodes": 2, "nodes": [0, 1]}, "not both"),
        ([(0, 2)], {"num_nodes": 2}, "name node 2, but num_nodes=2"),
        ([(0, -1)], {"num_nodes": 2}, "name node -1, but num_nodes=2"),
        ([("a", "b")], {"num_nodes": 2}, "but they are of type object"),
        ([("a", "x"), ("y", "a")], {"nodes": ["a", "b"]}, "2 labels in the edge table are not in nodes: 'y', 'x'"),
        ([("a", "b")], {"nodes": ["a", "b", "a"]}, "'a' occurs more than once"),
        ([(0, 1, 2, 3)], {}, r"an edge is \(source, target\) or \(source, target, weight\), got \(0, 1, 2, 3\)"),
        ([("a", None)], {}, "the target of 1 edges is missing, first in row 0"),
        ([("a", "b", "heavy")], {}, "edge weights must be numbers: .*heavy"),
        (np.zeros((2, 4)), {}, r"shape \(E, 2\) or \(E, 3\), got \(2, 4\)"),
        (np.array([[0.5, 1]]), {}, "must be whole numbers"),
        (
            pd.DataFrame({"source": [0], "target": [1], "strength": [2.0]}),
            {},
            r"also has \['strength'\]; rename 'strength' to \"weight\" if .* or pass table\[\['source', 'target'\]\]",
        ),
        (
            pd.DataFrame({"source": [0], "target": [1], "weight": [2.0], "colour": ["red"]}),
            {},
            r"also has \['colour'\]; pass table\[\['source', 'target', 'weight'\]\]",
        ),
        (
            pd.DataFrame({"source": [0], "target": [1], "weight": pd.to_datetime(["2020-01-01"])}),
            {},
            "edge weights must be real numbers, got datetime64",
        ),
        (pd.DataFrame(np.zeros((1, 4)), columns=list("abcd")), {}, r"source, target .* this one has \['a', 'b'"),
    ],
)
def test_bad_tables(edges: object, arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Graph.from_edges(edges, **arguments)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("duplicates", ["sum", "first"])
def test_many_repeated_edges_against_pandas(directed: bool, duplicates: str) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"source": rng.integers(30, size=2000), "target": rng.integers(30, size=2000)})
    if not directed:
        table = table[table.source <= table.target]
    table["weight"] = rng.integers(1, 9, size=len(table))  # whole numbers: sums are exact
    groups = table.groupby(["source", "target"], sort=False).weight
    expected = np.zeros((30, 30))
    for (u, v), weight in (groups.sum() if duplicates == "sum" else groups.first()).items():
        expected[v, u] = weight
        if not directed:
            expected[u, v] = weight
    graph = Graph.from_edges(table, num_nodes=30, directed=directed, duplicates=duplicates)
    assert np.array_equal(graph.to_dense(), expected)


def test_the_first_repeated_edge_is_that_of_the_table() -> None:
    with pytest.raises(ValueError, match="2 edges are listed more than once, the first is 8 to 9;"):
        Graph.from_edges([(8, 9), (8, 9), (0, 1), (0, 1)])


def test_positions_of_any_integer_type() -> None:
    big = np.array([[2**31 - 1, 0], [2**31 - 2, 2**31 - 1]], dtype=np.uint64)
    for edges in (big % 7, (big % 7).astype(np.int8)):
        assert Graph.from_edges(edges, num_nodes=7) == Graph.from_edges((big % 7).tolist(), num_nodes=7)
