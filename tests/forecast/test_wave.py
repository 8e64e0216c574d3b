"""The common wave: delays and levels found, rises that end, and no node that moves the others."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import ndcn
from ndcn.data import Panel, panel_of
from ndcn.forecast import auto, wave
from ndcn.forecast.backtest import FIRST
from ndcn.forecast.candidates import candidates_for
from ndcn.forecast.ridge import common_mean
from ndcn.forecast.transforms import View

DAYS = np.arange(70.0)
DELAYS = np.array([-5, -3, -2, -1, 0, 0, 1, 2, 3, 5])


def cases(delays: np.ndarray, peak: float = 30.0) -> np.ndarray:
    """A wave of width 12 days with a level and a delay for each node."""
    scale = 2000.0 * np.linspace(1.0, 3.0, len(delays))
    return scale * np.exp(-(((DAYS[:, None] - delays - peak) / 12.0) ** 2))


def trajectory(states: np.ndarray) -> ndcn.Trajectory:
    times, graph = np.arange(float(len(states))), ndcn.networks.grid(states.shape[1])
    return ndcn.Trajectory(times=times, states=states, graph=graph, mask=np.isfinite(states))


def panel(states: np.ndarray, **more: str) -> Panel:
    return panel_of(trajectory(states), **more)


def found_delays(one: Panel, origin: int) -> np.ndarray:
    y = View("log", one.kind.cumulative, one.kind.window).series(one.values)
    weights = wave.delay_weights(y, common_mean(one, y)[:, 0], np.array([origin]), one.kind.window)
    assert np.allclose(weights.sum(axis=1), 1.0)
    return np.asarray(np.arange(-wave.MOST_DELAY, wave.MOST_DELAY + 1) @ weights[0])


def errors(one: Panel, origins: np.ndarray, horizons: np.ndarray) -> np.ndarray:
    said = wave.forecasts(one, origins, horizons)
    return np.asarray(np.abs(said - one.values[origins[:, None] + horizons]).mean(axis=(0, 2)))


def test_delays_are_found_from_the_past() -> None:
    """Ten days after the peak to half a day; three days after it, shrunk towards each other and in order."""
    one = panel(cases(DELAYS))
    assert np.abs(found_delays(one, 40) - DELAYS).max() < 0.5
    early = found_delays(one, 33)
    assert (np.diff(early) >= -1e-9).all()
    assert np.ptp(early) < np.ptp(DELAYS)


def test_nodes_without_a_wave_are_in_step() -> None:
    """Noise says nothing about delays: they stay near 0."""
    noise = np.random.default_rng(0).poisson(50.0, size=(60, 12)).astype(float)
    assert np.abs(found_delays(panel(noise), 50)).max() < 2.5


def test_the_fall_is_foreseen() -> None:
    """From the peak on, a week and a fortnight ahead."""
    one, origins, horizons = panel(cases(DELAYS)), np.arange(30, 40), np.array([7, 14])
    mine = errors(one, origins, horizons)
    still = np.abs(one.values[origins][:, None] - one.values[origins[:, None] + horizons]).mean(axis=(0, 2))
    assert mine[0] < 0.6 * still[0]
    assert mine[1] < 0.4 * still[1]


def test_those_ahead_tell_the_future_of_those_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    one, origins, horizons = panel(cases(DELAYS)), np.arange(28, 38), np.array([3])
    mine = errors(one, origins, horizons)
    monkeypatch.setattr(wave, "SPREAD", 1e-3)  # all nodes in step
    assert (mine < 0.8 * errors(one, origins, horizons)).all()


def test_a_rise_ends() -> None:
    """15 % a day is not forecast for ever: the last week's mean rises by less than it did, and by no more after a while."""
    one = panel(10.0 * np.exp(0.15 * np.arange(40.0))[:, None] * np.linspace(1.0, 2.0, 9), kind="counts")
    said = wave.forecasts(one, np.array([39]), np.array([7, 14, 28]))[0] / one.values[33:40].mean(axis=0)
    assert (said > 1.0).all()
    assert (said < np.exp(0.15 * 7)).all()
    assert (said[2] / said[1] < 1.01).all()


def test_a_week_is_no_trend() -> None:
    """The share of each weekday is found in a rise, and is 1 where days do not differ."""
    week = np.array([0.6, 0.9, 1.2, 1.3, 1.2, 1.0, 0.8])
    rise = 50.0 * np.exp(0.1 * np.arange(49.0))[:, None] * np.ones(6)
    origin = np.array([48])
    assert wave.shape(panel(rise), origin, 7, 7).ravel() == pytest.approx(np.ones(7), abs=0.02)
    found = wave.shape(panel(rise * week[np.arange(49) % 7][:, None]), origin, 7, 7).ravel()
    assert np.corrcoef(found, week)[0, 1] > 0.98
    assert found.max() / found.min() > 0.7 * 1.3 / 0.6


def test_totals_never_fall() -> None:
    totals = np.cumsum(np.random.default_rng(1).poisson(cases(DELAYS) / 50), axis=0).astype(float)
    one = panel(totals)
    assert one.kind.cumulative
    origins = np.arange(FIRST, len(totals))
    said = wave.forecasts(one, origins, np.arange(1, 15))
    assert (np.diff(np.concatenate([one.values[origins][:, None], said], axis=1), axis=1) >= 0).all()


def test_the_future_is_not_used() -> None:
    """Any origin from the first one on, whatever comes after it."""
    whole, horizons = panel(np.round(cases(DELAYS)), kind="counts"), np.array([1, 7, 14])
    for o in (FIRST, 20, 40):
        cut = dataclasses.replace(
            whole, values=whole.values[: o + 1], observed=whole.observed[: o + 1], breaks=whole.breaks[: o + 1]
        )
        mine = wave.forecasts(cut, np.array([o]), horizons)
        assert np.allclose(mine, wave.forecasts(whole, np.array([o]), horizons), rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_one_wrong_node_moves_no_other(factor: float) -> None:
    """A node in another unit, of 60: the forecasts of others move by less than 2 %."""
    delays = np.random.default_rng(3).integers(-4, 5, size=60)
    right = cases(delays)
    wrong = right.copy()
    wrong[:, 7] = wrong[::-1, 7] * factor  # and its wave runs backwards
    horizons = np.array([1, 7, 14])
    said = [wave.forecasts(panel(states), np.array([35]), horizons)[0] for states in (right, wrong)]
    others = np.arange(60) != 7
    assert (np.abs(said[1] / said[0] - 1.0)[:, others]).max() < 0.02


def test_a_silent_node_follows_the_others() -> None:
    """Not observed for the last ten days: forecast from its level and the common course; never observed: finite, unused."""
    states = cases(DELAYS)
    silent = states.copy()
    silent[26:36, 4] = np.nan
    silent[:, 9] = np.nan
    one = panel(silent[:36])
    said = wave.forecasts(one, np.array([35]), np.array([7]))[0, 0]
    assert np.isfinite(said).all()
    assert abs(said[4] - states[42, 4]) < 0.5 * abs(one.values[35, 4] - states[42, 4])
    found = auto(trajectory(silent[:36]), horizon=7)
    assert bool(found.predict([42.0]).states[0, 9, 0].isnan())


def test_only_values_of_at_least_zero_have_waves() -> None:
    """Others have no logarithm."""
    around = np.random.default_rng(0).normal(size=(60, 8))
    for states, there in ((around, False), (np.abs(around), True)):
        one = panel(states)
        assert ("common wave" in [c.name for c in candidates_for(one, one.kind)]) is there
