"""DynamicsRegressor: what it learns from, what it predicts, and what it refuses."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from torch import nn

import ndcn
from ndcn import (
    CrossEntropy,
    DynamicsRegressor,
    Field,
    Graph,
    GraphODE,
    IntegrationError,
    Objective,
    Solver,
    Trajectory,
    laws,
    networks,
)
from problems import GRAPHS, SIGNED_GRAPHS, states

GRAPH = networks.grid(9)
X0 = torch.linspace(0.2, 2.0, 9).reshape(9, 1)
TIMES = ndcn.sampling.irregular_times(2.0, count=15, seed=0)
DATA = ndcn.simulate(laws.Heat(), GRAPH, X0, TIMES)
NAMES = ["ndcn", "no_encode", "no_graph", "no_control"]


def regressor(model: str | nn.Module = "ndcn", **settings: object) -> DynamicsRegressor:
    if isinstance(model, str):
        settings = {"hidden": 4, **settings}
    return DynamicsRegressor(model, **{"epochs": 15, **settings})


@pytest.fixture(scope="module")
def fitted() -> DynamicsRegressor:
    return regressor(epochs=60).fit(DATA)


# What it learns from ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize("name", NAMES)
def test_every_named_model_learns_and_predicts(name: str, preset: str) -> None:
    reg = regressor(name, preset=preset, epochs=30).fit(DATA)
    assert reg.history_.loss[-1] < reg.history_.loss[0]
    found = reg.predict([0.0, 1.0, 3.0])
    assert found.states.shape == (3, 9, 1)
    assert found.states.dtype == torch.float32
    assert found.statistics.accepted_steps > 0
    assert found.graph == GRAPH


def test_the_recipes() -> None:
    default, paper = regressor(epochs=2).fit(DATA), regressor(epochs=2, preset="paper").fit(DATA)
    assert default.solver_ == Solver("euler", step_size=0.1)
    assert paper.solver_ == Solver("euler", step_size="observations")
    last = DATA.times[-1].item()
    assert default.units_.rate == pytest.approx(5 / last)
    torch.testing.assert_close(default.units_.scale, DATA.states.double().abs().mean(dim=(0, 1)))
    assert (paper.units_.rate, paper.units_.origin, paper.units_.scale.tolist()) == (1.0, 0.0, [1.0])
    assert regressor(solver=Solver("rk4", step_size=0.5), epochs=2).fit(DATA).solver_.method == "rk4"


def test_the_loss_is_that_of_the_first_weights_in_scaled_units() -> None:
    reg = regressor(epochs=1, learning_rate=1e-12).fit(DATA)
    prediction = reg.predict(DATA.times)
    expected = (prediction.states - DATA.states).abs().mean() / DATA.states.mean()
    assert reg.history_.loss[0] == pytest.approx(expected.item(), rel=1e-4)


def test_units_do_not_change_what_is_learned() -> None:
    other = Trajectory(times=10 + 3 * DATA.times, states=7 * DATA.states, graph=GRAPH)
    one, two = regressor(epochs=40, dtype="float64").fit(DATA), regressor(epochs=40, dtype="float64").fit(other)
    a, b = one.predict([0.3, 1.7]).states, two.predict([10 + 0.9, 10 + 5.1]).states
    torch.testing.assert_close(b, 7 * a, rtol=1e-3, atol=1e-3)


def test_several_trajectories_with_other_graphs_and_starts() -> None:
    star = Graph.from_edges([(0, k) for k in range(1, 6)])
    starts = [(GRAPH, X0), (GRAPH, X0.flip(0) * 2), (star, torch.linspace(3, 0.1, 6).reshape(6, 1))]
    data = [ndcn.simulate(laws.Heat(0.5), g, x, TIMES[: 15 - 2 * k]) for k, (g, x) in enumerate(starts)]
    reg = regressor(epochs=100).fit(data)
    assert reg.history_.loss[-1] < 0.5 * reg.history_.loss[0]
    for trajectory, (graph, x0) in zip(data, starts, strict=True):
        assert reg.score(trajectory, x0=x0) > 0.5
        assert reg.predict(trajectory.times, graph=graph, x0=x0).states.shape == trajectory.states.shape
    alone = regressor(epochs=1, learning_rate=1e-12)
    losses = [alone.fit([d, *[o for o in data if o is not d]]).history_.loss[0] for d in data]
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-5)  # the mean over trajectories, in any order


def test_trajectories_that_begin_at_different_times() -> None:
    later = Trajectory(times=DATA.times + 5, states=DATA.states, graph=GRAPH)
    reg = regressor(preset="paper", epochs=1, learning_rate=1e-12).fit([DATA, later])
    alone = regressor(preset="paper", epochs=1, learning_rate=1e-12).fit(DATA)
    assert reg.history_.loss[0] == pytest.approx(alone.history_.loss[0], rel=1e-5)  # NDCN does not depend on time


def test_missing_entries_never_count() -> None:
    mask = torch.rand(15, 9, 1, generator=torch.Generator().manual_seed(0)) > 0.4
    mask[0, :3] = False  # also in the first snapshot
    mask[:, 8] = False  # and a node that is never seen
    found = []
    for hidden in (math.nan, 1e6):
        data = Trajectory(times=TIMES, states=torch.where(mask, DATA.states, hidden), graph=GRAPH, mask=mask)
        found.append(regressor(epochs=40).fit(data))
    assert all(
        torch.equal(a, b) for a, b in zip(found[0].model_.parameters(), found[1].model_.parameters(), strict=True)
    )
    assert found[0].history_.loss[-1] < 0.6 * found[0].history_.loss[0]
    prediction = found[0].predict(TIMES)
    assert prediction.states.isfinite().all()
    assert prediction.mask is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("data_dtype", [torch.float32, torch.float64])
def test_dtypes(dtype: str, data_dtype: torch.dtype) -> None:
    data = Trajectory(times=TIMES, states=DATA.states.to(data_dtype), graph=GRAPH)
    reg = regressor(dtype=dtype, epochs=3).fit(data)
    assert {p.dtype for p in reg.model_.parameters()} == {getattr(torch, dtype)}
    assert reg.predict([1.0]).states.dtype == data_dtype


def test_several_features_keep_their_names() -> None:
    x = ndcn.simulate(laws.Heat(), GRAPH, torch.cat([X0, 100 * X0.flip(0)], dim=1), TIMES)
    data = Trajectory(times=x.times, states=x.states, graph=GRAPH, features=["heat", "load"])
    for name in NAMES:
        reg = regressor(name, epochs=40).fit(data)
        found = reg.predict([0.5, 1.0])
        assert found.states.shape == (2, 9, 2)
        assert found.features == ("heat", "load")
    assert reg.units_.scale[1] / reg.units_.scale[0] == pytest.approx(100, rel=0.2)


def test_a_feature_that_is_always_zero() -> None:
    data = Trajectory(times=TIMES, states=torch.cat([DATA.states, 0 * DATA.states], dim=2), graph=GRAPH)
    assert regressor().fit(data).predict([1.0]).states.isfinite().all()


@pytest.mark.parametrize("name", list(SIGNED_GRAPHS))
@pytest.mark.parametrize("model", NAMES)
def test_every_kind_of_graph(name: str, model: str) -> None:
    graph = SIGNED_GRAPHS[name]
    data = Trajectory(times=[0.0, 0.5, 1.0], states=states(graph, 3, 1).float(), graph=graph)
    assert regressor(model, epochs=3).fit(data).predict([2.0]).states.isfinite().all()


def test_operator_activation_and_knots_reach_the_model() -> None:
    reg = regressor(operator="kipf", activation="tanh", knots=[0.0, 1.0, 2.0]).fit(DATA)
    assert reg.model_.field.operator is ndcn.operators.kipf
    assert reg.model_.field.activation is torch.tanh
    rate = 5 / DATA.times[-1].item()
    assert reg.model_.field.linear.knots.tolist() == pytest.approx([0.0, rate, 2 * rate])
    assert regressor("no_encode", knots=[0.0, 1.0]).fit(DATA).predict([1.5]).states.isfinite().all()


def test_knots_let_the_law_change_with_time() -> None:
    class Switch(Field):  # grows until t = 1, then stands still
        def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
            return torch.where(t < 1, 1.0, 0.0).to(x.dtype) * torch.ones_like(x)

    data = ndcn.simulate(Switch(), GRAPH, X0, torch.linspace(0, 2, 21), solver=Solver("rk4", step_size=0.01))
    constant, varying = (
        regressor(knots=k, epochs=150).fit(data).history_.loss[-1] for k in (None, [0.0, 0.9, 1.1, 2.0])
    )
    assert varying < 0.6 * constant


def test_objectives_by_name_and_as_objects() -> None:
    by_name, by_object = regressor(objective="l2").fit(DATA), regressor(objective=Objective("l2")).fit(DATA)
    assert by_name.history_.loss == by_object.history_.loss
    other = regressor(objective=Objective("huber", terminal="l2", time_weights="gaps")).fit(DATA)
    assert other.history_.loss != by_name.history_.loss


@pytest.mark.parametrize("gradient", ["checkpoint", "adjoint"])
def test_other_gradient_modes_train_too(gradient: str) -> None:
    settings = {"activation": "tanh", "dtype": "float64", "epochs": 10}
    plain, other = (
        regressor(solver=Solver("rk4", step_size=0.1, gradient=g), **settings).fit(DATA) for g in ("backprop", gradient)
    )
    assert other.history_.loss == pytest.approx(plain.history_.loss, rel=1e-4)


# Modules of one's own -----------------------------------------------------------------------------------------------


class Decay(Field):
    def __init__(self) -> None:
        super().__init__()
        self.k = nn.Parameter(torch.tensor(0.1))

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        return -self.k * x


class Steps(nn.Module):
    """Not a GraphODE: x0 + a t."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Parameter(torch.zeros(1))

    def forward(self, x0: torch.Tensor, times: torch.Tensor, graph: Graph, t0: float) -> torch.Tensor:
        return x0 + self.a * (times.to(x0.dtype) - t0).reshape(-1, 1, 1)


