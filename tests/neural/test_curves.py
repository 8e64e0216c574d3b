"""Curves through the observations: exact where they must be, and what they refuse."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from ndcn.models import Linear, Persistence, Spline
from scipy.interpolate import CubicSpline

import ndcn
from ndcn import DynamicsRegressor, Graph, Trajectory, laws, networks

GRAPH = networks.grid(4)
NAMES = ["persistence", "linear", "spline"]
TIMES = [0.0, 0.5, 0.7, 2.0, 3.0]


def polynomial(*coefficients: float, times: object = TIMES) -> Trajectory:
    """Node i has (i + 1) sum_k c_k t^k and a second feature of opposite sign."""
    t = torch.as_tensor(times, dtype=torch.float64)
    x = sum(c * t**k for k, c in enumerate(coefficients)) + 0 * t
    nodes = torch.arange(1, 5, dtype=torch.float64)
    states = torch.stack([x[:, None] * nodes, -x[:, None] * nodes], dim=2)
    return Trajectory(times=t, states=states, graph=GRAPH, features=["up", "down"])


def fit(name: str, data: Trajectory) -> DynamicsRegressor:
    return DynamicsRegressor(name).fit(data)


def test_persistence_is_the_last_observation() -> None:
    data = polynomial(1.0, -2.0, 0.7)
    found = fit("persistence", data).predict([0.0, 0.49, 0.5, 1.99, 2.0, 2.5, 3.0, 99.0])
    assert torch.equal(found.states, data.states[[0, 0, 1, 2, 3, 3, 4, 4]])
    assert found.features == ("up", "down")


numbers = st.floats(-10, 10)
any_times = st.lists(st.floats(0, 20), min_size=1, max_size=6)


@given(a=numbers, b=numbers, asked=any_times)
def test_linear_motion_is_continued_exactly(a: float, b: float, asked: list[float]) -> None:
    expected = torch.cat([polynomial(a, b, times=[t]).states for t in asked])
    for name in ("linear", "spline"):
        found = fit(name, polynomial(a, b)).predict(asked).states
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


@given(c=st.tuples(numbers, numbers, numbers, numbers), t=st.floats(0, 3))
def test_splines_recover_cubics_inside(c: tuple[float, ...], t: float) -> None:
    found = fit("spline", polynomial(*c)).predict([t]).states
    torch.testing.assert_close(found, polynomial(*c, times=[t]).states, rtol=1e-8, atol=1e-8)


def test_splines_go_on_with_their_last_slope() -> None:
    reg = fit("spline", polynomial(0.0, 0.0, 0.0, 1.0))
    expected = 27 + 27 * torch.tensor([0.0, 1.0, 4.0]).double()
    torch.testing.assert_close(reg.predict([3.0, 4.0, 7.0]).states[:, 0, 0], expected)


def test_linear_goes_on_with_the_last_two() -> None:
    found = fit("linear", polynomial(0.0, 0.0, 1.0)).predict([2.5, 5.0]).states[:, 0, 0]
    torch.testing.assert_close(found, torch.tensor([6.5, 9 + 2 * 5.0]).double())


@pytest.mark.parametrize("name", NAMES)
def test_the_data_come_back_exactly(name: str) -> None:
    data = ndcn.simulate(laws.Gene(), GRAPH, torch.rand(4, 1), ndcn.sampling.irregular_times(2.0, count=9, seed=0))
    reg = fit(name, data)
    torch.testing.assert_close(reg.predict(data.times).states, data.states, rtol=1e-6, atol=1e-7)
    assert reg.predict([9.0, 0.5]).states.dtype == torch.float32
    assert reg.score(data) == pytest.approx(1.0)
    assert reg.history_.loss == []
    assert reg.history_.stopped == "finished"
    assert reg.history_.seconds > 0


@pytest.mark.parametrize("name", NAMES)
def test_each_entry_has_its_own_observations(name: str) -> None:
    generator = torch.Generator().manual_seed(1)
    t, x = torch.arange(8.0, dtype=torch.float64), torch.rand(8, 4, 2, generator=generator, dtype=torch.float64)
    mask = torch.rand(8, 4, 2, generator=generator) > 0.4
    mask[:, 0, 0] = False
    mask[3, 0, 0] = True  # a single observation
    data = Trajectory(times=t, states=x, graph=GRAPH, mask=mask)
    asked = torch.tensor([0.0, 2.4, 3.0, 6.6, 9.0], dtype=torch.float64)
    found = fit(name, data).predict(asked).states
    assert found.isfinite().all()
    for i in range(4):
        for k in range(2):
            seen = mask[:, i, k].numpy()
            own_t, own_x = t.numpy()[seen], x[:, i, k].numpy()[seen]
            at = np.maximum(asked.numpy(), own_t[0])
            if name == "persistence":
                expected = np.array([own_x[own_t <= a][-1] for a in at])
            elif len(own_t) == 1:
                expected = np.full(len(at), own_x[0])
            else:
                spline = CubicSpline(own_t, own_x)
                last, slope = own_t[-1], (own_x[-1] - own_x[-2]) / (own_t[-1] - own_t[-2])
                inside = np.interp(at, own_t, own_x) if name == "linear" else spline(np.minimum(at, last))
                expected = inside + np.maximum(at - last, 0) * (slope if name == "linear" else spline(last, 1))
            np.testing.assert_allclose(found[:, i, k].numpy(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_what_they_refuse(name: str) -> None:
    data = polynomial(1.0, 2.0)
    reg = fit(name, data)
    with pytest.raises(ValueError, match=f"{name} continues the data it was fitted to"):
        reg.predict([1.0], x0=data.states[0])
    with pytest.raises(ValueError, match=r"continues the data .* cannot .* run on another graph"):
        reg.predict([1.0], graph=networks.grid(9), x0=torch.ones(9, 2))
    assert torch.equal(reg.predict([1.0], graph=networks.grid(4)).states, reg.predict([1.0]).states)
    with pytest.raises(ValueError, match="one curve for each node, and 2 trajectories were given"):
        DynamicsRegressor(name).fit([data, data])
    mask = torch.ones(5, 4, 2, dtype=torch.bool)
    mask[:, 2, 1] = False
    hole = Trajectory(times=TIMES, states=data.states, graph=Graph.from_edges([("a", "b"), ("c", "d")]), mask=mask)
    with pytest.raises(ValueError, match=r"no curve for node 'c', whose x2 was never observed \(1 in all"):
        DynamicsRegressor(name).fit(hole)
    with pytest.raises(ValueError, match="the first training time is"):
        fit(name, data[1:]).predict([0.1])


@pytest.mark.parametrize("name", NAMES)
def test_what_has_no_effect_is_refused(name: str) -> None:
    settings = {"epochs": 5, "hidden": 3, "preset": "paper", "validation": 0.2, "ensemble": 3, "objective": "l2"}
    for setting, value in settings.items():
        with pytest.raises(ValueError, match=f"^`{name}` does not use `{setting}`; remove it$"):
            DynamicsRegressor(name, **{setting: value}).fit(polynomial(1.0))
    with pytest.raises(ValueError, match=r"^a ready module such as this Spline does not use `epochs`"):
        DynamicsRegressor(Spline(), epochs=3).fit(polynomial(1.0))


def test_ready_curves(tmp_path: Path) -> None:
    data = polynomial(1.0, -3.0, 0.1)
    for name, curve in zip(NAMES, (Persistence(), Linear(), Spline()), strict=True):
        reg = DynamicsRegressor(curve).fit(data)
        assert torch.equal(reg.predict([0.6, 4.0]).states, fit(name, data).predict([0.6, 4.0]).states)
        reg.save(tmp_path / "curve.ndcn")
        again = ndcn.load(tmp_path / "curve.ndcn", model=curve)
        assert torch.equal(reg.predict([0.6, 4.0]).states, again.predict([0.6, 4.0]).states)


def test_masked_curves_come_back_from_files(tmp_path: Path) -> None:
    x = torch.tensor([[1.0, math.nan], [math.nan, 2.0], [3.0, 5.0]])
    data = Trajectory(times=[0, 1, 2], states=x, mask=~x.isnan(), graph=Graph.from_edges([("a", "b")]))
    reg = fit("linear", data)
    reg.save(tmp_path / "curve.ndcn")
    assert ndcn.load(tmp_path / "curve.ndcn").predict([0.5, 1.5]).states.squeeze(2).tolist() == [[1.5, 2.0], [2.5, 3.5]]
