"""Laws found by DynamicsRegressor as estimators: files, clones, arguments, data that cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import ndcn
from finding import GRID, data_of, error_of, plain
from ndcn import DynamicsRegressor, Graph, Interaction, Solver, Trajectory, laws, networks
from ndcn.identify.library import COUPLING


def check_same(again: DynamicsRegressor, reg: DynamicsRegressor) -> None:
    times = [0.0, 0.3, 4.0]
    assert torch.equal(again.predict(times).states, reg.predict(times).states)
    for one, two in zip(again.predict(times, return_std=True), reg.predict(times, return_std=True), strict=True):
        assert torch.equal(one.states, two.states)
    assert again.evidence_ == reg.evidence_
    assert again.law_.features == reg.law_.features
    assert again.history_.seconds == reg.history_.seconds
    assert str(again.model) == str(reg.model)
    x = torch.rand(3, 1, dtype=torch.float64)
    assert torch.equal(again.law_.edge(x, x.flip(0)), reg.law_.edge(x, x.flip(0)))


@pytest.mark.filterwarnings("ignore:from t =")
def test_save_and_load(
    heat: DynamicsRegressor, cooperation: tuple[DynamicsRegressor, Trajectory], tmp_path: Path
) -> None:
    for reg in (heat, cooperation[0]):
        reg.save(tmp_path / "law.ndcn")
        again = ndcn.load(tmp_path / "law.ndcn")
        assert isinstance(again, DynamicsRegressor)
        check_same(again, reg)
    heat.save(tmp_path / "heat.ndcn")
    again = ndcn.load(tmp_path / "heat.ndcn")
    assert str(again.equations()) == str(heat.equations())
    assert again.equations().latex() == heat.equations().latex()
    assert again.equations().coefficients == heat.equations().coefficients


@pytest.mark.slow
def test_a_law_found_in_noise_is_saved_with_its_first_states(tmp_path: Path) -> None:
    _, seen = data_of(laws.Heat(), networks.grid(9), T=1.0, count=16, noise=0.05)
    model = Interaction("closed", without=[t for t in COUPLING if t != "x_j - x_i"])
    reg = DynamicsRegressor(model=model).fit(seen)
    reg.save(tmp_path / "law.ndcn")
    again = ndcn.load(tmp_path / "law.ndcn")
    check_same(again, reg)
    assert again.model == model
    _, deviation = again.predict([0.0], return_std=True)
    assert deviation.states.min() > 0  # the first state is not known for sure


def test_clones_have_learned_nothing(heat: DynamicsRegressor) -> None:
    again = clone(heat)
    assert again.get_params() == heat.get_params()
    for use in (
        lambda: again.predict([1.0]),
        again.equations,
        again.functions,
        lambda: again.law_,
        lambda: again.evidence_,
    ):
        with pytest.raises(NotFittedError):
            use()
    model = Interaction(terms=["x^4"], without=["x"])
    assert clone(DynamicsRegressor(model=model)).model == model


def test_reading_a_model_that_is_no_law(heat_data: tuple[Trajectory, Trajectory]) -> None:
    reg = DynamicsRegressor(epochs=1).fit(heat_data[1])
    for use in (reg.equations, reg.functions, lambda: reg.law_, lambda: reg.evidence_):
        with pytest.raises(ValueError, match="interaction"):
            use()


def test_times_and_shapes_that_do_not_fit(heat: DynamicsRegressor) -> None:
    with pytest.raises(ValueError, match="only goes forward"):
        heat.predict([0.5], x0=torch.ones(25, 1), t0=1.0)
    with pytest.raises(ValueError, match="initial state"):
        heat.predict([1.0], graph=networks.grid(9))
    with pytest.raises(ValueError, match="features"):
        heat.predict([1.0], x0=torch.ones(25, 2))


IDLE: dict[str, Any] = {
    "epochs": 5,
    "hidden": 3,
    "operator": "laplacian",
    "activation": "tanh",
    "knots": [0.0, 1.0],
    "solver": Solver("dopri5"),
    "objective": "l2",
    "learning_rate": 0.1,
    "weight_decay": 0.1,
    "schedule": "cosine",
    "clip_norm": 1.0,
    "validation": 0.1,
    "preset": "paper",
    "ensemble": 2,
    "jobs": 2,
    "dtype": "float64",
}


@pytest.mark.parametrize("name", IDLE)
@pytest.mark.parametrize("model", ["interaction", "closed_form", "free_form", Interaction()], ids=str)
def test_arguments_of_no_effect_are_refused(
    name: str, model: str | Interaction, heat_data: tuple[Trajectory, Trajectory]
) -> None:
    with pytest.raises(ValueError, match=f"does not use `{name}`"):
        DynamicsRegressor(model=model, **{name: IDLE[name]}).fit(heat_data[1])


def test_what_an_interaction_refuses() -> None:
    with pytest.raises(ValueError, match='"auto", "closed" or "free", got \'open\''):
        Interaction("open")
    for wrong in ({"terms": "x"}, {"terms": [5]}, {"without": "x"}, {"without": [None]}):
        with pytest.raises(TypeError, match="must be a list of formulas"):
            Interaction(**wrong)
    assert Interaction(terms=["x^4"]) == Interaction(terms=("x^4",))


@pytest.mark.parametrize("term", ["x +", "foo(x)", "x.real", "1/0", "__import__('os')"])
def test_terms_that_are_no_formulas(term: str, heat_data: tuple[Trajectory, Trajectory]) -> None:
    with pytest.raises(ValueError):
        DynamicsRegressor(model=Interaction(terms=[term])).fit(heat_data[1])


@pytest.mark.parametrize("model", ["interaction", "free_form", Interaction(), laws.Heat(None)], ids=str)
def test_there_is_nothing_to_resume(model: Any, heat_data: tuple[Trajectory, Trajectory]) -> None:
    with pytest.raises(ValueError, match="does not use `resume`, for it keeps no checkpoints"):
        DynamicsRegressor(model=model).fit(heat_data[1], resume=True)


@pytest.mark.parametrize(
    ("name", "written"),
    [("temp in C", "temp_in_C"), ("exp", "x_exp"), ("K", "x_K"), ("lambda", "x_lambda"), ("%", "x1")],
)
def test_names_that_cannot_stand_in_formulas_are_written_as_plain_words(
    name: str, written: str, heat_data: tuple[Trajectory, Trajectory], tmp_path: Path
) -> None:
    seen = heat_data[1]
    named = Trajectory(times=seen.times, states=seen.states, graph=GRID, features=[name])
    reg = DynamicsRegressor(model=plain(written)).fit(named)
    assert f"({written}_j - {written}_i)" in str(reg.equations())
    assert reg.predict([0.5]).features == (name,)
    reg.save(tmp_path / "model.ndcn")
    again = ndcn.load(tmp_path / "model.ndcn")
    assert torch.equal(again.predict([0.5]).states, reg.predict([0.5]).states)
    assert again.predict([0.5]).features == (name,)


def test_a_formula_to_leave_out_must_be_there(heat_data: tuple[Trajectory, Trajectory]) -> None:
    with pytest.raises(
        ValueError, match=r"'x_j - xi' is not in the library; did you mean 'x_j - x_i'\? It holds 1, x,"
    ):
        DynamicsRegressor(model=Interaction(without=["x_j - xi"])).fit(heat_data[1])


def test_the_free_form_takes_features_of_any_names(heat_data: tuple[Trajectory, Trajectory]) -> None:
    seen = heat_data[1]
    named = Trajectory(times=seen.times, states=seen.states, graph=GRID, features=["temp in C"])
    reg = DynamicsRegressor(model="free_form").fit(named)
    assert reg.predict([0.5]).features == ("temp in C",)


def test_graphs_without_edges() -> None:
    graph = Graph.from_edges([], num_nodes=6)
    x0 = torch.linspace(0.1, 0.9, 6).unsqueeze(1)
    truth, seen = data_of(laws.Mutualistic(), graph, T=1.0, count=12, x0=x0)
    reg = DynamicsRegressor(model="interaction").fit(seen)
    assert not any(row.coupling for row in reg.equations().coefficients)
    assert error_of(reg, truth) < 1e-4


def test_states_that_do_not_change() -> None:
    still = Trajectory(times=torch.arange(8.0), states=torch.ones(8, 25, 1), graph=GRID)
    with pytest.raises(ValueError, match="no state ever changes"):
        DynamicsRegressor(model="interaction").fit(still)
