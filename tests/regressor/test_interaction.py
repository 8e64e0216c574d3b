"""Finding laws through DynamicsRegressor: terms and coefficients of clean data, the free form."""

from __future__ import annotations

import warnings

import pytest
import torch
from sklearn.base import clone

import ndcn
from finding import GRID, HILL, Cooperation, data_of, error_of, plain, terms_of
from ndcn import DynamicsRegressor, Graph, Interaction, Trajectory, laws, networks
from ndcn.identify.library import COUPLING

# Clean data ---------------------------------------------------------------------------------------------------------


def test_heat(heat: DynamicsRegressor, heat_data: tuple[Trajectory, Trajectory]) -> None:
    assert terms_of(heat) == {("x_j - x_i", True, "x"): pytest.approx(0.8, rel=1e-4)}
    assert error_of(heat, heat_data[0]) < 1e-5
    assert heat.evidence_.form == "closed"
    assert heat.evidence_.closed < 5
    assert "x_j - x_i" in str(heat.equations())
    assert heat.history_.seconds > 0


def test_gene() -> None:
    truth, seen = data_of(laws.Gene(b=0.9))
    reg = DynamicsRegressor(model="interaction").fit(seen)
    found = terms_of(reg)
    (coupling,) = [key for key in found if key[1]]
    assert coupling[0] in HILL
    assert found.pop(coupling) == pytest.approx(1.0, rel=0.01)
    assert found == {("x", False, "x"): pytest.approx(-0.9, rel=0.01)}
    expected = 2.0 if "h" in coupling[0] else 1.0
    assert [p.value for p in reg.equations().parameters if p.term == coupling[0]] == [pytest.approx(expected, rel=0.01)]
    assert error_of(reg, truth) < 1e-4


def test_the_law_goes_over_to_another_graph(heat: DynamicsRegressor) -> None:
    graph = networks.power_law(60, seed=3)
    x0 = 10 * torch.rand(60, 1, generator=torch.Generator().manual_seed(0))
    times = torch.linspace(0, 2, 6)
    truth = ndcn.simulate(laws.Heat(0.8), graph, x0, times)
    assert ndcn.metrics.normalized_l1(heat.predict(times, graph=graph, x0=x0), truth) < 1e-4
    again = ndcn.simulate(heat.law_, graph, x0, times)
    assert ndcn.metrics.normalized_l1(again, truth) < 1e-4


@pytest.mark.slow
def test_two_features() -> None:
    law = laws.FitzHughNagumo()
    truth, seen = data_of(law, networks.grid(9), count=14, x0=law.initial_state(networks.grid(9)))
    reg = DynamicsRegressor(model=plain("v", "w")).fit(seen)
    assert reg.evidence_.form == "closed"
    found = terms_of(reg)
    assert {key for key in found if key[1]} == {("v_j - v_i", True, "v")}
    assert found["v*v*v", False, "v"] == pytest.approx(-1 / 3, rel=0.01)
    assert {key[0] for key in found if key[2] == "w"} == {"1", "v", "w"}
    assert error_of(reg, truth) < 1e-4
    assert str(reg.equations()).count("\n") == 1


@pytest.mark.slow
def test_an_epidemic() -> None:
    law = laws.SIR()
    truth, seen = data_of(law, x0=law.initial_state(GRID))
    reg = DynamicsRegressor(model="interaction").fit(seen)
    found = terms_of(reg)
    assert found == {
        ("s_i*i_j", True, "s"): pytest.approx(-1, rel=0.01),
        ("s_i*i_j", True, "i"): pytest.approx(1, rel=0.01),
        ("i", False, "i"): pytest.approx(-1, rel=0.01),
    }
    assert error_of(reg, truth) < 1e-4


