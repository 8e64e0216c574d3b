"""Trained models among the candidates, and their failures."""

from __future__ import annotations

import numpy as np
import pytest

import ndcn
from ndcn import forecast
from ndcn._support import work
from ndcn.data.panel import Panel, panel_of
from ndcn.data.series_kind import kind_of
from ndcn.forecast import backtest, learned
from ndcn.forecast.candidates import candidates_for
from ndcn.forecast.learned import Learner
from ndcn.training import History

HORIZONS = np.array([1, 3])


@pytest.fixture
def panel(monkeypatch: pytest.MonkeyPatch) -> Panel:
    monkeypatch.setattr(learned, "EPOCHS", 5)
    return made()


def made() -> Panel:
    t = np.arange(40.0)
    x = 10 + np.sin(t / 6)[:, None] * np.linspace(1, 2, 9)
    return panel_of(ndcn.Trajectory(times=t, states=x, graph=ndcn.networks.grid(9)))


@pytest.mark.parametrize("name", ["ndcn", "gru_gnn"])
def test_forecasts_at_a_few_origins(panel: Panel, name: str) -> None:
    said = Learner(name, panel, kind_of(panel.values)).rolling(np.arange(10, 40), HORIZONS)
    have = np.flatnonzero(np.isfinite(said).all(axis=(1, 2))) + 10
    assert have.tolist() == [22, 29, 36, 39]
    assert np.abs(said[-1] - 10).max() < 20


@pytest.mark.parametrize(("name", "lengths"), [("gru_gnn", [40]), ("residual_gnn", [15] * 4), ("ndcn", [15] * 4)])
def test_only_models_that_continue_from_a_history_take_the_whole_series(
    panel: Panel, monkeypatch: pytest.MonkeyPatch, name: str, lengths: list[int]
) -> None:
    given: list[list[int]] = []
    fit = ndcn.DynamicsRegressor.fit

    def noted(self: ndcn.DynamicsRegressor, data: object) -> ndcn.DynamicsRegressor:
        given.append([len(run) for run in (data if isinstance(data, list) else [data])])
        return fit(self, data)

    monkeypatch.setattr(ndcn.DynamicsRegressor, "fit", noted)
    learner = Learner(name, panel, kind_of(panel.values))
    assert np.isfinite(learner.forecast(39, HORIZONS)).all(), learner.failures
    assert given == [lengths]


def test_an_explosion_is_said_and_not_raised(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: object) -> np.ndarray:
        raise ndcn.IntegrationError("the solution explodes at t = 2; use another solver", 2.0)

    learner = Learner("ndcn", panel, kind_of(panel.values))
    monkeypatch.setattr(learner, "_path", explode)
    assert np.isnan(learner.forecast(39, HORIZONS)).all()
    assert learner.failures == ["ndcn at snapshot 39: the solution explodes at t = 2"]
    monkeypatch.setattr(learner, "_path", lambda z, o, steps: np.full((len(steps), 9), 1e6))
    assert np.isnan(learner.forecast(39, HORIZONS)).all()
    assert "explodes" in learner.failures[1]


def test_time_is_limited(panel: Panel) -> None:
    learner = Learner("ndcn", panel, kind_of(panel.values), limit=0.0)
    said = learner.rolling(np.arange(10, 40), HORIZONS)
    assert np.isfinite(said).all(axis=(1, 2)).sum() == 1  # the last origin comes first
    assert learner.failures == ["ndcn: stopped after 0 seconds"]


def test_they_are_in_the_table(panel: Panel) -> None:
    data = ndcn.Trajectory(times=np.arange(40.0), states=panel.values, graph=panel.graphs[0])
    found = forecast.auto(data, horizon=3, learned=("ndcn",))
    assert any(name == "ndcn" and family == "learned" for name, family, _ in found.table.rows)
    assert found.predict([40.0]).states.isfinite().all()


@pytest.mark.slow
def test_several_are_trained_in_processes_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = made()
    kind = kind_of(panel.values)

    def compared(jobs: int) -> tuple[np.ndarray, list[list[str]]]:
        monkeypatch.setattr(work, "cores", lambda: jobs)
        learners = [Learner("rnn_gnn", panel, kind, limit=0.0), Learner("ndcn", panel, kind, limit=1e9)]
        trained = [learner.candidate() for learner in learners]
        tested = backtest.run(panel, [trained[0], *candidates_for(panel, kind)[:1], trained[1]], HORIZONS)
        assert tested.names == ("rnn_gnn", "persistence", "ndcn")
        return tested.forecasts, [learner.failures for learner in learners]

    alone, failures = compared(1)
    together, same = compared(2)
    np.testing.assert_array_equal(together, alone)
    assert np.isfinite(alone[1:, -1]).all()
    assert same == failures == [["rnn_gnn: stopped after 0 seconds"], []]


def test_ctrl_c_while_a_model_trains_ends_the_comparison(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(task: object, plan: object, history: History, *, resume: bool) -> None:
        history.stopped = "interrupted"  # as training leaves it: the best weights are kept, nothing is raised

    monkeypatch.setattr(ndcn.regressor.kinds.trained_module, "train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Learner("ndcn", panel, kind_of(panel.values)).forecast(39, HORIZONS)