class Wide(Steps):
    def forward(self, x0: torch.Tensor, times: torch.Tensor, graph: Graph, t0: float) -> torch.Tensor:
        return super().forward(x0, times, graph, t0).expand(-1, -1, 3)


def test_a_field_of_ones_own_is_copied_and_keeps_the_units() -> None:
    field = Decay()
    reg = regressor(field, learning_rate=0.1, solver=Solver("rk4", step_size=0.1)).fit(DATA)
    assert field.k.item() == pytest.approx(0.1)
    assert reg.model_.field.k.item() != pytest.approx(0.1)
    assert reg.model_.solver == Solver("rk4", step_size=0.1)
    assert reg.units_.rate == 1
    assert regressor(Decay(), epochs=1).fit(DATA).solver_ == Solver()


def test_a_law_with_a_learned_correction() -> None:
    law = laws.Heat(nn.Parameter(torch.tensor(0.3)))
    reg = regressor(law + Decay(), epochs=120, learning_rate=0.1, solver=Solver("rk4", step_size=0.2)).fit(DATA)
    heat, decay = reg.model_.field.terms
    assert heat.k.item() == pytest.approx(1.0, abs=0.02)
    assert decay.k.item() == pytest.approx(0.0, abs=0.02)


def test_a_graph_ode_of_ones_own() -> None:
    model = GraphODE(nn.Linear(1, 3), ndcn.fields.NodeField(3), nn.Linear(3, 1), Solver("heun", step_size=0.2))
    reg = regressor(model, epochs=30).fit(DATA)
    assert reg.solver_ == Solver("heun", step_size=0.2)
    assert reg.history_.loss[-1] < reg.history_.loss[0]