@pytest.mark.slow
def test_several_trajectories_on_different_graphs() -> None:
    graphs = [networks.grid(16), Graph.from_edges([(0, 1), (2, 1)], directed=True)]
    pairs = [data_of(laws.Heat(0.5), g, count=8, seed=k) for k, g in enumerate(graphs)]
    reg = DynamicsRegressor(model=plain("x")).fit([seen for _, seen in pairs])
    assert terms_of(reg) == {("x_j - x_i", True, "x"): pytest.approx(0.5, rel=0.01)}
    assert error_of(reg, pairs[0][0]) < 1e-4
    truth = pairs[1][0]
    other = reg.predict(truth.times, graph=truth.graph, x0=truth.states[0])
    assert ndcn.metrics.normalized_l1(other, truth) < 1e-4


def test_weights_of_both_signs_and_directions() -> None:
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(12, 12, generator=generator) * (torch.rand(12, 12, generator=generator) < 0.3)
    graph = Graph.from_dense(weights.numpy(), directed=True)
    x0 = torch.rand(12, 1, generator=generator)
    truth, seen = data_of(laws.Heat(0.6), graph, T=1.0, count=12, x0=x0)
    reg = DynamicsRegressor(model="interaction").fit(seen)
    assert terms_of(reg) == {("x_j - x_i", True, "x"): pytest.approx(0.6, rel=0.01)}
    assert error_of(reg, truth) < 1e-4


def test_a_term_of_ones_own_in_one_line() -> None:
    truth, seen = data_of(Cooperation())
    reg = DynamicsRegressor(model=Interaction(terms=["x_j^4/(K^4 + x_j^4)"])).fit(seen)
    assert reg.evidence_.form == "closed"
    assert terms_of(reg) == {
        ("x", False, "x"): pytest.approx(-1, rel=0.01),
        ("x_j^4/(K^4 + x_j^4)", True, "x"): pytest.approx(1, rel=0.01),
    }
    assert reg.equations().parameters[0].value == pytest.approx(2.0, rel=0.01)
    assert error_of(reg, truth) < 1e-4


def test_the_same_data_give_the_same_law(heat: DynamicsRegressor, heat_data: tuple[Trajectory, Trajectory]) -> None:
    before = torch.get_rng_state()
    again = clone(heat).fit(heat_data[1])
    assert torch.equal(torch.get_rng_state(), before)
    assert str(again.equations()) == str(heat.equations())
    assert torch.equal(again.predict([0.5]).states, heat.predict([0.5]).states)


class Saturated(laws.Law):
    """dx_i/dt = -2 x_i / (3 + x_i) + 0.1 sum_j A_ij (x_j - x_i)."""

    def node(self, x: torch.Tensor) -> torch.Tensor:
        return -2 * x / (3 + x)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return 0.1 * (x_j - x_i)


def test_self_terms_with_a_scale_of_their_own() -> None:
    truth, seen = data_of(Saturated(), x0=10 * torch.rand(25, 1, generator=torch.Generator().manual_seed(0)))
    reg = DynamicsRegressor(model="interaction").fit(seen)
    found = str(reg.equations())
    assert "x_i/(K + x_i)" in found
    assert "(x_j - x_i)" in found
    assert {round(row.value, 3) for row in reg.equations().coefficients} == {-2.0, 0.1}
    assert error_of(reg, truth) < 1e-5


# The free form ------------------------------------------------------------------------------------------------------


def test_a_law_that_no_library_holds() -> None:
    truth, seen = data_of(Cooperation(), count=20)
    reg = DynamicsRegressor(model=Interaction(nodes="same")).fit(seen)
    assert reg.evidence_.form == "free"
    assert reg.evidence_.free < reg.evidence_.closed
    assert reg.evidence_.equation is not None
    assert "no closed form" in reg.evidence_.reason
    assert error_of(reg, truth) < 0.01
    with pytest.raises(ValueError, match="no closed form"):
        reg.equations()


@pytest.mark.parametrize("count", [pytest.param(6, marks=pytest.mark.slow), 9])
def test_free_forms_of_few_snapshots(count: int) -> None:
    graph = networks.grid(16)
    data = ndcn.simulate(laws.Heat(), graph, laws.initial_state(graph), torch.linspace(0, 1, count))
    reg = DynamicsRegressor(model="free_form").fit(data)
    assert error_of(reg, data) < 1e-3


