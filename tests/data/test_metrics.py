"""Errors against NumPy, with and without missing entries."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from ndcn import Graph, Trajectory, metrics
from problems import GRAPHS, trajectory

GRAPH = GRAPHS["path"]


def _pair(missing: bool) -> tuple[Trajectory, Trajectory, np.ndarray, np.ndarray]:
    truth = trajectory(GRAPH, d=2, missing=missing)
    guess = Trajectory(times=truth.times, states=trajectory(GRAPH, d=2).states.square(), graph=GRAPH)
    return guess, truth, (guess.states.double() - truth.states.double()).numpy(), truth.states.double().numpy()


@pytest.mark.parametrize("missing", [False, True])
def test_every_metric(missing: bool) -> None:
    guess, truth, error, true = _pair(missing)
    assert metrics.l1(guess, truth) == pytest.approx(np.nanmean(abs(error)))
    assert metrics.normalized_l1(guess, truth) == pytest.approx(np.nanmean(abs(error)) / np.nanmean(abs(true)))
    assert metrics.rmse(guess, truth) == pytest.approx(np.sqrt(np.nanmean(error**2)))
    np.testing.assert_allclose(metrics.per_time(guess, truth), np.nanmean(abs(error), axis=(1, 2)))
    np.testing.assert_allclose(metrics.per_node(guess, truth), np.nanmean(abs(error), axis=(0, 2)))


@given(st.floats(0.1, 100))
def test_the_normalized_error_has_no_unit(scale: float) -> None:
    guess, truth, *_ = _pair(False)
    scaled = [Trajectory(times=data.times, states=scale * data.states, graph=GRAPH) for data in (guess, truth)]
    assert metrics.normalized_l1(*scaled) == pytest.approx(metrics.normalized_l1(guess, truth), rel=1e-5)


def test_no_error_at_all() -> None:
    truth = trajectory(GRAPH, missing=True)
    assert metrics.l1(truth, truth) == metrics.normalized_l1(truth, truth) == metrics.rmse(truth, truth) == 0.0


def test_a_time_and_a_node_that_were_not_observed() -> None:
    mask = torch.ones(3, 4, dtype=torch.bool)
    mask[1], mask[:, 2] = False, False
    truth = Trajectory(times=range(3), states=torch.ones(3, 4), graph=GRAPH, mask=mask)
    guess = Trajectory(times=range(3), states=torch.zeros(3, 4), graph=GRAPH)
    assert metrics.l1(guess, truth) == 1
    assert metrics.per_time(guess, truth).isnan().tolist() == [False, True, False]
    assert metrics.per_node(guess, truth).isnan().tolist() == [False, False, True, False]


def test_nothing_is_relative_to_zero() -> None:
    zero = Trajectory(times=[0], states=torch.zeros(1, 4), graph=GRAPH)
    with pytest.raises(ValueError, match=r"all 0, .* use metrics.l1"):
        metrics.normalized_l1(zero, zero)


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match=r"has shape \(3, 4, 1\) .* the truth \(4, 4, 1\); predict at the times"):
        metrics.l1(trajectory(GRAPH)[:3], trajectory(GRAPH))


def test_times_must_agree() -> None:
    truth = trajectory(GRAPH)
    late = Trajectory(times=truth.times + 0.25, states=truth.states, graph=GRAPH)
    with pytest.raises(ValueError, match=r"at different times, e.g. 0.25 and 0; predict at the times"):
        metrics.l1(late, truth)


@pytest.mark.parametrize(("begin", "gap"), [(0.0, 1e-8), (0.0, 1.0), (1.7e9, 1.0), (1.7e9, 1e6)])
def test_times_agree_relative_to_their_span(begin: float, gap: float) -> None:
    truth = trajectory(GRAPH)
    times = begin + gap * torch.arange(len(truth), dtype=torch.float64)
    one, same, other = (
        Trajectory(times=times + shift * gap, states=truth.states, graph=GRAPH) for shift in (0, 1e-7, 0.001)
    )
    assert metrics.l1(same, one) == 0
    with pytest.raises(ValueError, match="at different times"):
        metrics.l1(other, one)


def test_a_single_time_agrees_with_itself_only() -> None:
    one, later = (
        Trajectory(times=[t], states=torch.ones(1, GRAPH.num_nodes), graph=GRAPH) for t in (1.7e9, 1.7e9 + 1000)
    )
    assert metrics.l1(one, one) == 0
    with pytest.raises(ValueError, match=r"e.g. 1700001000 and 1700000000"):
        metrics.l1(later, one)


@pytest.mark.parametrize("missing", [False, True])
def test_r2(missing: bool) -> None:
    guess, truth, error, true = _pair(missing)
    spread = true - np.nanmean(true, axis=(0, 1))
    assert metrics.r2(guess, truth) == pytest.approx(1 - np.nansum(error**2) / np.nansum(spread**2))
    assert metrics.r2(truth, truth) == 1


def test_r2_needs_states_that_vary() -> None:
    still = Trajectory(times=[0, 1], states=torch.ones(2, 4), graph=GRAPH)
    with pytest.raises(ValueError, match=r"do not vary, so R\^2 is not defined; use metrics.l1"):
        metrics.r2(still, still)


def test_nothing_observed_is_told() -> None:
    states = torch.ones(1, GRAPH.num_nodes, 1)
    truth = Trajectory(times=[0.0], states=states, graph=GRAPH, mask=torch.zeros_like(states, dtype=torch.bool))
    with pytest.raises(ValueError, match="nothing was observed"):
        metrics.l1(Trajectory(times=[0.0], states=states, graph=GRAPH), truth)


def _runs(*rows: list[list[float]]) -> list[Trajectory]:
    pair = Graph.from_edges([(0, 1)])
    return [Trajectory(times=torch.arange(len(x)), states=torch.tensor(x), graph=pair) for x in rows]


def test_mase_by_hand() -> None:
    past, truth, guess = _runs([[0.0, 5], [1, 5], [3, 5]], [[4.0, 5]], [[7.0, 9]])
    assert metrics.mase(guess, truth, past) == pytest.approx(3 / 1.5)  # the second node never changed
    assert metrics.mase(guess, truth, past, period=2) == pytest.approx(3 / 3)
    assert metrics.mase(guess, truth[:1], past) == metrics.mase(guess, truth, past)
    for wrong in (past[:1], _runs([[5.0, 5], [5, 5]])[0]):
        with pytest.raises(ValueError, match=r"more than period|nothing in the past ever changed"):
            metrics.mase(guess, truth, wrong)
    with pytest.raises(ValueError, match="period = 3"):
        metrics.mase(guess, truth, past, period=3)


def test_pinball_and_crps() -> None:
    truth, low, high = _runs([[1.0, 3]], [[0.0, 4]], [[2.0, 5]])
    assert metrics.pinball(low, truth, 0.9) == pytest.approx((0.9 * 1 + 0.1 * 1) / 2)
    assert metrics.pinball(low, truth, 0.5) == pytest.approx(metrics.l1(low, truth) / 2)
    same = dict.fromkeys((0.1, 0.5, 0.9), high)
    assert metrics.crps(same, truth) == pytest.approx(metrics.l1(high, truth))
    for wrong in (0.0, 1.0, 2):
        with pytest.raises(ValueError, match="between 0 and 1"):
            metrics.pinball(low, truth, wrong)
    with pytest.raises(ValueError, match="at least one quantile"):
        metrics.crps({}, truth)


def test_crps_of_a_normal_distribution() -> None:
    """E CRPS of N(0, 1) at 0 is (sqrt(2) - 1) / sqrt(pi)."""
    from statistics import NormalDist

    (truth,) = _runs([[0.0, 0]])
    quantiles = {
        (k + 0.5) / 500: _runs([[z, z]])[0] for k in range(500) for z in [NormalDist().inv_cdf((k + 0.5) / 500)]
    }
    assert metrics.crps(quantiles, truth) == pytest.approx((2**0.5 - 1) / torch.pi**0.5, rel=1e-3)


def test_coverage_counts_observed_values_only() -> None:
    truth, low, high = _runs([[1.0, 3], [1, 9]], [[0.0, 4], [1, 4]], [[2.0, 5], [1, 5]])
    assert metrics.coverage(low, high, truth) == 0.5
    seen = Trajectory(
        times=truth.times, states=truth.states, graph=truth.graph, mask=torch.tensor([[True, False], [True, True]])
    )
    assert metrics.coverage(low, high, seen) == pytest.approx(2 / 3)
