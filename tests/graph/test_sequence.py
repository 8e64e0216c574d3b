"""Graphs that change at known times."""

from __future__ import annotations

import pickle

import pytest
import torch

from ndcn import Graph
from ndcn.graph.sequence import GraphSequence

FIRST = Graph.from_edges([(0, 1)], num_nodes=3)
SECOND = Graph.from_edges([(1, 2)], num_nodes=3)


@pytest.fixture
def changing() -> GraphSequence:
    return GraphSequence([1.0, 2.0], [FIRST, SECOND])


@pytest.mark.parametrize(("t", "graph"), [(-5, FIRST), (1, FIRST), (1.999, FIRST), (2, SECOND), (99, SECOND)])
def test_the_graph_at_a_time(changing: GraphSequence, t: float, graph: Graph) -> None:
    assert changing.at(t) is graph


def test_what_it_holds(changing: GraphSequence) -> None:
    assert len(changing) == 2
    assert changing.last is SECOND
    assert changing.times.dtype == torch.float64
    assert repr(changing) == "GraphSequence(2 graphs of 3 nodes, from t = 1 .. 2)"


def test_it_is_frozen_and_survives_a_copy(changing: GraphSequence) -> None:
    with pytest.raises(AttributeError, match="frozen"):
        changing.graphs = ()
    again = pickle.loads(pickle.dumps(changing))
    assert again == changing
    assert hash(again) == hash(changing)
    assert changing != GraphSequence([1.0], [FIRST])


@pytest.mark.parametrize(
    ("times", "graphs", "message"),
    [
        ([], [], "at least one"),
        ([1.0], [FIRST, SECOND], "one time for each graph"),
        ([2.0, 1.0], [FIRST, SECOND], "strictly increasing"),
        ([1.0, 1.0], [FIRST, SECOND], "strictly increasing"),
        ([1.0, float("nan")], [FIRST, SECOND], "finite"),
        ([1.0, 2.0], [FIRST, Graph.from_edges([(0, 1)])], "graph 1 has other nodes"),
    ],
)
def test_what_it_refuses(times: list[float], graphs: list[Graph], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GraphSequence(times, graphs)


def test_only_graphs() -> None:
    with pytest.raises(TypeError, match="Graph objects"):
        GraphSequence([1.0], ["a"])