def test_any_module_called_with_start_times_graph_and_t0() -> None:
    data = Trajectory(
        times=[1.0, 2.0, 3.0], states=torch.tensor([1.0, 3.0, 5.0]).reshape(3, 1, 1), graph=GRAPHS["single"]
    )
    reg = regressor(Steps(), epochs=300, learning_rate=0.1).fit(data)
    prediction = reg.predict([4.0])
    assert prediction.states.item() == pytest.approx(7.0, abs=0.02)
    assert prediction.statistics is None
    assert reg.solver_ is None


def test_modules_that_do_not_fit_are_explained() -> None:
    with pytest.raises(ValueError, match=r"the decoder returns shape \(9, 2\) where the data have \(9, 1\)"):
        regressor(GraphODE(nn.Linear(1, 2), ndcn.fields.NodeField(2), nn.Identity())).fit(DATA)
    with pytest.raises(ValueError, match=r"the model does not fit states of shape \(9, 1\): mat1 and mat2"):
        regressor(GraphODE(nn.Identity(), ndcn.fields.NodeField(3), nn.Identity())).fit(DATA)
    with pytest.raises(ValueError, match=r"the model returns shape \(15, 9, 3\) where the data have \(15, 9, 1\)"):
        regressor(Wide()).fit(DATA)


