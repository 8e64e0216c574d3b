"""Forecasts of groups: they add up exactly, and their intervals hold what they should."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy import sparse

import ndcn
from ndcn import forecast
from ndcn.forecast.groups import Sums
from ndcn.forecast.past import Past


def trajectory(x: Any, **more: Any) -> ndcn.Trajectory:
    x = np.asarray(x, dtype=float)
    return ndcn.Trajectory(times=np.arange(len(x)) * 1.0, states=x, graph=ndcn.networks.grid(x.shape[1]), **more)


def correlated(seed: int, common: float, nodes: int = 16, steps: int = 90) -> np.ndarray:
    """Random walks with a common part."""
    rng = np.random.default_rng(seed)
    shared, own = rng.normal(size=(steps, 1)), rng.normal(size=(steps, nodes))
    return np.cumsum(common * shared + np.sqrt(1 - common**2) * own, axis=0)


def decimal_sum(values: Any) -> Decimal:
    return sum((Decimal(repr(float(x))) for x in values), Decimal(0))


@given(
    st.lists(st.floats(-1e9, 1e9).filter(lambda x: x == 0 or abs(x) > 1e-6), min_size=1, max_size=12),
    st.integers(-8, 8),
    st.booleans(),
    st.data(),
)
@settings(max_examples=200, deadline=None)
def test_sums_are_exact_in_the_digits_shown(values: list[float], power: int, total: bool, data: st.DataObject) -> None:
    x = np.array(values) * 10.0**power
    x = np.abs(x) if total else x
    path = np.stack([x, x * 1.5])[:, :, None]
    least = path[0] if total else np.full(path.shape[1:], -np.inf)
    inside = np.array(data.draw(st.lists(st.booleans(), min_size=len(x), max_size=len(x))))
    member = sparse.csr_array(np.stack([inside, ~inside, np.ones(len(x), dtype=bool)]).astype(np.int64))
    sums = Sums(path, least)
    nodes, groups = sums.nodes(lambda p: p)[..., 0], sums.groups(lambda p: p, member)[..., 0]
    for t in range(2):
        wanted = [decimal_sum(nodes[t, part]) for part in (inside, ~inside, slice(None))]
        assert [Decimal(repr(float(g))) for g in groups[t]] == wanted
        assert wanted[0] + wanted[1] == wanted[2]
    largest = np.abs(path).sum(axis=1).max()
    np.testing.assert_allclose(nodes, path[..., 0], rtol=5.1e-6, atol=1e-12 * largest)  # six digits
    if total:
        assert (nodes >= x).all()
        assert (groups[1] >= groups[0]).all()


def test_digits_do_not_depend_on_the_times_asked_for() -> None:
    found = forecast.auto(trajectory(np.exp(0.3 * correlated(0, 0.8))), horizon=7)
    every, one = found.groups({0: "a", 1: "a"}, np.arange(90.0, 97.0)), found.groups({0: "a", 1: "a"}, [96.0])
    for word in ("values", "lower", "upper"):
        assert getattr(every, word)[6:].equal(getattr(one, word))


@pytest.fixture(scope="module")
def epidemic() -> np.ndarray:
    rng = np.random.default_rng(0)
    wave = 30 * np.exp(np.cumsum(0.05 * rng.normal(size=80)))
    return rng.poisson(wave[:, None] * rng.lognormal(size=9)).astype(float)


@pytest.mark.parametrize("kind", ["counts", "totals"])
def test_values_keep_their_bounds_and_lie_in_their_intervals(epidemic: np.ndarray, kind: str) -> None:
    x = epidemic if kind == "counts" else 1234.0 * np.cumsum(epidemic, axis=0)
    found = forecast.auto(trajectory(x, features=("n",)), horizon=14)
    at = np.arange(80.0, 94.0)
    sums = found.groups({k: "ab"[k > 4] for k in range(9)}, at)
    assert sums.names == ("a", "b", "all nodes")
    nodes = found.mean(at).states[..., 0].numpy()
    for t in range(14):
        assert Decimal(repr(sums.values[t, 0, 0].item())) == decimal_sum(nodes[t, :5])
        assert Decimal(repr(sums.values[t, 2, 0].item())) == decimal_sum(nodes[t])
    low, value, high = (part[..., 0].numpy() for part in (sums.lower, sums.values, sums.upper))
    assert (low <= value).all()
    assert (value <= high).all()
    assert (high > low).all()
    if kind == "totals":
        last = np.array([x[-1, :5].sum(), x[-1, 5:].sum(), x[-1].sum()])
        assert (low >= last).all()
        for part in (low, value, high, nodes):
            assert (np.diff(part, axis=0) >= 0).all()
        assert (nodes >= x[-1]).all()
    else:
        assert (low >= 0).all()
    whole = [np.round(end) for end in (low, high)]
    np.testing.assert_array_equal(whole[0][low < value], low[low < value])
    np.testing.assert_array_equal(whole[1][high > value], high[high > value])


def intervals_of_total(common: float, seeds: range) -> dict[str, np.ndarray]:
    """How often the total of seven steps lies in its interval, in the sum of the nodes' intervals, and in their root sum of squares."""
    inside: dict[str, list[float]] = {"groups": [], "added": [], "independent": []}
    width: list[float] = []
    for seed in seeds:
        x = correlated(seed, common)
        found = forecast.auto(trajectory(x[:83]), horizon=7, progress=False)
        at = np.arange(83.0, 90.0)
        sums, (low, high) = found.groups({0: "a"}, at), found.intervals(at)
        truth, value = x[83:].sum(axis=1), sums.values[:, -1, 0].numpy()
        half = (high.states - low.states)[..., 0].numpy() / 2
        inside["groups"].append(
            np.mean((truth >= sums.lower[:, -1, 0].numpy()) & (truth <= sums.upper[:, -1, 0].numpy()))
        )
        inside["added"].append(np.mean(np.abs(truth - value) <= half.sum(axis=1)))
        inside["independent"].append(np.mean(np.abs(truth - value) <= np.sqrt((half**2).sum(axis=1))))
        width.append(((sums.upper - sums.lower)[:, -1, 0].numpy() / (2 * half.sum(axis=1))).mean())
    return {**{way: np.mean(part) for way, part in inside.items()}, "width": np.mean(width)}


