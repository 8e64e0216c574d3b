"""Models and data that pages are made of, each made once."""

from __future__ import annotations

from functools import cache

import numpy as np
from ndcn.tables import Calendar

import ndcn

SCRIPT = "<script>window.hacked = 1</script>"
HOSTILE = (
    SCRIPT,
    '"><img src=x onerror="window.hacked = 2">',
    "</script><script>window.hacked = 3</script>",
    "<!--<script>",
    "=1+1",
    "Zürich ☃, \"quoted\" & 'more'",
    "{{SCRIPT}}",
)


@cache
def heat() -> tuple[ndcn.DynamicsRegressor, ndcn.Trajectory]:
    """The paper's experiment, 400 nodes and 120 snapshots, hardly trained."""
    graph = ndcn.networks.grid(400)
    times = ndcn.sampling.irregular_times(5.0, seed=0)
    data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
    return ndcn.DynamicsRegressor(epochs=10, seed=0, progress=False).fit(ndcn.split(data, seed=0).train), data


@cache
def classifier() -> ndcn.NodeClassifier:
    """The karate club with two classes and one node of unknown class, calibrated on every third node, names like code."""
    data = ndcn.datasets.karate_club()
    graph = ndcn.Graph(data.graph.to_scipy(), nodes=[*HOSTILE, *(f"n{k}" for k in range(34 - len(HOSTILE)))])
    labels = np.array([SCRIPT, "Officer & more"], dtype=object)[data.labels.numpy()]
    labels[9] = None
    validation = data.test_mask.numpy() & (np.arange(34) % 3 == 1)
    clf = ndcn.NodeClassifier(T=2.0, hidden=8, epochs=60, progress=False)
    return clf.fit(graph, data.features, labels, data.train_mask, validation)


@cache
def hostile() -> tuple[ndcn.DynamicsRegressor, ndcn.Trajectory]:
    """Two features and some entries missing; names of nodes and features that would be taken for code."""
    grid = ndcn.networks.grid(16)
    graph = ndcn.Graph(grid.to_scipy(), nodes=[*HOSTILE, *(f"n{k}" for k in range(16 - len(HOSTILE)))])
    law = ndcn.laws.FitzHughNagumo()
    made = ndcn.simulate(law, graph, law.initial_state(graph), ndcn.sampling.regular_times(4.0, 24))
    mask = made.states.new_ones(made.states.shape).bool()
    mask[5, 3] = mask[9] = False
    names = ("<b>v</b>", "w & more")
    data = ndcn.Trajectory(times=made.times, states=made.states, graph=graph, mask=mask, features=names)
    reg = ndcn.DynamicsRegressor(epochs=5, seed=0, progress=False)
    return reg.fit(ndcn.split(data, seed=3, interpolation=0.25).train), data


@cache
def law() -> tuple[ndcn.DynamicsRegressor, ndcn.Trajectory]:
    """A law that was found, with an equation, f, g and bands."""
    graph = ndcn.networks.grid(16)
    times = ndcn.sampling.regular_times(2.0, 30)
    data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
    return ndcn.DynamicsRegressor("interaction", seed=0).fit(data[:20]), data


@cache
def ensemble() -> ndcn.DynamicsRegressor:
    """Three members; nothing is known of what happened."""
    _, data = law()
    return ndcn.DynamicsRegressor(ensemble=3, epochs=3, seed=0, jobs=1, progress=False).fit(data[:20])


def days(count: int) -> ndcn.Dataset:
    """Days from 2021-03-01 on a ring of towns, three days missing."""
    towns = ["Köln", "Bonn", "Aachen", "Essen", "Hagen"]
    graph = ndcn.Graph.from_edges([(towns[k], towns[k - 1]) for k in range(5)])
    t = np.array([k for k in range(count) if k not in (12, 13, 14)], dtype=float)
    noise = np.random.default_rng(0).normal(0, 1, (count, 5))[: len(t)]
    x = 50 + 10 * np.arange(5) + 2 * t[:, None] + 5 * np.sin(t[:, None] + np.arange(5)) + noise
    run = ndcn.Trajectory(times=t, states=x, graph=graph, features=("cases",))
    return ndcn.Dataset((run,), calendar=Calendar("2021-03-01", "day"))


@cache
def dated() -> tuple[ndcn.DynamicsRegressor, ndcn.Dataset]:
    """A model of dated data, trained on all of them."""
    return ndcn.DynamicsRegressor(epochs=3, seed=0, progress=False).fit(days(40)), days(40)


@cache
def forecast() -> ndcn.DynamicsRegressor:
    """A forecast of dated data, 5 steps beyond the first 40 days."""
    return ndcn.DynamicsRegressor(ndcn.forecast.Auto(horizon=5), seed=0, progress=False).fit(days(40))
