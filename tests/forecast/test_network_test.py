"""Does the network matter? Yes where it was put in, no where it was not."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from scipy import sparse

import ndcn
from ndcn import forecast
from ndcn.forecast import NetworkTest
from ndcn.graph.sequence import GraphSequence
from places import SHARED


def ring(n: int) -> ndcn.Graph:
    return ndcn.Graph.from_edges([(i, (i + 1) % n) for i in range(n)], num_nodes=n)


def coupled(graph: ndcn.Graph, coupling: float, seed: int, T: int = 80, common: float = 0.3) -> ndcn.Trajectory:
    """x_i <- 0.8 x_i + coupling (mean of neighbours - x_i) + common factor + noise."""
    rng = np.random.default_rng(seed)
    A = graph.to_scipy()
    mean = sparse.diags_array(1 / np.maximum(np.asarray(A.sum(axis=1)).ravel(), 1e-12)) @ A
    x, rows, factor = np.zeros(graph.num_nodes), [], 0.0
    for _ in range(T + 20):
        factor = 0.8 * factor + common * rng.normal()
        x = 0.8 * x + coupling * (mean @ x - x) + factor + rng.normal(size=graph.num_nodes)
        rows.append(x)
    return ndcn.Trajectory(times=np.arange(T) * 1.0, states=np.array(rows[20:]), graph=graph)


def test_a_diffusion_is_found() -> None:
    found = forecast.network_test(coupled(ring(40), 0.3, seed=0), shuffles=19)
    assert found.helps
    assert found.p_value == 0.05
    assert found.gain > 0.01
    assert found.sentence.startswith("The network matters:")
    assert found.own[0] > found.network[0]


def test_independent_nodes_have_no_network() -> None:
    found = forecast.network_test(coupled(ring(40), 0.0, seed=1), shuffles=19)
    assert not found.helps
    assert "does not matter here" in found.sentence


def test_another_graph_than_the_true_one_is_not_found() -> None:
    true = coupled(ring(40), 0.3, seed=2)
    order = np.random.default_rng(0).permutation(40)
    wrong = ndcn.Graph.from_edges([(int(order[i]), int(order[(i + 1) % 40])) for i in range(40)], num_nodes=40)
    data = ndcn.Trajectory(times=true.times, states=true.states, graph=wrong)
    assert not forecast.network_test(data, shuffles=19).helps


def test_graphs_in_force_are_used() -> None:
    """The same data with the true graphs given one by one: the same answer as with one graph."""
    data = coupled(ring(20), 0.3, seed=3, T=40)
    one = forecast.network_test(data, shuffles=19)
    many = forecast.network_test(data, shuffles=19, graphs=GraphSequence(data.times, [data.graph] * 40))
    np.testing.assert_allclose(many.network, one.network, rtol=1e-9)
    np.testing.assert_allclose(many.shuffled, one.shuffled, rtol=1e-9)


def test_p_value_is_that_of_ranks() -> None:
    found = NetworkTest((1,), (1.0,), (1.0,), (0.9,), tuple((e,) for e in (0.8, 0.9, 0.95, *[1.0] * 16)), 0)
    assert found.p_value == 3 / 20  # 0.8 and the tie are at least as good
    assert found.gain == pytest.approx(0.1)
    assert not found.helps
    assert "2 of 19" in found.sentence
    worse = NetworkTest((1,), (1.0,), (1.0,), (1.1,), tuple((1.2,) for _ in range(19)), 0)
    assert worse.p_value == 0.05
    assert not worse.helps  # better than the shuffles, but worse than no graph
    tiny = NetworkTest((1,), (1.0,), (1.0,), (0.999,), tuple((1.0,) for _ in range(19)), 0)
    assert "hardly for forecasts" in tiny.sentence


def test_neighbours_must_beat_own_past_without_the_mean_too() -> None:
    found = NetworkTest((1,), own=(0.8,), mean=(0.9,), network=(0.85,), shuffled=((0.95,),) * 99, seed=0)
    assert found.p_value == 0.01
    assert found.gain == pytest.approx(1 - 0.85 / 0.8)
    assert not found.helps
    assert "6.2 % higher" in found.sentence


def test_seeds_and_json() -> None:
    data = coupled(ring(12), 0.1, seed=4, T=40)
    one, two = (forecast.network_test(data, shuffles=19, seed=7) for _ in range(2))
    assert one == two
    state = json.loads(json.dumps(one.to_json()))
    assert state["p_value"] == one.p_value
    assert state["shuffles"] == 19
    assert "shuffled" in str(one)


def test_what_cannot_be_tested_is_said() -> None:
    data = coupled(ring(12), 0.1, seed=4, T=40)
    with pytest.raises(ValueError, match="at least 19, got 5"):
        forecast.network_test(data, shuffles=5)
    with pytest.raises(ValueError, match="at least 24 snapshots, got 20"):
        forecast.network_test(data[:20])
    bare = ndcn.Graph.from_scipy(sparse.csr_array((12, 12)))
    lonely = ndcn.Trajectory(times=data.times, states=data.states, graph=bare)
    with pytest.raises(ValueError, match="no edges"):
        forecast.network_test(lonely)
    with pytest.raises(ValueError, match="feature must be from 0 to 0"):
        forecast.network_test(data, feature=3)
    with pytest.raises(ValueError, match="horizon must be from 1 to 10"):
        forecast.network_test(data, horizon=30)


def test_where_nothing_can_be_tested() -> None:
    times, noise = np.arange(40.0), np.random.default_rng(0).normal(size=(40, 3))
    loops = ndcn.Graph.from_edges([(k, k) for k in range(3)], num_nodes=3)
    with pytest.raises(ValueError, match="no edges between different nodes, so there is nothing to test"):
        forecast.network_test(ndcn.Trajectory(times=times, states=noise, graph=loops))
    alone = ndcn.Graph.from_edges([(0, 0)], num_nodes=1)
    with pytest.raises(ValueError, match="one node only"):
        forecast.network_test(ndcn.Trajectory(times=times, states=noise[:, :1], graph=alone))
    still = noise.copy()
    still[20:] = still[20]
    for states in (np.ones((40, 3)), still):
        with pytest.raises(ValueError, match="'x' never changes in the second half"):
            forecast.network_test(ndcn.Trajectory(times=times, states=states, graph=ring(3)))


def test_of_several_features_the_one_tested_is_named() -> None:
    states = np.random.default_rng(0).normal(size=(40, 12, 2))
    data = ndcn.Trajectory(times=np.arange(40.0), states=states, graph=ring(12), features=("cases", "tests"))
    found = forecast.network_test(data, feature=1, shuffles=19)
    assert found.sentence.endswith(
        "This is about 'tests'; 'cases' was not tested: name it with feature= (--feature NAME)."
    )
    assert str(found).startswith("mean |error| of 'tests', persistence = 1\n")
    assert "of &#x27;tests&#x27;" in found._repr_html_()
    assert found.to_json()["feature"] == "tests"
    assert found.to_json()["untested"] == ["cases"]
    assert ndcn.plot.network_test(found).get_xlabel() == "mean |error| of tests one step ahead, persistence = 1"
    one = forecast.network_test(coupled(ring(12), 0.1, seed=4, T=40), shuffles=19)
    assert "This is about" not in one.sentence
    assert ndcn.plot.network_test(one).get_xlabel() == "mean |error| one step ahead, persistence = 1"


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_promised() -> None:
    """100 sets of independent nodes with a common factor: p <= 0.05 in about 5 of them (12 or more: p < 0.005)."""
    alarms = sum(
        forecast.network_test(coupled(ndcn.networks.random(40, seed=s), 0.0, seed=s), shuffles=19).p_value <= 0.05
        for s in range(100)
    )
    assert alarms < 12


@pytest.mark.slow
def test_weak_coupling_is_found_more_often_than_not() -> None:
    found = sum(forecast.network_test(coupled(ring(50), 0.15, seed=s), shuffles=19).helps for s in range(20))
    assert found >= 12


REAL = SHARED / "data" / "temporal"


@pytest.mark.skipif(not REAL.exists(), reason="the real sets are not here")
def test_movements_in_england_matter_a_little_and_counties_of_hungary_do_not() -> None:
    raw = json.loads((REAL / "england_covid.json").read_text())
    x, graphs = np.array(raw["y"], dtype=float), []
    for t in range(len(x)):
        source, target = np.array(raw["edge_mapping"]["edge_index"][str(t)]).T
        weight = np.array(raw["edge_mapping"]["edge_weight"][str(t)], dtype=float)
        graphs.append(ndcn.Graph.from_scipy(sparse.csr_array((weight, (target, source)), shape=(129, 129))))
    england = ndcn.Trajectory(times=np.arange(61.0), states=x, graph=graphs[-1])
    found = forecast.network_test(england, graphs=GraphSequence(england.times, graphs), shuffles=19)
    assert found.helps
    assert 0 < found.gain < 0.01
    raw = json.loads((REAL / "chickenpox.json").read_text())
    counties = ndcn.Graph.from_pyg(torch.tensor(raw["edges"]).T, num_nodes=20)
    pox = ndcn.Trajectory(times=np.arange(521.0), states=np.array(raw["FX"]), graph=counties)
    assert not forecast.network_test(pox, shuffles=19).helps
