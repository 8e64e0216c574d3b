"""Does the network matter? Yes where it was put in, no where it was not."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from scipy import sparse

import ndcn
from ndcn import forecast
from ndcn.data import panel_of
from ndcn.forecast import NetworkTest
from ndcn.forecast.network_errors import usual_kind, without_spikes
from ndcn.forecast.transforms import View
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
    assert (found.verdict, found.reason) == ("does not matter", "shuffled as good")
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


def answered(own: float, mean: float, network: float, *shuffled: float) -> NetworkTest:
    return NetworkTest((1,), (own,), (mean,), (network,), tuple((e,) for e in shuffled), 0)


def test_p_value_is_that_of_ranks() -> None:
    found = answered(1.0, 1.0, 0.9, 0.8, 0.9, 0.95, *[1.0] * 16)
    assert found.p_value == 3 / 20  # 0.8 and the tie are at least as good
    assert found.gain == pytest.approx(0.1)
    assert not found.helps
    assert "2 of 19" in found.sentence
    tiny = answered(1.0, 1.0, 0.999, *[1.0] * 19)
    assert "hardly for forecasts" in tiny.sentence


def test_better_than_shuffled_graphs_but_not_than_none() -> None:
    """What a verdict of "does not matter" would contradict: p = 0.05 and 0 of 19 shuffled graphs do as well."""
    found = answered(0.8, 0.9, 0.85, *[0.95] * 19)
    assert found.p_value == 0.05
    assert found.gain == pytest.approx(1 - 0.85 / 0.8)
    assert (found.verdict, found.reason) == ("cannot tell", "no gain")
    assert not found.helps
    for words in ("cannot tell whether", "0 of 19", "(p = 0.05)", "6.2 % higher", "More snapshots would help"):
        assert words in found.sentence
    assert "does not matter" not in found.sentence
    assert "p = 0.05" in ndcn.plot.network_test(found).get_title()
    assert "cannot tell" in ndcn.plot.network_test(found).get_title()


def test_a_model_that_loses_to_persistence_does_not_judge() -> None:
    for network, shuffled in ((2.0, 2.5), (2.5, 2.0)):  # whichever way the shuffles lie
        found = answered(2.1, 2.2, network, *[shuffled] * 19)
        assert (found.verdict, found.reason) == ("cannot tell", "persistence wins")
        assert "% above that of persistence" in found.sentence
        assert "would help" in found.advice
        assert found.advice in found.sentence
    assert answered(2.1, 2.2, 0.9, *[1.2] * 19).gain == pytest.approx(0.1)  # against persistence
    saved = answered(2.1, 2.2, 0.9, *[1.2] * 19).to_json()
    assert (saved["verdict"], saved["reason"], saved["advice"]) == ("matters", "better than shuffled", "")


def test_a_random_walk_leaves_the_test_without_ground() -> None:
    """Persistence is the best forecast of independent random walks; a regression on 40 snapshots cannot beat it."""
    walk = np.cumsum(np.random.default_rng(0).normal(size=(30, 12)), axis=0)
    found = forecast.network_test(ndcn.Trajectory(times=np.arange(30.0), states=walk, graph=ring(12)), shuffles=19)
    assert (found.verdict, found.reason) == ("cannot tell", "persistence wins")
    assert min(found.own[0], found.mean[0], found.network[0]) > 1


def test_a_graph_that_shuffling_does_not_change() -> None:
    """Of a complete graph all shuffles are the same, whatever rounding says."""
    pairs = [(i, j) for i in range(8) for j in range(i)]
    data = coupled(ndcn.Graph.from_edges(pairs, num_nodes=8), 0.2, seed=1, T=40)
    found = forecast.network_test(data, shuffles=19)
    assert found.p_value == 1
    assert (found.verdict, found.reason) == ("cannot tell", "same graph")
    assert "the graph itself" in found.sentence


WRONG = {
    "cell": lambda x, rng: x.__setitem__((55, 7), 99999.0),
    "day": lambda x, rng: x.__setitem__(55, 1000 * x[55]),
    "node": lambda x, rng: x.__setitem__((slice(None), 7), 1000 * rng.normal(size=len(x))),
    "shift": lambda x, rng: x.__setitem__((slice(50, None), 7), x[50:, 7] + 1e4),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("coupling", [0.3, 0.0])
def test_wrong_data_do_not_move_the_verdict(what: str, coupling: float) -> None:
    data = coupled(ring(40), coupling, seed=3)
    states = data.states.numpy()[..., 0].copy()
    WRONG[what](states, np.random.default_rng(0))
    wrong = ndcn.Trajectory(times=data.times, states=states, graph=data.graph)
    one, two = (forecast.network_test(d, shuffles=19, horizon=1) for d in (data, wrong))
    assert one.verdict == ("matters" if coupling else "does not matter")
    assert two.verdict == one.verdict
    assert two.network[0] == pytest.approx(one.network[0], rel=0.06)


def test_the_kind_of_data_is_not_that_of_one_node() -> None:
    counts = np.random.default_rng(0).poisson(20, size=(60, 20)).astype(float)
    totals = np.cumsum(counts, axis=0)
    for x, cumulative in ((counts, False), (totals, True)):
        x[30, 2] = -999
        x[:, 5] = 1000 * np.random.default_rng(1).normal(size=60)
        kind = usual_kind(panel_of(ndcn.Trajectory(times=np.arange(60.0), states=x, graph=ring(20))))
        assert (kind.positive, kind.cumulative) == (True, cumulative)


def test_a_total_that_falls_to_0_for_a_day() -> None:
    rng = np.random.default_rng(0)
    counts = np.cumsum(rng.poisson(50, size=(60, 20)), axis=0).astype(float)
    panel = panel_of(ndcn.Trajectory(times=np.arange(60.0), states=counts, graph=ring(20)), keep_outliers=True)
    assert without_spikes(panel, View("log", increments=True)) is panel
    counts[[40, 59], [3, 5]] = 0, 1e9
    panel = panel_of(ndcn.Trajectory(times=np.arange(60.0), states=counts, graph=ring(20)), keep_outliers=True)
    clean = without_spikes(panel, View("log", increments=True))
    assert np.argwhere(~clean.observed).tolist() == [[40, 3], [59, 5]]
    assert clean.values[40, 3] == counts[39, 3]
    assert clean.values[59, 5] == counts[58, 5]


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

    gaps = noise.copy()
    gaps[21::2] = np.nan
    never_two = ndcn.Trajectory(times=times, states=gaps, graph=ring(3), mask=np.isfinite(gaps))
    with pytest.raises(ValueError, match="no change from one step to the next that was observed in the second half"):
        forecast.network_test(never_two)


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
