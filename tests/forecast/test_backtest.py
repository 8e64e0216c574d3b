"""Rolling origins: nothing looks ahead, and nothing depends on the order of the nodes."""

from __future__ import annotations

import numpy as np
import pytest

import ndcn
from ndcn.data.panel import Panel, panel_of
from ndcn.data.series_kind import kind_of
from ndcn.forecast import backtest
from ndcn.forecast.candidates import _smoothed, candidates_for
from ndcn.forecast.simple import Smoothing
from ndcn.forecast.transforms import View

HORIZONS = np.array([1, 3, 7])
DATA = {
    "counts": lambda rng: rng.poisson(20 + 10 * np.sin(np.arange(60) / 9)[:, None], size=(60, 9)).astype(float),
    "totals": lambda rng: np.cumsum(rng.poisson(5, size=(60, 9)), axis=0).astype(float),
    "centred": lambda rng: rng.normal(size=(60, 9)),
}

ROOTS = ("raw", "sqrt")
LATE = np.array([59]), np.array([14])


def panel(x: np.ndarray, graph: ndcn.Graph | None = None) -> Panel:
    graph = graph or ndcn.networks.random(9, seed=1)
    data = ndcn.Trajectory(times=np.arange(len(x)) * 1.0, states=x, graph=graph)
    return panel_of(data, keep_outliers=True)  # which are told apart by what comes after them


@pytest.mark.parametrize("name", list(DATA))
def test_the_future_does_not_change_a_forecast(name: str) -> None:
    x = DATA[name](np.random.default_rng(0))
    kind, origins = kind_of(x), np.array([20, 39])
    other = x.copy()
    other[40:] = other[40:] * 3 + 100
    for mine, theirs in zip(candidates_for(panel(x), kind), candidates_for(panel(other), kind), strict=True):
        a, b = mine.rolling(origins, HORIZONS), theirs.rolling(origins, HORIZONS)
        np.testing.assert_array_equal(a, b, err_msg=mine.name)
        short = candidates_for(panel(x[:40]), kind)
        same = next(c for c in short if c.name == mine.name).rolling(origins, HORIZONS)
        np.testing.assert_allclose(a, same, rtol=1e-9, atol=1e-9, err_msg=mine.name)


@pytest.mark.parametrize("name", list(DATA))
def test_the_order_of_nodes_does_not_matter(name: str) -> None:
    x, rng = DATA[name](np.random.default_rng(1)), np.random.default_rng(2)
    A, order, kind = rng.random((9, 9)) * (rng.random((9, 9)) > 0.5), rng.permutation(9), kind_of(x)
    mine = candidates_for(panel(x, ndcn.Graph.from_dense(A)), kind)
    theirs = candidates_for(panel(x[:, order], ndcn.Graph.from_dense(A[np.ix_(order, order)])), kind)
    origins = np.array([30, 59])
    for a, b in zip(mine, theirs, strict=True):
        expected = a.rolling(origins, HORIZONS)[..., order]
        np.testing.assert_allclose(b.rolling(origins, HORIZONS), expected, rtol=1e-6, atol=1e-6, err_msg=a.name)


def test_names_are_distinct() -> None:
    for make in DATA.values():
        x = make(np.random.default_rng(0))
        names = [c.name for c in candidates_for(panel(x), kind_of(x))]
        assert len(set(names)) == len(names)
        assert names[0] == "persistence"  # by which errors are measured


def test_levels_of_roots_are_no_sums() -> None:
    """Bursts of 36 every fourth day, 126 a fortnight: the level of the root says less than half, so totals have none of it."""
    bursts = np.where(np.arange(60) % 4 == 0, 36.0, 0.0)[:, None] * np.ones(9)
    smooth = Smoothing(alphas=(0.1,), betas=(0.0,))
    said = {
        f: float(_smoothed(panel(np.cumsum(bursts, axis=0)), View(f, True), smooth, None)(*LATE)[0, 0, 0])
        for f in ROOTS
    }
    start = float(bursts[:60, 0].sum())
    assert abs(said["raw"] - start - 126) < 30
    assert said["sqrt"] - start < 63
    for x, there in ((bursts, True), (np.cumsum(bursts, axis=0), False)):
        names = [c.name for c in candidates_for(panel(x), kind_of(x))]
        assert "level" in names
        assert ("level sqrt" in names) is there