def test_what_a_ready_module_would_ignore_is_refused() -> None:
    settings = {"hidden": 5, "preset": "paper", "operator": "kipf", "activation": "tanh", "knots": np.array([0.0, 1.0])}
    for name, value in settings.items():
        with pytest.raises(ValueError, match=f"^{name}: of no effect on a ready module such as this Decay; drop it"):
            regressor(Decay(), **{name: value}).fit(DATA)
    with pytest.raises(ValueError, match=r"^hidden, solver: of no effect .* Steps; drop them"):
        regressor(Steps(), hidden=3, solver=Solver()).fit(DATA)
    with pytest.raises(ValueError, match=r"^solver: of no effect"):
        regressor(GraphODE(nn.Identity(), Decay(), nn.Identity()), solver=Solver()).fit(DATA)


@pytest.mark.parametrize("d", [1, 2])
def test_labels_alone_need_no_decoder_to_the_data(d: int) -> None:
    labels = torch.tensor([0, 1, 2] * 3)
    data = Trajectory(times=TIMES, states=DATA.states.expand(-1, -1, d), graph=GRAPH)
    solver = Solver("euler", step_size=0.5)
    model = GraphODE(nn.Linear(d, 8), ndcn.fields.GraphField(8), nn.Linear(8, 3), solver)
    reg = regressor(model, objective=Objective(None, terminal=CrossEntropy(labels)), epochs=30).fit(data)
    assert reg.history_.loss[-1] < reg.history_.loss[0]
    found = reg.predict([1.0, 2.0])
    assert found.states.shape == (2, 9, 3)
    assert found.features == ("x1", "x2", "x3")
    with pytest.raises(ValueError, match=r"the decoder returns shape \(9, 3\)"):
        regressor(model, objective=Objective("l1", terminal=CrossEntropy(labels))).fit(data)
    short = GraphODE(nn.Linear(d, 8), ndcn.fields.GraphField(8), nn.Linear(8, 2), solver)
    with pytest.raises(ValueError, match="labels of 9 nodes in 3 classes do not fit"):
        regressor(short, objective=Objective(None, terminal=CrossEntropy(labels))).fit(data)


# What it predicts ---------------------------------------------------------------------------------------------------


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


# scikit-learn's habits ----------------------------------------------------------------------------------------------


def test_clone_and_params() -> None:
    reg = regressor(seed=3, knots=[0.0, 1.0], objective=Objective("l2"), solver=Solver("rk4", step_size=0.5))
    params = reg.get_params()
    assert params["seed"] == 3
    assert params["model"] == "ndcn"
    again = clone(reg.fit(DATA))
    assert {k: v for k, v in again.get_params().items() if k != "knots"} == {
        k: v for k, v in params.items() if k != "knots"
    }
    assert not hasattr(again, "model_")
    assert again.set_params(seed=4, hidden=6) is again
    assert (again.seed, again.hidden) == (4, 6)
    with pytest.raises(ValueError, match="Invalid parameter"):
        again.set_params(depth=3)
    assert "DynamicsRegressor" in repr(reg)


def test_a_clone_learns_the_same() -> None:
    reg = regressor().fit(DATA)
    assert clone(reg).fit(DATA).history_.loss == reg.history_.loss
    assert reg.fit(DATA).history_.loss == clone(reg).fit(DATA).history_.loss  # fitting again starts anew


