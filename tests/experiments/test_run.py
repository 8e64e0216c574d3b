"""One run, by hand and by the experiment."""

from __future__ import annotations

import pytest
import torch

import ndcn
from miniature import miniature
from ndcn.experiments.run import run_dynamics, truth, unpack
from ndcn.experiments.spec import load_table


def test_errors_are_those_of_the_last_epoch_on_the_papers_split() -> None:
    (one,) = miniature(runs=1, epochs=5).all_runs()
    result = run_dynamics(one.settings)
    graph = ndcn.networks.grid(16)
    times = ndcn.sampling.irregular_times(5.0, seed=0)
    data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
    parts = ndcn.split(data, seed=0)
    assert [len(part) for part in parts if part is not None] == [80, 20, 20]
    reg = ndcn.DynamicsRegressor(preset="paper", weight_decay=1e-3, epochs=5, seed=0).fit(parts.train)
    prediction = reg.predict(data.times)
    for name, part in parts._asdict().items():
        rows = torch.isin(data.times, part.times)
        assert result.scores[name]["normalized_l1"] == ndcn.metrics.normalized_l1(prediction[rows], part)
        assert result.scores[name]["l1"] == ndcn.metrics.l1(prediction[rows], part)
    assert result.parameters == 901
    assert result.states is None
    assert len(result.per_time["times"]) == len(result.per_time["l1"]) == len(result.per_time["truth"]) == 120


def test_the_same_settings_give_the_same_result() -> None:
    (one,) = miniature(runs=1).all_runs()
    assert run_dynamics(one.settings).scores == run_dynamics(one.settings).scores


def test_threads_and_generators_are_left_as_found() -> None:
    (one,) = miniature(runs=1).all_runs()
    before, state = torch.get_num_threads(), torch.random.get_rng_state()
    torch.set_num_threads(2)
    try:
        run_dynamics(one.settings)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert torch.random.get_rng_state().equal(state)


@pytest.mark.parametrize("model", [model.name for model in load_table("regular").models])
def test_every_model_of_the_regular_table_runs(model: str) -> None:
    (one,) = miniature("regular", models=[model], runs=1).all_runs()
    result = run_dynamics(one.settings, keep_states=one.keep_states)
    assert set(result.scores) == {"train", "extrapolation"}
    assert result.states is not None
    _, data = truth(one.settings)
    again = unpack(result.states, data)
    assert ndcn.metrics.l1(again[80:], data[80:]) == pytest.approx(result.scores["extrapolation"]["l1"], rel=1e-5)


@pytest.mark.parametrize("model", [model.name for model in load_table("interpolation").models])
def test_every_model_of_the_irregular_tables_runs(model: str) -> None:
    (one,) = miniature("interpolation", only=["gene/power_law"], models=[model], runs=1).all_runs()
    assert set(run_dynamics(one.settings).scores) == {"train", "interpolation", "extrapolation"}


def test_the_law_is_that_of_the_published_code_unless_the_printed_one_is_asked_for() -> None:
    for printed, e in ((False, 0.1), (True, 0.9)):
        table = miniature(only=["mutualistic/grid"], runs=1, printed=printed)
        (one,) = table.all_runs()
        _, data = truth(one.settings)
        graph = ndcn.networks.grid(16)
        law = ndcn.laws.Mutualistic(e=e, h=1 - e)
        assert torch.equal(data.states, ndcn.simulate(law, graph, ndcn.laws.initial_state(graph), data.times).states)


def test_seeds_draw_other_times_and_the_same_graph() -> None:
    first, second = (truth(one.settings)[1] for one in miniature(only=["heat/random"]).all_runs())
    assert first.graph == second.graph
    assert not torch.equal(first.times, second.times)
