"""Laws known in part through DynamicsRegressor: only what the known law leaves open is found, read, kept and added."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from ndcn.fields import ClosedForm, Corrected, FreeForm
from sklearn.base import clone

import ndcn
from finding import Cooperation, data_of, error_of, plain, terms_of
from ndcn import DynamicsRegressor, Graph, Interaction, Trajectory, laws, networks
from ndcn.identify.library import COUPLING, SELF

SOON = [0.02, 0.05]
SMALL = {"graph": networks.grid(16), "T": 1.0, "count": 15}


def few(known: laws.Law) -> Interaction:
    """With four terms to choose from: found faster."""
    return Interaction("closed", without=[*SELF[2:], *COUPLING[1:2], *COUPLING[3:]], known=known)


class Decay(laws.Law):
    """-k x_i."""

    def __init__(self, k: Any = 0.5) -> None:
        super().__init__()
        self._set(k=k)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        return -self._value("k", x) * x


@pytest.fixture(scope="module")
def decay_data() -> tuple[Trajectory, Trajectory]:
    return data_of(laws.Heat() + Decay(), **SMALL)


@pytest.fixture(scope="module")
def decay(decay_data: tuple[Trajectory, Trajectory]) -> DynamicsRegressor:
    return DynamicsRegressor(model=Interaction(known=laws.Heat())).fit(decay_data[1])


@pytest.fixture(scope="module")
def free() -> tuple[DynamicsRegressor, Trajectory]:
    truth, seen = data_of(laws.Heat() + Cooperation(0.5), networks.grid(16), T=0.5, count=20)
    return DynamicsRegressor(model=Interaction("free", known=laws.Heat())).fit(seen), truth


@pytest.fixture(scope="module")
def spreads(
    decay: DynamicsRegressor, free: tuple[DynamicsRegressor, Trajectory]
) -> list[tuple[DynamicsRegressor, Trajectory, Trajectory]]:
    """Both with what they predict at SOON and its spread."""
    return [(reg, *reg.predict(SOON, return_std=True)) for reg in (decay, free[0])]


# Finding the correction -----------------------------------------------------------------------------------------------


def test_the_correction_alone_is_found(decay: DynamicsRegressor, decay_data: tuple[Trajectory, Trajectory]) -> None:
    assert terms_of(decay) == {("x", False, "x"): pytest.approx(-0.5, rel=1e-4)}
    assert error_of(decay, decay_data[0]) < 1e-5
    assert decay.evidence_.form == "closed"
    assert decay.evidence_.reason.startswith("with Heat as the known law, the closed form explains every snapshot")


def test_a_coupling_as_correction() -> None:
    truth, seen = data_of(laws.Heat(0.3) + laws.Gene(b=0.9), **SMALL)
    reg = DynamicsRegressor(model=plain("x", but=("x_j^h/(1 + x_j^h)",), known=laws.Heat(0.3))).fit(seen)
    assert terms_of(reg) == {
        ("x", False, "x"): pytest.approx(-0.9, rel=0.01),
        ("x_j^h/(1 + x_j^h)", True, "x"): pytest.approx(1.0, rel=0.01),
    }
    assert reg.equations().parameters[0].value == pytest.approx(2.0, rel=0.01)
    assert error_of(reg, truth) < 1e-4


def test_a_known_law_of_ones_own_with_a_value_for_each_node() -> None:
    rates = torch.linspace(0.1, 0.9, 16, dtype=torch.float64)
    _, seen = data_of(laws.Heat() + Decay(rates), **SMALL)
    reg = DynamicsRegressor(model=plain("x", known=Decay(rates))).fit(seen)
    assert terms_of(reg) == {("x_j - x_i", True, "x"): pytest.approx(1.0, rel=1e-4)}
    assert reg.functions(5).f.shape == (1, 5, 1)  # of the correction, which is the same for all nodes


def test_weights_of_both_signs_and_directions() -> None:
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(12, 12, generator=generator) * (torch.rand(12, 12, generator=generator) < 0.3)
    graph = Graph.from_dense(weights.numpy(), directed=True)
    x0 = torch.rand(12, 1, generator=generator)
    truth, seen = data_of(laws.Heat(0.6) + Decay(0.2), graph, T=1.0, count=12, x0=x0)
    reg = DynamicsRegressor(model=plain("x", known=laws.Heat(0.6))).fit(seen)
    assert terms_of(reg) == {("x", False, "x"): pytest.approx(-0.2, rel=0.01)}
    assert error_of(reg, truth) < 1e-4


@pytest.mark.slow
def test_several_trajectories_on_different_graphs() -> None:
    pairs = [data_of(laws.Heat() + Decay(), g, T=2.0, count=9) for g in (networks.grid(9), networks.grid(16))]
    reg = DynamicsRegressor(model=plain("x", known=laws.Heat())).fit([seen for _, seen in pairs])
    assert terms_of(reg) == {("x", False, "x"): pytest.approx(-0.5, rel=1e-3)}


@pytest.mark.slow
def test_two_features() -> None:
    graph = networks.grid(9)
    x0 = torch.rand(9, 2, generator=torch.Generator().manual_seed(0)) * 2
    truth, seen = data_of(laws.Heat(0.4) + Decay(0.7), graph, T=2.0, count=12, x0=x0, features=("v", "w"))
    reg = DynamicsRegressor(model=plain("v", "w", known=laws.Heat(0.4))).fit(seen)
    assert terms_of(reg) == {
        ("v", False, "v"): pytest.approx(-0.7, rel=0.01),
        ("w", False, "w"): pytest.approx(-0.7, rel=0.01),
    }
    assert error_of(reg, truth) < 1e-4
    lines = str(reg.equations()).splitlines()
    assert [line.partition(" - ")[0] for line in lines] == ["dv_i/dt = known law", "dw_i/dt = known law"]


@pytest.mark.slow
def test_noise() -> None:
    truth, seen = data_of(laws.Heat() + Decay(), networks.grid(9), T=1.0, count=16, noise=0.02)
    reg = DynamicsRegressor(model=few(laws.Heat())).fit(seen)
    assert terms_of(reg) == {("x", False, "x"): pytest.approx(-0.5, abs=0.03)}
    assert error_of(reg, truth) < 0.01
    _, deviation = reg.predict(truth.times, return_std=True)
    assert deviation.states.min() > 0


@pytest.mark.parametrize("noise", [0.0, pytest.param(0.02, marks=pytest.mark.slow)])
def test_a_known_law_that_is_the_whole_law(noise: float, tmp_path: Path) -> None:
    truth, seen = data_of(laws.Heat(), networks.grid(9), T=0.5, count=12, noise=noise)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reg = DynamicsRegressor(model=few(laws.Heat())).fit(seen)
    assert terms_of(reg) == {}
    assert str(reg.equations()) == "dx_i/dt = known law"
    assert reg.equations().sympy() == {"x": (0, 0)}
    assert reg.evidence_.reason.endswith("nothing was left to correct")
    assert error_of(reg, truth) < (0.01 if noise else 1e-5)
    _, deviation = reg.predict(truth.times, return_std=True)
    assert bool((deviation.states > 0).any()) == (noise > 0)  # that of the first state alone
    reg.save(tmp_path / "law.ndcn")
    assert torch.equal(ndcn.load(tmp_path / "law.ndcn").predict([1.0]).states, reg.predict([1.0]).states)


def test_a_free_correction_is_close_to_the_truth(free: tuple[DynamicsRegressor, Trajectory]) -> None:
    reg, truth = free
    assert reg.evidence_.form == "free"
    assert error_of(reg, truth) < 0.01
    assert isinstance(reg.law_, Corrected)
    x = torch.linspace(2, 8, 9, dtype=torch.float64).unsqueeze(1)
    effect, expected = reg.law_.correction.edge(x[:1].expand_as(x), x), Cooperation().edge(x, x)
    # f and g are known up to what a constant degree lets them share: differences of g are not
    torch.testing.assert_close(effect - effect[0], expected - expected[0], atol=0.1, rtol=0.1)
    with pytest.raises(ValueError, match="no closed form"):
        reg.equations()


# Reading and using it -------------------------------------------------------------------------------------------------


def test_equations_say_that_a_law_is_known(decay: DynamicsRegressor) -> None:
    text = str(decay.equations())
    rate = r"(0\.(?:5000|4999)\d*)\(\d+\)"
    found = re.fullmatch(rf"dx_i/dt = known law - {rate} x_i", text)
    assert found is not None
    assert float(found[1]) == pytest.approx(0.5, rel=1e-5)
    assert decay.equations().latex().startswith(r"\frac{dx_i}{dt} = \text{known law} - " + found[1])
    f, g = decay.equations().sympy()["x"]
    assert float(f.subs({"x_i": 2.0})) == pytest.approx(-1.0, rel=1e-4)
    assert g == 0


def test_functions_are_those_of_the_correction(decay: DynamicsRegressor) -> None:
    found = decay.functions(7)
    np.testing.assert_allclose(found.f[0, :, 0], -0.5 * found.x[0], rtol=1e-4)
    assert np.abs(found.g).max() == 0


def test_the_law_has_the_known_part_in_it(decay: DynamicsRegressor) -> None:
    law, graph = decay.law_, networks.power_law(30, seed=3)
    assert isinstance(law, Corrected)
    assert isinstance(law.correction, ClosedForm)
    x0, times = torch.rand(30, 1, generator=torch.Generator().manual_seed(0)), torch.linspace(0, 1, 4)
    truth = ndcn.simulate(laws.Heat() + Decay(), graph, x0, times)
    for there in (ndcn.simulate(law, graph, x0, times), decay.predict(times, graph=graph, x0=x0)):
        assert ndcn.metrics.normalized_l1(there, truth) < 1e-4
    twice = ndcn.simulate(law + Decay(), graph, x0, times)
    assert ndcn.metrics.normalized_l1(twice, ndcn.simulate(laws.Heat() + Decay(1.0), graph, x0, times)) < 1e-4


def test_the_spread_of_predictions(spreads: list[tuple[DynamicsRegressor, Trajectory, Trajectory]]) -> None:
    for reg, mean, deviation in spreads:
        assert torch.equal(mean.states, reg.predict(SOON).states)
        assert 0 < deviation.states.max() < 0.1


def test_the_known_law_is_not_changed(decay_data: tuple[Trajectory, Trajectory]) -> None:
    known = laws.Heat(torch.nn.Parameter(torch.tensor(1.0)))  # trained before: taken as it is
    reg = DynamicsRegressor(model=few(known)).fit(decay_data[1])
    assert terms_of(reg) == {("x", False, "x"): pytest.approx(-0.5, rel=1e-4)}
    assert known.k.requires_grad
    assert known.k.dtype == torch.float32
    known.k.data.fill_(9.0)
    assert float(reg.law_.known.k) == 1.0


# Files ----------------------------------------------------------------------------------------------------------------


def test_save_and_load(
    decay: DynamicsRegressor, spreads: list[tuple[DynamicsRegressor, Trajectory, Trajectory]], tmp_path: Path
) -> None:
    for reg, *predicted in spreads:
        reg.save(tmp_path / "law.ndcn")
        again = ndcn.load(tmp_path / "law.ndcn")
        assert isinstance(again, DynamicsRegressor)
        for one, two in zip(again.predict(SOON, return_std=True), predicted, strict=True):
            assert torch.equal(one.states, two.states)
        assert again.evidence_ == reg.evidence_
        assert str(again.model) == str(reg.model)
        assert isinstance(again.model, Interaction)
        assert isinstance(again.model.known, laws.Heat)
        assert repr(again.law_) == repr(reg.law_)
        assert np.array_equal(again.functions(5).g, reg.functions(5).g)
    decay.save(tmp_path / "decay.ndcn")
    assert str(ndcn.load(tmp_path / "decay.ndcn").equations()) == str(decay.equations())


def test_a_law_of_ones_own_cannot_be_saved(decay_data: tuple[Trajectory, Trajectory], tmp_path: Path) -> None:
    reg = DynamicsRegressor(model=few(Decay())).fit(decay_data[1])
    with pytest.raises(ValueError, match=r"Decay is a law of your own.*reg.law_.correction.description\(\)"):
        reg.save(tmp_path / "law.ndcn")
    assert list(tmp_path.iterdir()) == []


def test_clones_ask_for_the_same(decay: DynamicsRegressor) -> None:
    again = clone(decay)
    assert str(again.model) == str(decay.model)
    assert again.model.known is not decay.model.known


# Errors ---------------------------------------------------------------------------------------------------------------


def test_what_an_interaction_refuses() -> None:
    with pytest.raises(ValueError, match=r"Gene: b, h unknown.*DynamicsRegressor\(model=law\)"):
        Interaction(known=laws.Gene(b=None, h=laws.per_node))
    for wrong in ("heat", laws.Heat, torch.nn.Linear(1, 1), 3):
        with pytest.raises(TypeError, match="known must be a law"):
            Interaction(known=wrong)


class Mean(laws.Law):
    """Every node depends on all others."""

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        return x.mean(dim=-2, keepdim=True) - x


class Root(laws.Law):
    """NaN below 5."""

    def node(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sqrt(x - 5)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (laws.SIR(), r"SIR has 2 features \(s, i\), but the states have 1"),
        (laws.Heat(torch.ones(9)), "k has one value for each of 9 nodes, but the graph has 16"),
        (Mean(), "gives different rates on another graph"),
        (Root(), "Root is NaN or infinite at some of the states seen"),
    ],
    ids=["features", "nodes", "mean", "NaN"],
)
def test_known_laws_that_do_not_fit_the_data(
    known: laws.Law, message: str, decay_data: tuple[Trajectory, Trajectory]
) -> None:
    with pytest.raises(ValueError, match=message):
        DynamicsRegressor(model=Interaction(known=known)).fit(decay_data[1])


def test_both_forms_of_correction_are_described() -> None:
    term = {"formula": "x", "coupling": False, "output": "x", "values": [], "coefficient": -0.5}
    law = Corrected(laws.Heat(0.5), ClosedForm.from_description({"features": ["x"], "terms": [term]}))
    about = law.description()
    assert about["known"] == {"name": "heat", "parameters": {"k": 0.5}}
    assert repr(Corrected.from_description(about)) == repr(law)
    assert not isinstance(law.correction, FreeForm)
