"""`ndcn evaluate`: errors of models and of guesses."""

from __future__ import annotations

import json

import pytest
import torch

import ndcn
from commands import parsed, refused, run


def test_evaluate_scores_what_was_held_back(made):
    scores = parsed("evaluate", made / "model.ndcn", made / "data")
    parts = ndcn.split(ndcn.Trajectory.load(made / "data"))
    model = ndcn.load(made / "model.ndcn")
    for name, part in parts._asdict().items():
        guess = model.predict(part.times)
        assert scores[name]["snapshots"] == len(part)
        assert scores[name]["normalized_l1"] == pytest.approx(ndcn.metrics.normalized_l1(guess, part))
        assert scores[name]["l1"] == pytest.approx(ndcn.metrics.l1(guess, part))
        assert scores[name]["rmse"] == pytest.approx(ndcn.metrics.rmse(guess, part))
    table = run("evaluate", made / "model.ndcn", made / "data").stdout
    assert f"{100 * scores['interpolation']['normalized_l1']:.2f}" in table
    assert "extrapolation" in table


def test_evaluate_data_of_its_own_times(folder, made):
    data = ndcn.Trajectory.load(made / "data")
    data[-3:].save("late")
    told = parsed("evaluate", made / "model.ndcn", "late")
    assert told["train"] is None
    assert told["interpolation"] is None
    assert told["extrapolation"]["snapshots"] == 3
    assert told["extrapolation"]["persistence"] is None
    assert "nothing is compared with persistence" in told["notes"][0]
    said = run("evaluate", made / "model.ndcn", "late").stdout
    assert "train" not in said
    assert "extrapolation" in said
    mask = torch.ones_like(data.states, dtype=torch.bool)
    mask[-5:], mask[0, :7] = False, False
    holes = ndcn.Trajectory(times=data.times, states=data.states, graph=data.graph, mask=mask)
    holes.save("holes")
    scores = parsed("evaluate", made / "model.ndcn", "holes")
    assert scores["extrapolation"] is None
    assert scores["train"]["snapshots"] == 20


@pytest.mark.parametrize(("begin", "gap"), [(1.7e9, 1.0), (0.0, 1e-12)])
def test_evaluate_tells_near_times_apart(folder, begin, gap):
    graph = ndcn.networks.grid(9)
    states = torch.rand(10, 9, 1, generator=torch.Generator().manual_seed(0))
    times = begin + gap * torch.arange(10, dtype=torch.float64)
    data = ndcn.Trajectory(times=times, states=states, graph=graph)
    data.save("data")
    ndcn.DynamicsRegressor(epochs=2).fit(data[[0, 1, 3, 4, 6]]).save("model.ndcn")
    scores = parsed("evaluate", "model.ndcn", "data")
    assert [scores[name]["snapshots"] for name in ("train", "interpolation", "extrapolation")] == [5, 2, 3]


def test_evaluate_from_another_initial_state(folder, made):
    data = ndcn.Trajectory.load(made / "data")
    x0 = data.states[0].flip(0)
    ndcn.simulate(ndcn.laws.Heat(), data.graph, x0, data.times).save("other")
    result = run("evaluate", made / "model.ndcn", "other", "--json")
    scores = json.loads(result.stdout)
    assert "another state" in result.stderr
    assert scores["train"] is None
    assert scores["interpolation"]["snapshots"] + scores["extrapolation"]["snapshots"] == 29
    guess = ndcn.load(made / "model.ndcn").predict(data.times, x0=x0)
    after = data.times > ndcn.load(made / "model.ndcn").train_[0].times[-1]
    truth = ndcn.Trajectory.load("other")
    assert scores["extrapolation"]["l1"] == pytest.approx(ndcn.metrics.l1(guess[after], truth[after]))


def test_evaluate_gives_no_relative_error_where_all_is_zero(folder, made):
    data = ndcn.Trajectory.load(made / "data")
    states = torch.where((data.times > 4)[:, None, None], 0.0, data.states)
    ndcn.Trajectory(times=data.times, states=states, graph=data.graph).save("zero")
    data = ndcn.Trajectory.load("zero")
    data[(data.times > 4).numpy()].save("zero")
    scores = parsed("evaluate", made / "model.ndcn", "zero")
    assert scores["extrapolation"]["normalized_l1"] is None
    assert scores["extrapolation"]["l1"] > 0
    assert "  -" in run("evaluate", made / "model.ndcn", "zero").stdout


def test_evaluate_refuses_other_graphs_and_features(folder, made):
    run("simulate", "--nodes", 16, "--snapshots", 4)
    assert "another graph" in refused("evaluate", made / "model.ndcn", "data")
    data = ndcn.Trajectory.load(made / "data")
    ndcn.Trajectory(times=data.times, states=data.states, graph=data.graph, features=["heat"]).save("named")
    assert "heat" in refused("evaluate", made / "model.ndcn", "named")
    assert "no data folder" in refused("evaluate", made / "model.ndcn", "nowhere")
