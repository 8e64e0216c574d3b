"""forecast.auto as a user meets it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

import ndcn
from ndcn import forecast
from ndcn.forecast.automatic import _margin
from ndcn.forecast.result import _verdicts
from ndcn.forecast.table import Table
from ndcn.graph.sequence import GraphSequence


def trajectory(x: Any, graph: ndcn.Graph | None = None, step: float = 1.0, **more: Any) -> ndcn.Trajectory:
    x = np.asarray(x, dtype=float)
    return ndcn.Trajectory(
        times=np.arange(len(x)) * step, states=x, graph=graph or ndcn.networks.grid(x.shape[1]), **more
    )


@pytest.fixture(scope="module")
def counts() -> np.ndarray:
    rng = np.random.default_rng(0)
    wave = 30 * np.exp(np.cumsum(0.05 * rng.normal(size=80)))
    return rng.poisson(wave[:, None] * rng.lognormal(size=9)).astype(float)


def test_a_line_is_continued_and_its_interval_is_narrow() -> None:
    x = 3.0 * np.arange(60.0)[:, None] + np.arange(4.0)
    found = forecast.auto(trajectory(x, step=0.5), horizon=7)
    said = found.predict([30.0, 33.0])  # the last snapshot is at 29.5
    np.testing.assert_allclose(said.states[:, :, 0], x[[59, 59]] + [[3.0], [21.0]], rtol=1e-3)
    low, high = found.intervals([33.0])
    assert (low.states <= said.states[1:] + 1e-9).all()
    assert (high.states >= said.states[1:] - 1e-9).all()
    assert (high.states - low.states).max() < 1.0


def test_noise_has_no_skill_and_that_is_said() -> None:
    found = forecast.auto(trajectory(np.random.default_rng(1).normal(size=(150, 9))))
    assert len(found.sentence.splitlines()) == len(found.table.horizons)
    for line in found.sentence.splitlines():  # no skill is claimed
        assert "more accurate than" not in line or "chance" in line
    assert found.horizon == 14
    ratios = np.array(found.ratios)
    assert (ratios < 1.15).all()


def test_the_table_names_all_and_the_reference(counts: np.ndarray) -> None:
    found = forecast.auto(trajectory(counts))
    text = str(found.table)
    for name in ("persistence", "drift", "seasonal", "damped trend", "ridge own + mean + neighbours", "combination"):
        assert name in text
    assert "best simple guess online" in text
    assert found.table.horizons == (1, 3, 7, 14)
    row = next(errors for name, _, errors in found.table.rows if name == "persistence")
    assert row == pytest.approx((1.0, 1.0, 1.0, 1.0))
    assert "counts" in found.kind


def test_the_sentence_tells_horizons_apart() -> None:
    table = Table((1, 3, 7, 14, 28), (("combination", "", (0.8, 0.9, 1.2, 1.5, None)),), ("a",) * 5)
    kept = ("combination", "combination", "combination", "drift", "combination")
    ratios, margins = (0.8, 0.9, 1.3, 1.0, 0.5), (0.1, 0.2, 0.1, 0.1, float("inf"))
    lines = _verdicts(table, kept, ratios, margins)
    assert lines == [
        (1, "combination, 20 % more accurate than the best simple guess"),
        (3, "combination, 10 % more accurate than the best simple guess; may be chance"),
        (7, "combination, in the past 20 % less accurate than repeating the last value: do not rely on it"),
        (14, "drift, in the past 50 % less accurate than repeating the last value: do not rely on it"),
        (28, "combination, 50 % more accurate than the best simple guess; too few to be sure"),
    ]


def test_chance_is_rarely_taken_for_skill() -> None:
    graph, claims = ndcn.networks.grid(9), 0
    for seed in range(12):
        noise = np.random.default_rng(seed).normal(size=((15, 30, 60)[seed % 3], 9))
        found = forecast.auto(ndcn.Trajectory(times=np.arange(len(noise)), states=noise, graph=graph), progress=False)
        sure = [line for line in found.sentence.splitlines() if "more accurate than" in line]
        claims += any("chance" not in line and "too few" not in line for line in sure)
    assert claims <= 2


def test_a_margin_is_two_standard_errors() -> None:
    rng = np.random.default_rng(0)
    simple = 2 + rng.normal(size=400)
    mine = simple - 0.1 + 0.5 * rng.normal(size=400)
    assert _margin(mine, simple, 1) == pytest.approx(2 * 0.5 / 20 / 2, rel=0.15)
    slow = np.convolve(rng.normal(size=409), np.ones(10) / 10, mode="valid")  # errors of ten steps ahead overlap
    assert _margin(simple + slow, simple, 10) > 2 * _margin(simple + slow, simple, 1)
    assert _margin(mine[:9], simple[:9], 1) == float("inf")
    assert _margin(mine[:20], simple[:20], 14) == float("inf")


def test_twice_is_the_same(counts: np.ndarray) -> None:
    one, two = (forecast.auto(trajectory(counts), horizon=5) for _ in range(2))
    np.testing.assert_array_equal(one.path, two.path)


def test_the_order_of_nodes_does_not_matter(counts: np.ndarray) -> None:
    rng = np.random.default_rng(3)
    A, order = rng.random((9, 9)), rng.permutation(9)
    one = forecast.auto(trajectory(counts, ndcn.Graph.from_dense(A)), horizon=5)
    two = forecast.auto(trajectory(counts[:, order], ndcn.Graph.from_dense(A[np.ix_(order, order)])), horizon=5)
    np.testing.assert_allclose(two.path[:, :, 0], one.path[:, order, 0], rtol=1e-5)


def test_state_comes_back_through_json(counts: np.ndarray) -> None:
    found = forecast.auto(trajectory(counts), horizon=4)
    plain, tensors = found.to_state()
    assert all(isinstance(t, torch.Tensor) for t in tensors.values())
    again = forecast.Forecast.from_state(json.loads(json.dumps(plain)), tensors, found.graph)
    at = [80.0, 81.5]
    assert torch.equal(again.predict(at).states, found.predict(at).states)
    for a, b in zip(again.intervals(at, 0.8), found.intervals(at, 0.8), strict=True):
        assert torch.equal(a.states, b.states)
    assert (again.sentence, str(again.table), again.kind) == (found.sentence, str(found.table), found.kind)


def test_features_are_forecast_each_as_its_own_kind(counts: np.ndarray) -> None:
    both = np.stack([counts, np.cumsum(counts, axis=0)], axis=-1)
    data = ndcn.Trajectory(times=np.arange(80.0), states=both, graph=ndcn.networks.grid(9), features=("new", "total"))
    found = forecast.auto(data, horizon=4)
    assert "cumulative" in found.kinds[1]
    assert "cumulative" not in found.kinds[0]
    said = found.predict(np.arange(80.0, 84.0)).states
    assert said.shape == (4, 9, 2)
    assert (said[:, :, 1] >= torch.from_numpy(both[-1, :, 1])).all()
    low, _ = found.intervals(np.arange(80.0, 84.0))
    assert (low.states[:, :, 1] >= torch.from_numpy(both[-1, :, 1])).all()
    assert (low.states >= 0).all()
    assert "new:\n" in found.sentence


def test_graphs_that_change_are_used(counts: np.ndarray) -> None:
    graphs = [ndcn.networks.random(9, seed=k) for k in range(80)]
    found = forecast.auto(trajectory(counts), horizon=3, graphs=GraphSequence(np.arange(80.0), graphs))
    assert found.predict([80.0]).graph == graphs[-1]


def test_levels_are_nested(counts: np.ndarray) -> None:
    found = forecast.auto(trajectory(counts), horizon=7)
    wide, narrow = found.intervals([83.0], 0.95), found.intervals([83.0], 0.5)
    assert (wide[0].states <= narrow[0].states).all()
    assert (wide[1].states >= narrow[1].states).all()
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        found.intervals([83.0], 1.5)


def test_intervals_cover_what_comes() -> None:
    """Stationary data: nine of ten values lie within the interval of level 0.9, give or take."""
    rng, inside = np.random.default_rng(5), []
    x = np.zeros((230, 9))
    for t in range(1, 230):
        x[t] = 0.7 * x[t - 1] + rng.normal(size=9)
    for end in range(80, 220, 20):
        low, high = forecast.auto(trajectory(x[:end]), horizon=7).intervals(np.arange(end, end + 7.0))
        truth = torch.from_numpy(x[end : end + 7, :, None])
        inside.append(((truth >= low.states) & (truth <= high.states)).double().mean().item())
    assert 0.8 < np.mean(inside) < 0.97


@pytest.mark.parametrize("x", [np.zeros((30, 4)), np.ones((30, 4)), np.eye(30)[:, :4] * 1e12, np.arange(12.0)[:, None]])
def test_odd_data_give_finite_forecasts(x: np.ndarray) -> None:
    graph = ndcn.networks.grid(4) if x.shape[1] == 4 else ndcn.Graph.from_dense([[0.0]])
    found = forecast.auto(trajectory(x, graph), horizon=3)
    low, high = found.intervals([float(len(x))])
    assert all(part.states.isfinite().all() for part in (found.predict([float(len(x))]), low, high))
    assert found.sentence


def test_missing_values_are_said(counts: np.ndarray) -> None:
    x = counts.copy()
    x[5:9, 2] = np.nan
    x[:3, 4] = np.nan
    found = forecast.auto(trajectory(x, mask=np.isfinite(x)), horizon=3)
    assert "missing" in found.notes[0]
    assert found.predict([80.0]).states.isfinite().all()


def test_what_cannot_be_done_is_said(counts: np.ndarray) -> None:
    with pytest.raises(ValueError, match="at least 12 snapshots, got 5"):
        forecast.auto(trajectory(counts[:5]))
    for horizon in (0, 41, 2.5, True):
        with pytest.raises(ValueError, match="horizon must be a whole number of steps from 1 to 40"):
            forecast.auto(trajectory(counts), horizon=horizon)
    with pytest.raises(TypeError, match=r"expected an ndcn\.Trajectory"):
        forecast.auto(counts)
    with pytest.raises(ValueError, match="learned must be names of"):
        forecast.auto(trajectory(counts), learned=("prophet",))
    other = GraphSequence([0.0], [ndcn.networks.grid(4)])
    with pytest.raises(ValueError, match="other nodes than the data"):
        forecast.auto(trajectory(counts), graphs=other)
    found = forecast.auto(trajectory(counts), horizon=3)
    for bad in (78.0, 83.0):
        with pytest.raises(ValueError, match=f"t = {bad:g} was asked for"):
            found.predict([80.0, bad])


def test_notes_name_each_feature_with_missing_entries() -> None:
    states = np.random.default_rng(0).normal(size=(40, 4, 2)).cumsum(axis=0)
    states[5:7, 0, 0] = states[5:9, 1, 1] = np.nan
    times = np.delete(np.arange(41.0), 30)
    data = ndcn.Trajectory(
        times=times, states=states, graph=ndcn.networks.grid(4), mask=np.isfinite(states), features=("cases", "tests")
    )
    assert forecast.auto(data, horizon=2).notes == (
        "times are not equally spaced: values were held on a grid of step 1",
        "1.25 % of the entries of 'cases' are missing: the last value before was used",
        "2.5 % of the entries of 'tests' are missing: the last value before was used",
    )


def test_a_week_of_hours_is_met_on_a_friday_night() -> None:
    """Forty hours before it lie on weekdays: judged by them alone, a daily profile looks best, and the week-end is far too high."""
    rng = np.random.default_rng(0)
    t = np.arange(35 * 24)
    day, weekday = np.exp(-((((t % 24) - 13) / 4.0) ** 2)), np.where(t // 24 % 7 < 5, 1.0, 0.15)
    x = rng.poisson(60 * (day * weekday)[:, None] * rng.lognormal(0, 0.4, 12)).astype(float)
    last = 33 * 24  # Friday, 24 h
    data = ndcn.Trajectory(times=t[:last] * 1.0, states=x[:last], graph=ndcn.networks.grid(12))
    found = forecast.auto(data, horizon=24, progress=False)
    assert "24 and 168" in str(found.kind)
    said = found.predict(t[last : last + 24] * 1.0).states[..., 0].numpy()
    truth = x[last : last + 24]
    same_hours = np.mean([x[last - 168 * k : last - 168 * k + 24] for k in (1, 2, 3, 4)], axis=0)
    assert np.abs(said - truth).mean() < 1.2 * np.abs(same_hours - truth).mean()