@pytest.mark.slow
def test_intervals_of_sums_hold_however_nodes_are_correlated() -> None:
    together, apart = intervals_of_total(0.9, range(24)), intervals_of_total(0.0, range(24))
    assert 0.8 <= together["groups"] <= 0.98
    assert 0.8 <= apart["groups"] <= 0.98
    assert together["independent"] < 0.6  # errors of nodes do not cancel
    assert apart["added"] > 0.98  # or they do, and added intervals are far too wide
    assert apart["width"] < 0.5


def test_groups_of_correlated_nodes_have_wider_intervals_than_those_of_others() -> None:
    widths = []
    for common in (0.9, 0.0):
        found = forecast.auto(trajectory(correlated(3, common)), horizon=5, progress=False)
        sums, (low, high) = found.groups({0: "a"}, [92.0]), found.intervals([92.0])
        widths.append(((sums.upper - sums.lower)[0, -1, 0] / (high.states - low.states).sum()).item())
    assert widths[0] > 0.6
    assert widths[1] < 0.45  # of 16 independent nodes, a quarter in theory


@pytest.mark.parametrize("rate", [0.1, *(pytest.param(rate, marks=pytest.mark.slow) for rate in (0.3, 1.5))])
def test_sums_of_rare_events_are_no_sums_of_medians(rate: float) -> None:
    cases = np.random.default_rng(0).poisson(rate, size=(90, 400))
    found = forecast.auto(trajectory(cases), horizon=3, progress=False)
    total = found.groups({0: "a"}, [90.0, 92.0]).values[:, -1, 0]
    assert (abs(total / (400 * rate) - 1) < 0.2).all()
    assert (found.predict([90.0]).states.sum() / (400 * rate) < 0.85).all()


def test_a_rise_that_was_not_foreseen_is_not_taken_for_skewness() -> None:
    level = 20 * np.exp(np.r_[np.zeros(40), 0.08 * np.arange(30)])
    cases = np.random.default_rng(1).poisson(level[:, None] * np.ones(30)).astype(float)
    found = forecast.auto(trajectory(cases), horizon=7, progress=False)
    ratio = found.mean([76.0]).states.sum() / found.predict([76.0]).states.sum()
    assert 0.97 < ratio < 1.05


def test_after_a_wave_nothing_is_added() -> None:
    level = np.r_[0.5 * np.ones(40), 8 * np.ones(12), 0.01 * np.ones(14)]
    cases = np.random.default_rng(2).poisson(level[:, None] * np.ones(60)).astype(float)
    found = forecast.auto(trajectory(cases), horizon=7, progress=False)
    assert found.mean([66.0]).states.sum() <= found.path[1].sum() + cases[-7:].mean(axis=0).sum()


def test_nodes_that_were_never_observed_are_in_no_sum(epidemic: np.ndarray) -> None:
    x = epidemic.copy()
    x[:, [2, 5]] = np.nan
    found = forecast.auto(trajectory(x, mask=np.isfinite(x)), horizon=3)
    sums = found.groups({k: "lost" if k in (2, 5) else "seen" for k in range(9)}, [80.0])
    assert sums.names == ("seen", "lost", "all nodes")
    for part in (sums.values, sums.lower, sums.upper):
        assert part[0, :, 0].isnan().tolist() == [False, True, False]
    assert sums.values[0, 0, 0] == sums.values[0, 2, 0]
    assert sums.notes == (
        "2 nodes without a forecast, never observed, and in no sum: 2, 5",
        "1 group without an observed node, left empty: 'lost'",
    )
    alone = forecast.auto(trajectory(np.delete(epidemic, [2, 5], axis=1)), horizon=3)
    own = alone.groups({0: "a"}, [80.0])
    assert (sums.upper - sums.lower)[0, 2, 0] == pytest.approx((own.upper - own.lower)[0, 1, 0].item(), rel=0.3)


