"""What is used at a horizon: the combination, the simple guesses, or persistence where both lost to it."""

from __future__ import annotations

import numpy as np
import pytest

import ndcn
from ndcn.data.panel import Panel, panel_of
from ndcn.forecast import backtest
from ndcn.forecast.backtest import Backtest
from ndcn.forecast.candidates import candidates_for
from ndcn.forecast.rule import node_trust, online


def backtested(x: np.ndarray) -> tuple[Panel, Backtest]:
    graph = ndcn.networks.small_world(x.shape[1], seed=0)
    panel = panel_of(ndcn.Trajectory(times=np.arange(len(x)) * 1.0, states=x, graph=graph))
    return panel, backtest.run(panel, candidates_for(panel, panel.kind), np.array([1, 3]))


@pytest.fixture(scope="module")
def walk() -> tuple[Panel, Backtest]:
    return backtested(np.cumsum(np.random.default_rng(0).normal(size=(120, 10)), axis=0))


def test_origins_are_spread_over_several_horizons() -> None:
    found = backtest.past_origins(721, 24, [])
    assert found[-1] == 720
    assert (found + 24 < 721).sum() >= 40
    assert np.ptp(found) >= 8 * 24  # forty hours in a row are one weather
    few = backtest.past_origins(70, 14, [])
    assert (np.diff(few) == 1).all()  # of few data nothing is left out
    week = backtest.past_origins(2000, 168, [24, 168])
    assert np.ptp(week) >= 8 * 168


@pytest.mark.parametrize("lost", ["weights", "guesses", "both"])
def test_who_lost_is_not_used(walk: tuple[Panel, Backtest], lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    panel, past = walk
    worst = np.eye(len(past.names))[int(past.past(0, len(past.origins) - 1).argmax())]
    for name in ("weights", "guesses") if lost == "both" else (lost,):
        monkeypatch.setattr(Backtest, name, lambda self, k, at: worst)
    rule = online(panel, past, 0)
    if lost != "guesses":
        assert rule.shares[0] == 0.0
        assert rule.kept != "combination"
    if lost != "weights":
        assert rule.shares[1] == 0.0
    if lost == "both":
        said = past.forecasts[:, -1, 0]
        assert rule.kept == 0
        np.testing.assert_allclose(rule.mixed(said), said[0])
    assert rule.past[0] <= 1.02


def test_a_node_falls_back_by_its_own_errors(walk: tuple[Panel, Backtest]) -> None:
    panel, past = walk
    origins = past.origins
    judged = origins + 1 < len(panel)
    said = panel.values[origins] + 0.1
    said[:, 3] += 50.0
    trust = node_trust(panel, origins, 1, said, judged)[-1]
    assert trust[3] < 1e-3
    assert np.delete(trust, 3).min() > 0.99