def test_errors_and_choices_use_what_was_known() -> None:
    x = DATA["counts"](np.random.default_rng(3))
    tested = backtest.run(panel(x), candidates_for(panel(x), kind_of(x)), HORIZONS)
    assert tested.origins[-1] == 59
    k, at = 2, int(np.flatnonzero(tested.origins == 40)[0])
    assert tested.origins[tested.known(k, at)].max() == 33
    o = tested.origins[at]
    np.testing.assert_allclose(tested.errors[0, at, k], np.abs(x[o + 7] - x[o]).mean(), rtol=1e-6)
    assert np.isnan(tested.errors[:, -1]).all()
    spoiled = tested.errors.copy()
    spoiled[:, tested.origins[:, None] + HORIZONS > tested.origins[at]] = 1e9
    changed = backtest.Backtest(tested.names, tested.families, tested.origins, HORIZONS, tested.forecasts, spoiled)
    np.testing.assert_array_equal(changed.likely(k, at), tested.likely(k, at))
    assert not np.allclose(changed.likely(k, at + 1), tested.likely(k, at + 1))
    at_one = tested.past(0, at)
    np.testing.assert_allclose(tested.likely(0, at), at_one)
    np.testing.assert_allclose(
        tested.likely(2, at) ** 4, at_one * tested.past(1, at) * tested.past(2, at) ** 2, rtol=1e-9
    )
    assert changed.guess(k, at) == tested.guess(k, at)
    assert tested.families[tested.guess(k, at)] in ("guess", "smoothing")


def test_missing_entries_are_not_judged() -> None:
    x = DATA["counts"](np.random.default_rng(4))
    gaps = x.copy()
    gaps[45, 3] = np.nan
    graph = ndcn.networks.random(9, seed=1)
    data = ndcn.Trajectory(times=np.arange(60.0), states=gaps, graph=graph, mask=np.isfinite(gaps))
    held = panel_of(data)
    assert held.values[45, 3] == x[44, 3]
    assert "missing" in held.notes[0]
    tested = backtest.run(held, candidates_for(held, kind_of(held.values))[:1], np.array([1]))
    at = int(np.flatnonzero(tested.origins == 44)[0])
    others = [0, 1, 2, 4, 5, 6, 7, 8]
    np.testing.assert_allclose(tested.errors[0, at, 0], np.abs(x[45] - x[44])[others].mean(), rtol=1e-6)


def test_unequal_times_are_held_on_a_grid() -> None:
    times = np.concatenate([np.arange(15.0), [16.0, 17.0, 19.5, 20.0]])
    x = np.arange(19.0)[:, None] * np.ones(4)
    held = panel_of(ndcn.Trajectory(times=times, states=x, graph=ndcn.networks.grid(4)))
    assert held.step == 1.0
    assert held.values[15:, 0].tolist() == [14.0, 15.0, 16.0, 16.0, 16.0, 18.0]
    assert held.observed[15:, 0].tolist() == [False, True, True, False, False, True]
    assert "not equally spaced" in held.notes[0]


def test_one_wrong_time_makes_no_huge_grid() -> None:
    times = np.append(np.arange(30.0), 1e9)
    data = ndcn.Trajectory(times=times, states=np.ones((31, 9)), graph=ndcn.networks.grid(9))
    with pytest.raises(ValueError, match=r"1e\+09 between t = 29 and 1e\+09: too much.*Is a time wrong"):
        panel_of(data)


@pytest.mark.parametrize("signed", [False, True], ids=["positive", "signed"])
def test_a_daily_pattern_of_hours_is_carried_on(signed: bool) -> None:
    t, rng = np.arange(10 * 24), np.random.default_rng(0)
    day = np.where((t % 24 > 6) & (t % 24 < 10), 5.0, 0.0)[:, None] + 0.2 * rng.normal(size=(len(t), 9))
    x = day - 2 if signed else day + 2
    kind = kind_of(x)
    assert (kind.period, kind.window, kind.positive) == (24, 24, not signed)
    held, origins = panel(x), np.arange(8 * 24, 9 * 24)
    error = {}
    for one in candidates_for(held, kind):
        error[one.name] = np.abs(one.rolling(origins, np.array([5]))[:, 0] - x[origins + 5]).mean()
    best = min(value for name, value in error.items() if "season" in name and name != "seasonal")
    assert best < 0.5 * error["persistence"]
    assert ("last season and level" in error) == signed
