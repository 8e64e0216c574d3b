"""DynamicsRegressor: what it predicts, from other starts and on other graphs, and how that is scored."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

import ndcn
from ndcn import DynamicsRegressor, Field, Graph, IntegrationError, Solver, Trajectory, laws, networks
from problems import states
from small_runs import DATA, GRAPH, TIMES, X0, regressor


@pytest.fixture(scope="module")
def fitted() -> DynamicsRegressor:
    return regressor(epochs=60).fit(DATA)


def test_the_answer_at_a_time_does_not_depend_on_the_others(fitted: DynamicsRegressor) -> None:
    times = [0.01, 0.777, 1.5, 2.9]
    together = fitted.predict(times).states
    for k, t in enumerate(times):
        torch.testing.assert_close(fitted.predict([t]).states[0], together[k], rtol=1e-6, atol=1e-6)
    assert torch.equal(fitted.predict(torch.linspace(0, 3, 50).tolist() + times).states[-4:], together)


@pytest.fixture(scope="module")
def stepping() -> DynamicsRegressor:
    return regressor(preset="paper", epochs=60).fit(DATA)


def test_with_the_papers_stepping_it_does(stepping: DynamicsRegressor) -> None:
    alone, among = stepping.predict([2.5]).states[0], stepping.predict([2.2, 2.5]).states[1]
    assert (alone - among).abs().max() > 1e-6


def test_the_papers_stepping_takes_the_training_times_too(stepping: DynamicsRegressor) -> None:
    everything = stepping.predict([*DATA.times.tolist(), 2.5])
    alone = stepping.predict([2.5])
    assert torch.equal(alone.states[0], everything.states[-1])
    assert alone.times.tolist() == [2.5]
    assert alone.statistics == everything.statistics
    assert torch.equal(stepping.predict(DATA.times[[5, 3]]).states, everything.states[[5, 3]])
    other = networks.power_law(20, seed=0)
    x0 = states(other, 1).float()
    elsewhere = stepping.predict([*DATA.times.tolist(), 2.5], graph=other, x0=x0)
    assert torch.equal(stepping.predict([2.5], graph=other, x0=x0).states[0], elsewhere.states[-1])
    later = stepping.predict([12.5], x0=X0, t0=10.0)  # the same steps, begun at another time
    torch.testing.assert_close(later.states, alone.states, rtol=1e-4, atol=1e-4)


def test_extrapolation_with_the_papers_recipe() -> None:
    parts = ndcn.split(ndcn.simulate(laws.Heat(), GRAPH, X0, ndcn.sampling.irregular_times(2.0, count=60, seed=0)))
    reg = regressor(preset="paper", epochs=200).fit(parts.train)
    assert ndcn.metrics.normalized_l1(reg.predict(parts.extrapolation.times[-1:]), parts.extrapolation[-1]) < 0.3


def test_repeated_and_unsorted_times_come_back_as_asked(fitted: DynamicsRegressor) -> None:
    asked = [1.0, 0.0, 2.5, 1.0]
    found = fitted.predict(asked)
    assert found.times.tolist() == asked
    assert torch.equal(found.states[0], found.states[3])
    assert torch.equal(found.states, fitted.predict([0.0, 1.0, 2.5]).states[[1, 0, 2, 1]])


def test_prediction_before_the_first_time_is_refused() -> None:
    late = Trajectory(times=DATA.times + 1, states=DATA.states, graph=GRAPH)
    reg = regressor(epochs=2).fit(late)
    assert reg.predict([1.0]).states.isfinite().all()
    with pytest.raises(ValueError, match=r"cannot predict t = 0.5: the first training time is 1"):
        reg.predict([2.0, 0.5])
    for times in ([], [math.nan], [math.inf], [-1.0], ["noon"], [[1.0]]):
        with pytest.raises(ValueError, match="times must be"):
            reg.predict(times)


@pytest.mark.parametrize(("begin", "unit", "before"), [(1.7e9, 1.0, 1000.0), (1.7e9, 1e4, 1.0), (1e-8, 1e-8, 1e-8)])
def test_before_the_first_time_is_a_matter_of_the_window(begin: float, unit: float, before: float) -> None:
    reg = regressor(epochs=2).fit(Trajectory(times=begin + unit * DATA.times, states=DATA.states, graph=GRAPH))
    assert torch.equal(reg.predict([begin - 1e-7 * unit]).states, reg.predict([begin]).states)  # rounded times
    with pytest.raises(ValueError, match="the first training time is"):
        reg.predict([begin - before])


def test_a_start_at_another_time(fitted: DynamicsRegressor) -> None:
    late = fitted.predict([5.5, 7.0], x0=X0, t0=5.0)
    assert late.times.tolist() == [5.5, 7.0]
    torch.testing.assert_close(late.states, fitted.predict([0.5, 2.0]).states, rtol=1e-4, atol=1e-4)
    shifted = Trajectory(times=DATA.times + 5, states=DATA.states, graph=GRAPH)
    both = regressor(epochs=60).fit([DATA, shifted])
    assert both.score(shifted, x0=X0, t0=5.0) == pytest.approx(both.score(DATA), abs=1e-3)
    assert both.score(shifted, x0=X0) < both.score(DATA) - 0.01
    with pytest.raises(ValueError, match=r"cannot predict t = 4: the state x0 is given at 5"):
        fitted.predict([4.0], x0=X0, t0=5.0)
    with pytest.raises(ValueError, match="give x0 too"):
        fitted.predict([4.0], t0=1.0)
    for wrong in (math.nan, "noon"):
        with pytest.raises(ValueError, match="t0 must be a finite number"):
            fitted.predict([4.0], x0=X0, t0=wrong)


def test_another_graph_and_start(fitted: DynamicsRegressor) -> None:
    other = networks.power_law(20, seed=0)
    x0 = states(other, 1).float()
    found = fitted.predict([0.0, 1.0], graph=other, x0=x0)
    assert found.states.shape == (2, 20, 1)
    assert found.graph is other
    assert torch.equal(fitted.predict([1.0], x0=X0).states, fitted.predict([1.0]).states)
    assert torch.equal(fitted.predict([1.0], graph=networks.grid(9)).states, fitted.predict([1.0]).states)
    assert torch.equal(fitted.predict([1.0], x0=X0[:, 0].numpy()).states, fitted.predict([1.0]).states)
    assert not torch.equal(fitted.predict([1.0], x0=2 * X0).states, fitted.predict([1.0]).states)


def test_a_law_learned_on_one_graph_runs_on_another() -> None:
    model = laws.Heat(nn.Parameter(torch.tensor(0.3)))
    reg = regressor(model, epochs=80, learning_rate=0.1, solver=Solver("rk4", step_size=0.1)).fit(DATA)
    other = networks.power_law(20, seed=0)
    truth = ndcn.simulate(laws.Heat(), other, states(other, 1).float(), [0.0, 0.1, 0.3])
    assert reg.score(truth, x0=truth.states[0]) > 0.99


def test_wrong_graphs_and_starts(fitted: DynamicsRegressor) -> None:
    other = networks.grid(16)
    with pytest.raises(ValueError, match="another graph needs its initial state"):
        fitted.predict([1.0], graph=other)
    with pytest.raises(TypeError, match=r"graph must be an ndcn.Graph, got ndarray"):
        fitted.predict([1.0], graph=np.eye(9))
    with pytest.raises(ValueError, match=r"x0 must have shape \(n, d\) with n = 16"):
        fitted.predict([1.0], graph=other, x0=X0)
    with pytest.raises(ValueError, match="x0 has 2 features, the model was trained on 1"):
        fitted.predict([1.0], x0=X0.expand(9, 2))
    with pytest.raises(ValueError, match="NaN or infinite"):
        fitted.predict([1.0], x0=X0 * math.nan)


def test_an_explosion_in_prediction_is_an_error() -> None:
    class Growth(Field):
        def __init__(self) -> None:
            super().__init__()
            self.k = nn.Parameter(torch.tensor(1.0))

        def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
            return self.k * x * x

    data = Trajectory(times=[0.0, 0.1], states=torch.ones(2, 9, 1), graph=GRAPH)
    reg = regressor(Growth(), epochs=1, learning_rate=1e-6).fit(data)
    with pytest.raises(IntegrationError) as caught:
        reg.predict([2.0])
    assert caught.value.time == pytest.approx(1.0, abs=1e-2)


def test_score(fitted: DynamicsRegressor) -> None:
    prediction = fitted.predict(DATA.times)
    assert fitted.score(prediction) == 1.0
    x, y = DATA.states.double(), prediction.states.double()
    expected = 1 - (x - y).square().sum() / (x - x.mean()).square().sum()
    assert fitted.score(DATA) == pytest.approx(expected.item())
    mask = torch.ones(15, 9, 1, dtype=torch.bool)
    mask[3:7, 2:5] = False
    masked = Trajectory(times=TIMES, states=torch.where(mask, DATA.states, math.nan), graph=GRAPH, mask=mask)
    seen = mask[..., 0]
    expected = 1 - (x - y)[seen].square().sum() / (x[seen] - x[seen].mean()).square().sum()
    assert fitted.score(masked) == pytest.approx(expected.item())


def test_score_refuses_what_cannot_be_compared(fitted: DynamicsRegressor) -> None:
    wide = Trajectory(times=TIMES, states=DATA.states.expand(-1, -1, 3), graph=GRAPH)
    with pytest.raises(ValueError, match=r"the prediction has shape \(15, 9, 1\).*the truth \(15, 9, 3\)"):
        fitted.score(wide)
    still = Trajectory(times=TIMES, states=torch.ones(15, 9, 1), graph=GRAPH)
    with pytest.raises(ValueError, match="do not vary"):
        fitted.score(still)