class Waves(laws.Law):
    """dx_i/dt = -x_i/2 + 0.3 sum_j A_ij sin(2 (x_j - x_i)): three periods over the differences there are."""

    def node(self, x: torch.Tensor) -> torch.Tensor:
        return -x / 2

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        return 0.3 * torch.sin(2 * (x_j - x_i))


@pytest.mark.filterwarnings("ignore:the law that was found misses")
def test_splines_through_two_snapshots_are_said_to_be_guesses() -> None:
    _, seen = data_of(Cooperation(), count=25)
    with pytest.warns(UserWarning, match="25 changes of states are too few to see f and g") as caught:
        DynamicsRegressor(model="free_form").fit(seen[[3, 4]])
    assert caught[0].filename == __file__


def test_couplings_that_turn_often() -> None:
    x0 = 10 * torch.rand(64, 1, generator=torch.Generator().manual_seed(0))
    truth, seen = data_of(Waves(), networks.grid(64), count=60, x0=x0)
    reg = DynamicsRegressor(model="free_form").fit(seen)
    assert error_of(reg, truth) < 0.03


def test_data_of_another_form_are_said_to_be_so() -> None:
    rates = torch.linspace(0.2, 5, 25, dtype=torch.float64)[:, None]
    times = torch.linspace(0, 3, 80)
    states = 3 * torch.exp(-rates * times[:, None, None].double())
    with pytest.warns(UserWarning, match="the same f and g at every node.*per_node"):
        DynamicsRegressor(model="free_form").fit(Trajectory(times=times, states=states, graph=GRID))


def test_free_form_by_name(cooperation: tuple[DynamicsRegressor, Trajectory]) -> None:
    reg, truth = cooperation
    assert reg.evidence_.form == "free"
    assert reg.evidence_.reason == "the free form was requested"
    assert error_of(reg, truth) < 0.01
    found = reg.functions(20)
    assert found is not None
    x = torch.linspace(1, 5, 9, dtype=torch.float64).unsqueeze(1)
    effect = reg.law_.edge(x[:1].expand_as(x), x)
    expected = Cooperation().edge(x, x)
    # f and g are known up to what a constant degree lets them share: differences of g are not
    torch.testing.assert_close(effect - effect[0], expected - expected[0], atol=0.05, rtol=0.05)


def test_the_free_form_warns_outside_the_states_seen(cooperation: tuple[DynamicsRegressor, Trajectory]) -> None:
    reg, truth = cooperation
    with pytest.warns(UserWarning, match="leaves the range of states seen") as caught:
        reg.predict([0.1], x0=torch.full((25, 1), 40.0))
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reg.predict(truth.times)


def test_spread_of_predictions(
    heat: DynamicsRegressor, cooperation: tuple[DynamicsRegressor, Trajectory], heat_data: tuple[Trajectory, Trajectory]
) -> None:
    for reg, truth in ((heat, heat_data[0]), cooperation):
        mean, deviation = reg.predict(truth.times, return_std=True)
        assert torch.equal(mean.states, reg.predict(truth.times).states)
        assert deviation.states.shape == truth.states.shape
        assert (deviation.states >= 0).all()
        assert deviation.states.max() > 0


def test_closed_form_by_name(heat_data: tuple[Trajectory, Trajectory]) -> None:
    truth, seen = heat_data
    reg = DynamicsRegressor(model="closed_form").fit(seen)
    assert terms_of(reg) == {("x_j - x_i", True, "x"): pytest.approx(0.8, rel=1e-4)}
    assert error_of(reg, truth) < 1e-5


@pytest.mark.slow
def test_a_closed_form_that_is_not_the_whole_law_is_kept_if_asked_for_and_says_so() -> None:
    few = Interaction("closed", without=[t for t in COUPLING if t not in ("x_j", "x_j - x_i")])
    with pytest.warns(UserWarning, match="it is not the whole law"):
        reg = DynamicsRegressor(model=few).fit(data_of(Cooperation(), networks.grid(9), count=40)[1])
    assert reg.evidence_.form == "closed"
    assert reg.evidence_.closed > 100
    assert "requested" in reg.evidence_.reason