def test_gaps_leave_intervals_alike(epidemic: np.ndarray) -> None:
    x = epidemic.copy()
    x[np.random.default_rng(0).random(x.shape) < 0.1] = np.nan
    at, groups = [82.0], dict.fromkeys(range(9), "a")
    gaps = forecast.auto(trajectory(x, mask=np.isfinite(x)), horizon=3).groups(groups, at)
    full = forecast.auto(trajectory(epidemic), horizon=3).groups(groups, at)
    assert (gaps.upper - gaps.lower)[0, 0, 0] == pytest.approx((full.upper - full.lower)[0, 0, 0].item(), rel=0.5)


def test_several_features_and_levels(epidemic: np.ndarray) -> None:
    x = np.stack([epidemic, correlated(1, 0.5, 9, 80)], axis=-1)
    found = forecast.auto(trajectory(x, features=("cases", "heat")), horizon=3)
    table = pd.DataFrame({"node": range(9), "region": list("aabbccdde"), "land": list("xxxxyyyyy")})
    sums = found.groups(table, [80.0, 81.0])
    assert sums.levels == ("region",) * 5 + ("land",) * 2 + ("total",)
    assert sums.values.shape == (2, 8, 2)
    for k in range(2):
        parts = sums.values[0, :, k].tolist()
        assert decimal_sum(parts[:5]) == decimal_sum(parts[5:7]) == Decimal(repr(parts[7]))
    narrow, wide = (found.groups({0: "a"}, [80.0], level) for level in (0.5, 0.9))
    assert (wide.upper - wide.lower > narrow.upper - narrow.lower).all()


def test_past_errors_come_back_from_files(epidemic: np.ndarray) -> None:
    found = forecast.auto(trajectory(epidemic), horizon=4)
    plain, tensors = found.to_state()
    again = forecast.Forecast.from_state(json.loads(json.dumps(plain)), tensors, found.graph)
    one, two = (part.groups({0: "a"}, [81.5]) for part in (found, again))
    assert one.values.equal(two.values)
    assert one.upper.equal(two.upper)
    for name in ("errors", "sizes", "now", "shift", "horizons"):
        broken = {**tensors, f"past.0.{name}": tensors[f"past.0.{name}"][..., :-1]}
        with pytest.raises(ValueError, match="past errors of 9 nodes were expected"):
            forecast.Forecast.from_state(plain, broken, found.graph)
    for name, value, message in (
        ("errors", np.inf, "numbers"),
        ("shift", np.nan, "numbers"),
        ("now", -1.0, "at least 0"),
    ):
        broken = {**tensors, f"past.0.{name}": tensors[f"past.0.{name}"].clone().fill_(value)}
        with pytest.raises(ValueError, match=message):
            forecast.Forecast.from_state(plain, broken, found.graph)
    missing = {name: value for name, value in tensors.items() if name != "past.0.now"}
    with pytest.raises(KeyError, match="now"):
        forecast.Forecast.from_state(plain, missing, found.graph)


def test_without_past_errors_it_says_what_to_do(epidemic: np.ndarray) -> None:
    found = replace(forecast.auto(trajectory(epidemic), horizon=4), past=())
    with pytest.raises(ValueError, match=r"written by ndcn 0\.2 or earlier\. Fit it again"):
        found.groups({0: "a"}, [80.0])
    np.testing.assert_allclose(found.mean([80.0]).states, found.predict([80.0]).states, atol=0.05)  # one decimal


def test_what_cannot_be_done_is_said(epidemic: np.ndarray) -> None:
    found = forecast.auto(trajectory(epidemic), horizon=4)
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        found.groups({0: "a"}, [80.0], level=1.5)
    with pytest.raises(ValueError, match="fit with a longer horizon"):
        found.groups({0: "a"}, [90.0])
    with pytest.raises(ValueError, match="none of its names is a node"):
        found.groups({"Rome": "a"}, [80.0])
    with pytest.raises(TypeError, match="groups must be"):
        found.groups(3, [80.0])


def test_residuals_of_a_group_are_those_of_its_sum() -> None:
    rng = np.random.default_rng(0)
    errors, sizes = rng.normal(size=(1, 40, 3)).astype(np.float32), np.ones((1, 40, 3), dtype=np.float32)
    errors[0, :20, 2] = np.nan
    past = Past(np.array([1]), errors, sizes, np.ones((1, 3)), np.zeros((1, 41)))
    found = past.of_groups([np.array([0, 1])])
    assert found.quantiles[0, 0, [0, 400]] == pytest.approx(
        [errors[0, :, :2].sum(axis=1).min() / np.sqrt(2), errors[0, :, :2].sum(axis=1).max() / np.sqrt(2)], rel=1e-5
    )
    assert found.counts.tolist() == [40]
    assert past.of_groups([np.array([2])]).counts.tolist() == [20]