REGULAR = ndcn.simulate(laws.Heat(), GRAPH, X0, ndcn.sampling.regular_times(2.0, 15))
BASELINES = ["residual_gnn", "rnn_gnn", "gru_gnn", "lstm_gnn", "persistence", "linear", "spline"]


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_keep_these_habits_too(name: str) -> None:
    settings = {} if name in ("persistence", "linear", "spline") else {"epochs": 10, "seed": 3}
    reg = DynamicsRegressor(name, **settings)
    again = clone(reg.fit(REGULAR))
    assert again.get_params() == reg.get_params()
    assert not hasattr(again, "model_")
    asked = [0.0, 2.0, 4.0]
    assert torch.equal(again.fit(REGULAR).predict(asked).states, reg.predict(asked).states)
    assert again.history_.loss == reg.history_.loss
    assert reg.predict(asked).features == ("x",)
    assert isinstance(reg.score(REGULAR), float)


@pytest.mark.parametrize("name", BASELINES[:4])
def test_baselines_resume_bit_for_bit(name: str, tmp_path: Path) -> None:
    settings = {"epochs": 12, "checkpoint": tmp_path / "run", "validation": 0.2}
    whole = DynamicsRegressor(name, **settings).fit(REGULAR)
    (tmp_path / "run").unlink()
    kill = pytest.MonkeyPatch()
    with kill.context() as patch:
        calls = iter(range(100))
        step = torch.optim.Adam.step

        def stop_at_seven(self: torch.optim.Adam) -> None:
            if next(calls) == 7:
                raise KeyboardInterrupt
            step(self)

        patch.setattr(torch.optim.Adam, "step", stop_at_seven)
        patch.setattr("ndcn.training.SAVE_EVERY", -1.0)
        with pytest.raises(KeyboardInterrupt):
            DynamicsRegressor(name, **settings).fit(REGULAR)
    assert (tmp_path / "run").exists()
    resumed = DynamicsRegressor(name, **settings).fit(REGULAR, resume=True)
    assert resumed.history_.loss == whole.history_.loss
    assert torch.equal(resumed.predict([4.0]).states, whole.predict([4.0]).states)


def test_an_ensemble_of_temporal_gnns() -> None:
    reg = DynamicsRegressor("rnn_gnn", epochs=5, ensemble=2, jobs=1).fit(REGULAR)
    mean, spread = reg.predict([4.0], return_std=True)
    assert spread.states.min() > 0
    alone = [DynamicsRegressor("rnn_gnn", epochs=5, seed=s).fit(REGULAR).predict([4.0]).states for s in (0, 1)]
    torch.testing.assert_close(mean.states, (alone[0] + alone[1]) / 2)


def test_not_fitted() -> None:
    for use in (lambda r: r.predict([1.0]), lambda r: r.score(DATA), lambda r: r.save("x"), lambda r: r.solver_):
        with pytest.raises(NotFittedError, match="call fit first"):
            use(DynamicsRegressor())


