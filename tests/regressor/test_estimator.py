"""DynamicsRegressor: what it learns from, modules of one's own, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

import ndcn
from ndcn import CrossEntropy, DynamicsRegressor, Field, Graph, GraphODE, Objective, Solver, Trajectory, laws
from problems import GRAPHS, SIGNED_GRAPHS, states
from small_runs import DATA, GRAPH, TIMES, X0, Decay, regressor

NAMES = ["ndcn", "no_encode", "no_graph", "no_control"]


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
        regressor(knots=k, epochs=50).fit(data).history_.loss[-1] for k in (None, [0.0, 0.9, 1.1, 2.0])
    )
    assert varying < 0.6 * constant


def test_objectives_by_name_and_as_objects() -> None:
    by_name, by_object = regressor(objective="l2").fit(DATA), regressor(objective=Objective("l2")).fit(DATA)
    assert by_name.history_.loss == by_object.history_.loss
    other = regressor(objective=Objective("huber", terminal="l2", time_weights="gaps")).fit(DATA)
    assert other.history_.loss != by_name.history_.loss


def test_other_gradient_modes_train_too() -> None:
    settings = {"activation": "tanh", "dtype": "float64", "epochs": 5}
    plain, *others = (
        regressor(solver=Solver("rk4", step_size=0.1, gradient=gradient), **settings).fit(DATA).history_.loss
        for gradient in ("backprop", "checkpoint", "adjoint")
    )
    for loss in others:
        assert loss == pytest.approx(plain, rel=1e-4)


# Modules of one's own -----------------------------------------------------------------------------------------------


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
    reg = regressor(law + Decay(), epochs=60, learning_rate=0.1, solver=Solver("rk4", step_size=0.2)).fit(DATA)
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
        with pytest.raises(ValueError, match=f"^a ready module such as this Decay does not use `{name}`; remove it"):
            regressor(Decay(), **{name: value}).fit(DATA)
    with pytest.raises(ValueError, match=r"such as this Steps does not use `hidden`, `solver`; remove them"):
        regressor(Steps(), hidden=3, solver=Solver()).fit(DATA)
    with pytest.raises(ValueError, match=r"does not use `solver`"):
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
