"""Laws whose nodes differ are found, and nodes that are alike are not said to differ."""

import warnings

import numpy as np
import pytest
import torch

import ndcn
from ndcn import laws
from ndcn.identify.node_discovery import EVIDENCE
from ndcn.identify.node_fit import fit_nodes_along, node_problems
from ndcn.identify.node_search import with_others_varying
from ndcn.identify.observations import observed as observations
from ndcn.laws import Equation, Formula, NodeEquation, Term

N = 40
GRAPH = ndcn.networks.power_law(N, seed=5)
RANDOM = torch.rand(N, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
TIMES = ndcn.sampling.irregular_times(5.0, count=60, seed=5)


def observed(law: laws.Law, noise: float = 0.0, seed: int = 0) -> ndcn.Trajectory:
    x0 = laws.initial_state(GRAPH) if isinstance(law, laws.Gene) else law.initial_state(GRAPH, seed=seed)
    data = ndcn.simulate(law, GRAPH, x0.double(), TIMES)
    drawn = torch.randn(data.states.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return ndcn.Trajectory(times=TIMES, states=data.states * (1 + noise * drawn), graph=GRAPH)


def found(data: ndcn.Trajectory, **options: object) -> ndcn.DynamicsRegressor:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return ndcn.DynamicsRegressor(model=ndcn.Interaction(**options)).fit(data)  # type: ignore[arg-type]


@pytest.mark.parametrize("noise", [0.0, pytest.param(0.02, marks=pytest.mark.slow)])
def test_growth_rates_of_nodes(noise: float) -> None:
    b = 0.6 + 0.8 * RANDOM
    reg = found(observed(laws.Gene(b=b), noise))
    table = reg.node_values_
    assert list(table.columns) == ["b_i", "b_i error"]
    assert list(table.index) == list(GRAPH.nodes)
    assert {c.term for c in reg.equations().coefficients if not c.coupling} == {"x"}
    assert np.corrcoef(table["b_i"], -b.numpy())[0, 1] > (0.999 if noise else 1 - 1e-9)
    z = (table["b_i"] + b.numpy()) / table["b_i error"]
    assert not noise or 0.6 < np.sqrt(np.square(z).mean()) < 1.5
    assert "b_i varies among nodes" in str(reg.evidence_)
    assert "BIC" in str(reg.evidence_)
    assert "b_i x_i" in str(reg.equations())
    assert f"over {N} nodes" in str(reg.equations())
    assert "b_i" in reg.equations().latex()


@pytest.mark.slow
def test_prediction_elsewhere_has_the_spread_of_nodes(tmp_path) -> None:
    b = 0.6 + 0.8 * RANDOM
    data = observed(laws.Gene(b=b))
    reg = found(data)
    other = ndcn.networks.power_law(70, seed=6)
    x0, times = laws.initial_state(other), [0.0, 0.5, 1.0]
    mean, spread = reg.predict(times, graph=other, x0=x0, return_std=True)
    known = laws.Gene(b=float(-reg.law_.equation.parameters[0]))
    torch.testing.assert_close(mean.states, ndcn.simulate(known, other, x0, times).states, rtol=1e-3, atol=1e-3)
    own, narrow = reg.predict(times, return_std=True)
    assert narrow.states.max() < 1e-4 * own.states.abs().max()
    assert spread.states.mean() > 0.01 * mean.states.abs().mean()
    given = reg.law_.with_node_values({"b_i": -np.linspace(0.6, 1.4, 70)})
    truth = ndcn.simulate(laws.Gene(b=torch.linspace(0.6, 1.4, 70).double()), other, x0, times)
    torch.testing.assert_close(ndcn.simulate(given, other, x0, times).states, truth.states, rtol=1e-3, atol=1e-3)
    reg.save(tmp_path / "nodes.ndcn")
    again = ndcn.load(tmp_path / "nodes.ndcn")
    assert again.node_values_.equals(reg.node_values_)
    assert str(again.equations()) == str(reg.equations())
    torch.testing.assert_close(again.predict([1.0]).states, reg.predict([1.0]).states)


def test_nodes_that_are_alike_are_not_told_apart() -> None:
    for law, noise in ((laws.Gene(), 0.05), (laws.SIS(beta=0.4, delta=0.7), 0.02)):
        reg = found(observed(law, noise, seed=3))
        assert reg.node_values_ is None
        assert reg.evidence_.explained


def test_groups_of_nodes() -> None:
    kind = (RANDOM > 0.5).long()
    reg = found(observed(laws.SIS(beta=0.4, delta=torch.where(kind > 0, 0.4, 1.0).double()), 0.02), nodes="differ")
    table = reg.node_values_
    assert (table["group"].to_numpy() == kind.numpy()).mean() >= 0.95
    assert (table["group probability"] <= 1).all()


@pytest.mark.slow
def test_one_law_of_all_nodes_may_be_asked_for() -> None:
    data = observed(laws.SIS(beta=0.4, delta=0.3 + 0.9 * RANDOM), 0.02)
    with pytest.warns(UserWarning, match="does not explain"):
        reg = ndcn.DynamicsRegressor(model=ndcn.Interaction("closed", nodes="same")).fit(data)
    assert reg.node_values_ is None
    differ = found(data, nodes="differ")
    assert list(differ.node_values_.columns) == ["b_i", "b_i error"]
    assert differ.get_params()["model"].nodes == "differ"
    with pytest.raises(ValueError, match="nodes must be"):
        ndcn.Interaction(nodes="other")


@pytest.mark.slow
def test_conductances_of_nodes_in_noise() -> None:
    """Varying self terms imitate -k_i x_i to the noise: the shorter law is likelier."""
    graph = ndcn.networks.power_law(N, seed=0)
    k = 0.5 + torch.rand(N, generator=torch.Generator().manual_seed(500), dtype=torch.float64)
    times = ndcn.sampling.irregular_times(5.0, count=80, seed=0)
    data = ndcn.simulate(laws.Heat(k), graph, laws.initial_state(graph).double(), times)
    drawn = torch.randn(data.states.shape, generator=torch.Generator().manual_seed(100), dtype=torch.float64)
    reg = found(ndcn.Trajectory(times=times, states=data.states * (1 + 0.05 * drawn), graph=graph))
    assert {c.term for c in reg.equations().coefficients} == {"x_j - x_i"}
    assert np.corrcoef(reg.node_values_["b_i"], k.numpy())[0, 1] > 0.95


@pytest.mark.slow
def test_random_walks_have_no_dynamics() -> None:
    steps = np.random.default_rng(0).standard_normal((60, N, 1)).cumsum(0)
    data = ndcn.Trajectory(times=np.arange(60.0), states=40 + steps, graph=GRAPH)
    with pytest.warns(UserWarning, match="no dynamics found"):
        reg = ndcn.DynamicsRegressor(model="interaction").fit(data)
    assert not reg.evidence_.explained


def test_what_varies_is_asked_again_along_trajectories() -> None:
    """Beside self terms of each node any coupling does well by the weak form; its path misses the first, fast stretch."""
    graph = ndcn.networks.power_law(30, seed=0)
    k = 0.5 + torch.rand(30, generator=torch.Generator().manual_seed(500), dtype=torch.float64)
    times = ndcn.sampling.irregular_times(5.0, count=40, seed=0)
    whole = ndcn.simulate(laws.Heat(k), graph, laws.initial_state(graph).double(), times)
    drawn = torch.randn(whole.states.shape, generator=torch.Generator().manual_seed(100), dtype=torch.float64)
    seen = ndcn.Trajectory(times=times, states=whole.states * (1 + 0.05 * drawn), graph=graph)
    data, tolerance = [observations(seen, noisy=True)], torch.tensor([1e-3], dtype=torch.float64)
    terms = tuple(Term(Formula(text), coupling) for text, coupling in (("1", False), ("x", False), ("x_j - x_i", True)))
    model = NodeEquation(Equation(terms, torch.tensor([0.1, 0.1, 0.9], dtype=torch.float64)), (0,), ("x",))
    u = torch.zeros(30, 1, dtype=torch.float64)
    began = fit_nodes_along(model, u, node_problems(data, model, u, tolerance), np.array([0.1]), iterations=4)
    (other,) = with_others_varying([began])
    assert 2 in other.model.varying
    assert other.score < began.score - EVIDENCE


def test_too_few_snapshots_to_tell_nodes_apart() -> None:
    few = observed(laws.Gene(b=0.6 + 0.8 * RANDOM), 0.02)[:6]
    with pytest.warns(
        UserWarning, match="nodes are taken as alike, because whether they differ cannot be told: 6 snapshots"
    ):
        reg = ndcn.DynamicsRegressor(model=ndcn.Interaction("closed", nodes="differ", seconds=3)).fit(few)
    assert reg.node_values_ is None
    assert "whether nodes differ cannot be told: 6 snapshots are fewer than 8" in str(reg.evidence_)
