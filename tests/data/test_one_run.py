"""A Dataset wherever a Trajectory is taken; with several runs, a message that says what to give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import ndcn
from ndcn import Dataset, Graph, GraphSequence, Trajectory, forecast, metrics, plot
from ndcn.data import Calendar

GRAPH = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")])
STATES = np.cumsum(np.random.default_rng(0).normal(size=(30, 4)), axis=0)
RUN = Trajectory(times=np.arange(30.0), states=STATES, graph=GRAPH)
ONE = Dataset((RUN,), calendar=Calendar("2021-03-01"))
TWO = Dataset((RUN, RUN), names=("first", "second"))

USES: list[Callable[[Any], Any]] = [
    lambda data: forecast.auto(data, horizon=2),
    lambda data: forecast.network_test(data, shuffles=19),
    ndcn.split,
    lambda data: metrics.l1(data, data),
    lambda data: metrics.normalized_l1(data, data),
    lambda data: metrics.r2(data, data),
    lambda data: metrics.per_node(data, data),
    lambda data: metrics.mase(data, data, data),
    lambda data: metrics.coverage(data, data, data),
    plot.trajectories,
    lambda data: plot.trajectories(RUN, prediction=data),
    lambda data: plot.compare(data, data),
    lambda data: plot.error_over_time(data, data),
    lambda data: plot.heat_map(data, 1.0),
    plot.network,
]


@pytest.mark.parametrize("use", USES)
def test_a_dataset_with_one_run_is_taken_and_several_are_refused(use: Callable[[Any], Any]) -> None:
    assert use(ONE) is not None
    with pytest.raises(
        ValueError, match=r"needs one run, and these data have 2 \('first', 'second'\): give one, as data.runs"
    ):
        use(TWO)


@pytest.mark.parametrize("use", [*USES[:4], plot.trajectories])
def test_something_else_is_refused(use: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=r"expected an ndcn.Trajectory.*got list"):
        use([1, 2])


def test_parts_keep_their_dates_and_graphs_that_change_are_not_split() -> None:
    parts = ndcn.split(ONE)
    assert all(part.calendar == ONE.calendar for part in parts)
    assert torch.equal(parts.train.times, ndcn.split(RUN).train.times)
    with pytest.raises(ValueError, match="the graph of these data changes"):
        ndcn.split(Dataset((RUN,), graphs=GraphSequence([0.0, 5.0], [GRAPH, GRAPH])))


def test_a_forecast_uses_the_graphs_of_the_dataset() -> None:
    other = Graph.from_edges([("a", "d"), ("b", "c")], nodes=GRAPH.nodes)
    graphs = GraphSequence([0.0, 10.0], [other, GRAPH])
    found = forecast.auto(Dataset((RUN,), graphs=graphs), horizon=2)
    assert np.array_equal(found.path, forecast.auto(RUN, graphs=graphs, horizon=2).path)
