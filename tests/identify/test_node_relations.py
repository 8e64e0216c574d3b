"""Numbers of nodes that follow attributes: found where they do, and not where they do not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import ndcn
from ndcn import laws
from ndcn.identify.node_fit import NodeFit, fit_nodes_along, node_problems
from ndcn.identify.node_relations import attributes_of, following, offered
from ndcn.identify.observations import largest, observed
from ndcn.laws import Equation, Formula, NodeEquation, Term

N = 25
GRAPH = ndcn.networks.grid(N)
RNG = np.random.default_rng(3)
POPULATION, INCOME, REST = RNG.random(N), RNG.random(N), RNG.normal(size=N)
TERMS = (Term(Formula("x"), False), Term(Formula("x_j^2/(K^2 + x_j^2)"), True, values=(1.2,)))
MODEL = NodeEquation(Equation(TERMS, torch.tensor([-0.8, 0.9], dtype=torch.float64)), (0,))
TIMES = ndcn.sampling.irregular_times(4.0, count=40, seed=0)


def seen(b: np.ndarray, noise: float, graph: ndcn.Graph = GRAPH) -> ndcn.Trajectory:
    x0 = laws.initial_state(graph, dtype=torch.float64)
    data = ndcn.simulate(laws.Gene(b=torch.from_numpy(b)), graph, x0, TIMES)
    drawn = torch.randn(data.states.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return ndcn.Trajectory(times=TIMES, states=data.states * (1 + noise * drawn), graph=graph)


def fitted(b: np.ndarray, noise: float = 0.02) -> NodeFit:
    one = observed(seen(b, noise), noisy=True)
    u = torch.zeros(N, 1, dtype=torch.float64)
    problems = node_problems([one], MODEL, u, 1e-5 * largest([one]))
    assert problems is not None
    found = fit_nodes_along(MODEL, u, problems, np.array([0.3]), iterations=20)
    assert found is not None
    return found


def test_a_slope_with_its_error_takes_the_place_of_the_spread() -> None:
    found = fitted(0.6 + 0.8 * POPULATION)
    told = following(found, {"population": POPULATION, "income": INCOME, "degree": GRAPH.attribute("degree")})
    assert [(k, one.name, one.log) for k, one in told.pairs] == [(0, "population", False)]
    (relation,) = told.relations()
    error = np.sqrt(told.fit.covariance[-1, -1]) / told.widths[0]
    assert abs(relation.slope + 0.8) < 3 * error
    assert 0 < error < 0.02
    assert told.spreads().tolist() == [0.0]
    assert told.gain > 30
    np.testing.assert_allclose(told.fit.values[:, 0], -0.6 - 0.8 * POPULATION, atol=0.02)
    assert told.fit.excess == pytest.approx(found.excess, rel=0.05)


def test_what_an_attribute_leaves_stays_a_spread() -> None:
    told = following(fitted(0.6 + 0.8 * POPULATION + 0.1 * REST), {"population": POPULATION})
    assert [one.name for _, one in told.pairs] == ["population"]
    assert told.spreads()[0] == pytest.approx(0.1 * REST.std(), rel=0.5)


def test_attributes_that_say_nothing_are_left_out() -> None:
    told = following(fitted(1 + 0.2 * REST), {"population": POPULATION, "income": INCOME})
    assert told.pairs == ()
    assert told.gain == 0


def test_nodes_whose_attribute_is_not_known_keep_a_value_of_their_own() -> None:
    b = 0.6 + 0.8 * POPULATION
    b[4] = 2.0
    gaps = np.where(np.arange(N) == 4, np.nan, POPULATION)
    told = following(fitted(b), {"population": gaps})
    assert [one.name for _, one in told.pairs] == ["population"]
    assert told.fit.values[4, 0].item() == pytest.approx(-2.0, abs=0.05)
    assert told.relations()[0].slope == pytest.approx(-0.8, abs=0.03)
    assert np.isnan(told.relations()[0].values[4])


def test_only_what_could_tell_something_is_offered() -> None:
    some = np.where(np.arange(N) < 4, 1.0 + np.arange(N), np.nan)
    wide = np.geomspace(1, 1e6, N)
    names = offered(
        {"few": some, "constant": np.ones(N), "size": wide, "sign": wide - 10, "narrow": 1 + 0.1 * POPULATION}
    )
    assert [(one.name, one.log) for one in names] == [
        ("size", False),
        ("size", True),
        ("sign", False),
        ("narrow", False),
    ]
    one = seen(np.ones(N), 0.0, GRAPH.with_attributes({"size": wide, "other": wide}))
    two = seen(np.ones(N), 0.0, GRAPH.with_attributes({"size": wide, "other": -wide}))
    assert list(attributes_of([one, two])) == ["size", "degree"]


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_the_whole_law_with_its_attribute_is_carried_to_another_graph(noise: float, tmp_path) -> None:  # type: ignore[no-untyped-def]
    graph = ndcn.networks.power_law(60, seed=5)
    rng = np.random.default_rng(5)
    a, c = rng.random(60), rng.random(60)
    data = seen(0.6 + 0.8 * a, noise, graph.with_attributes({"population": a, "income": c}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reg = ndcn.DynamicsRegressor("interaction").fit(data)
    assert [one.attribute for one in reg.law_.relations] == ["population"]
    assert "b_i follows population, which leaves no spread" in str(reg.evidence_)
    assert "population_i" in str(reg.equations())
    there = ndcn.networks.power_law(100, seed=6).with_attributes({"population": rng.random(100)})
    x0 = laws.initial_state(there, dtype=torch.float64)
    law = laws.Gene(b=torch.from_numpy(0.6 + 0.8 * there.attributes["population"]))
    truth = ndcn.simulate(law, there, x0, TIMES)
    path, spread = reg.predict(TIMES, graph=there, x0=x0, return_std=True)
    assert ndcn.metrics.normalized_l1(path, truth) < (0.003 if noise else 1e-5)
    assert spread.states.mean() < (0.01 if noise else 1e-4) * path.states.abs().mean()
    reg.save(tmp_path / "model.ndcn")
    again = ndcn.load(tmp_path / "model.ndcn")
    assert str(again.equations()) == str(reg.equations())
    torch.testing.assert_close(again.predict(TIMES, graph=there, x0=x0).states, path.states)
    with pytest.raises(ValueError, match="no attribute 'population'"):
        reg.predict([1.0], graph=ndcn.networks.grid(9), x0=torch.ones(9, 1))