# What it refuses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"model": "ncdn"},
            "unknown model 'ncdn'; known are ndcn, no_encode, .*, lstm_gnn, persistence, linear, spline,",
        ),
        ({"preset": "best"}, "unknown preset 'best'; known are default, paper"),
        ({"operator": "kip"}, "unknown operator 'kip'; known are .*kipf"),
        ({"activation": "gelu"}, "unknown activation 'gelu'; known are relu, tanh, softplus"),
        ({"objective": "l3"}, "unknown running loss 'l3'"),
        ({"schedule": "linear"}, 'schedule must be "cosine" or "constant"'),
        ({"dtype": "float16"}, 'dtype must be "float32" or "float64"'),
        ({"device": "abacus"}, "cannot compute on device 'abacus'.*try cpu"),
        ({"dtype": torch.float16}, 'dtype must be "float32" or "float64", got torch.float16'),
        ({"device": 1.5}, "cannot compute on device '1.5'"),
        ({"epochs": 0}, "epochs must be a whole number >= 1, got 0"),
        ({"epochs": 2.5}, "epochs must be a whole number >= 1, got 2.5"),
        ({"hidden": 2.5}, "hidden must be a whole number >= 1, got 2.5"),
        ({"hidden": 0}, "hidden must be a whole number >= 1, got 0"),
        ({"seed": -1}, f"seed must be a whole number from 0 to {2**63 - 1}, got -1"),
        ({"seed": 2**63}, "seed must be a whole number from 0"),
        ({"seed": None}, "seed must be a whole number from 0 .*, got None"),
        ({"seed": 2**63 - 2, "ensemble": 3}, "seed must be a whole number from 0"),
        ({"jobs": 0, "ensemble": 2}, "jobs must be a whole number >= 1"),
        ({"learning_rate": 0.0}, "learning_rate must be a number > 0"),
        ({"learning_rate": math.nan}, "learning_rate must be a number > 0"),
        ({"learning_rate": "a"}, "learning_rate must be a number > 0, got 'a'"),
        ({"weight_decay": -1.0}, "weight_decay must be a number >= 0"),
        ({"validation": None}, "validation is a share"),
        ({"validation": 1.0}, r"validation is a share of the training times in \[0, 1\)"),
        ({"validation": -0.1}, "validation is a share"),
        ({"validation": 0.95}, "15 snapshots are too few to hold out 14"),
        ({"patience": 5}, "needs a validation share"),
        ({"patience": 0, "validation": 0.2}, "patience must be a whole number >= 1"),
        ({"clip_norm": 0.0}, "clip_norm must be a positive number"),
        ({"model": "no_graph", "knots": [0.0, 1.0]}, "no_graph has no weights W"),
        ({"model": "no_control", "knots": [0.0, 1.0]}, "no_control has no weights W"),
        ({"knots": [1.0, 0.0]}, "not in increasing order"),
        ({"knots": [0.0]}, "at least two finite times"),
    ],
)
def test_wrong_settings(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DynamicsRegressor(**{"epochs": 2, **settings}).fit(DATA)


def test_wrong_models_and_data() -> None:
    with pytest.raises(
        TypeError, match=r"model must be a name, an nn.Module, an ndcn.Interaction or an ndcn.forecast.Auto, got int"
    ):
        DynamicsRegressor(3).fit(DATA)
    with pytest.raises(TypeError, match=r"solver must be an ndcn.Solver such as Solver\(\"dopri5\"\), got 'dopri5'"):
        regressor(solver="dopri5").fit(DATA)
    with pytest.raises(TypeError, match=r"Linear could not be called as model\(x0, times, graph, t0\)"):
        regressor(nn.Linear(1, 1)).fit(DATA)
    with pytest.raises(ValueError, match=r"bfloat16 .* use states.float\(\)"):
        regressor().fit(Trajectory(times=TIMES, states=DATA.states.bfloat16(), graph=GRAPH))
    with pytest.raises(ValueError, match="one snapshot does not show any dynamics"):
        regressor().fit(DATA[0])
    with pytest.raises(ValueError, match="one snapshot"):
        regressor().fit([DATA, DATA[:1]])
    for data in ([], DATA.states, [DATA, DATA.states], np.zeros((3, 2))):
        with pytest.raises(TypeError, match=r"fit needs an ndcn.Trajectory"):
            regressor().fit(data)
    backwards = DATA[[3, 1, 2]]
    with pytest.raises(ValueError, match="increasing order"):
        regressor().fit(backwards)
    mask = torch.ones(15, 9, 1, dtype=torch.bool)
    mask[:5] = False
    unseen = Trajectory(times=TIMES, states=DATA.states, graph=GRAPH, mask=mask)[:5]
    with pytest.raises(ValueError, match="nothing to learn from"):
        regressor().fit([DATA, unseen])
    wide = Trajectory(times=TIMES, states=DATA.states.expand(-1, -1, 2), graph=GRAPH)
    with pytest.raises(ValueError, match=r"different numbers of features: \[1, 2\]"):
        regressor().fit([DATA, wide])
    named = Trajectory(times=TIMES, states=DATA.states, graph=GRAPH, features=["heat"])
    with pytest.raises(ValueError, match=r"features of different names \(heat; x\)"):
        regressor().fit([DATA, named])


def test_an_operator_that_divides_by_degrees_refuses_negative_weights() -> None:
    graph = SIGNED_GRAPHS["signed"]
    data = Trajectory(times=[0.0, 1.0], states=torch.ones(2, 3, 1), graph=graph)
    with pytest.raises(ValueError, match="kipf divides by degrees and needs weights >= 0"):
        regressor(operator="kipf").fit(data)
    regressor().fit(data)
