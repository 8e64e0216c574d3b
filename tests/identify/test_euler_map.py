"""Trajectories that were written by Euler steps."""

import math
import warnings

import pytest
import torch

import ndcn

STEP = 0.02
N = 20
GRAPH = ndcn.networks.power_law(N, seed=3)


def euler_steps(law: ndcn.laws.Law, x0: torch.Tensor, count: int = 120) -> ndcn.Trajectory:
    states = [x0.double()]
    for _ in range(count - 1):
        states.append(states[-1] + STEP * law(torch.tensor(0.0), states[-1], GRAPH))
    times = STEP * torch.arange(count, dtype=torch.float64)
    return ndcn.Trajectory(times=times, states=torch.stack(states), graph=GRAPH)


def rates_miss(law: ndcn.laws.Law, true: ndcn.laws.Law, data: ndcn.Trajectory) -> float:
    with torch.no_grad():
        a, b = (torch.stack([one(torch.zeros(()), x, GRAPH) for x in data.states]) for one in (law, true))
    return float((a - b).abs().mean() / b.abs().mean())


def test_a_map_of_nodes_that_are_alike() -> None:
    law = ndcn.laws.Gene(b=0.9)
    data = euler_steps(law, ndcn.laws.initial_state(GRAPH))
    reg = ndcn.DynamicsRegressor(model="interaction").fit(data)
    assert "an Euler map with step 0.02" in str(reg.evidence_)
    assert "an Euler map with step 0.02" in str(reg.equations())
    assert reg.evidence_.explained
    assert reg.node_values_ is None
    assert rates_miss(reg.law_, law, data) < 1e-5
    assert reg.law_.map_step == pytest.approx(STEP)
    torch.testing.assert_close(reg.predict(data.times).states, data.states, rtol=1e-6, atol=1e-6)


def test_a_map_whose_nodes_differ(tmp_path) -> None:
    rng = torch.Generator().manual_seed(0)
    alpha, theta = (0.5 + torch.rand(N, generator=rng, dtype=torch.float64) for _ in range(2))
    law = ndcn.laws.LotkaVolterra(alpha=alpha, theta=theta, c=0.1)
    data = euler_steps(law, 0.1 + torch.rand(N, 1, generator=rng))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reg = ndcn.DynamicsRegressor(model="interaction").fit(data)
    assert {c.term for c in reg.equations().coefficients} == {"x", "x^2", "x_i*x_j"}
    assert list(reg.node_values_.columns) == ["b_i", "c_i", "b_i error", "c_i error"]
    assert reg.node_values_["b_i"].to_numpy() == pytest.approx(alpha.numpy(), rel=1e-3)
    assert reg.node_values_["c_i"].to_numpy() == pytest.approx(-theta.numpy(), rel=1e-3)
    assert rates_miss(reg.law_, law, data) < 1e-5
    reg.save(tmp_path / "map.ndcn")
    again = ndcn.load(tmp_path / "map.ndcn")
    assert str(again.equations()) == str(reg.equations())
    torch.testing.assert_close(again.predict(data.times).states, reg.predict(data.times).states)


def test_a_flow_is_no_map() -> None:
    times = STEP * torch.arange(60, dtype=torch.float64)
    data = ndcn.simulate(ndcn.laws.Gene(), GRAPH, ndcn.laws.initial_state(GRAPH, dtype=torch.float64), times)
    reg = ndcn.DynamicsRegressor(model="interaction").fit(data)
    assert reg.law_.map_step is None
    assert "map" not in str(reg.evidence_)
    assert math.isfinite(float(reg.predict(times[:3]).states.sum()))
