"""Functions of sums over neighbours, and two couplings at once."""

import warnings

import pytest
import torch

import ndcn
from ndcn.identify.library import library, ranges_of
from ndcn.identify.observations import observed
from ndcn.identify.pair_search import PairSearch
from ndcn.identify.sum_search import SumSearch
from ndcn.laws import ClosedForm, Equation, Formula, Term

GRAPH = ndcn.networks.power_law(40, seed=4)
TIMES = ndcn.sampling.irregular_times(5.0, count=60, seed=1)
START = 3 * torch.rand(40, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
SATURATING = (("x", -0.5, ()), ("sum(x_j)/(sigma + sum(x_j))", 2.0, (4.0,)))
PAIR = (("x", -1.0, ()), ("x_j - x_i", 0.3, ()), ("x_j^2/(K^2 + x_j^2)", 0.5, (1.5,)))
LOGISTIC = (("x", -1.0, ()), ("1/(1 + exp(-beta*(sum(x_j) - theta)))", 3.0, (0.6, 9.0)))


def simulated(rows: tuple, noise: float = 0.0) -> tuple[ndcn.Trajectory, ndcn.Trajectory]:
    """A trajectory of the law, and as it is seen."""
    formulas = [Formula(text) for text, _, _ in rows]
    terms = tuple(
        Term(formula, formula.on_edges or formula.around is not None, values=values)
        for formula, (_, _, values) in zip(formulas, rows, strict=True)
    )
    law = ClosedForm(Equation(terms, torch.tensor([c for _, c, _ in rows], dtype=torch.float64)))
    data = ndcn.simulate(law, GRAPH, START, TIMES)
    drawn = torch.randn(data.states.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return data, ndcn.Trajectory(times=TIMES, states=data.states * (1 + noise * drawn), graph=GRAPH)


@pytest.mark.parametrize(("kind", "rows"), [(SumSearch, SATURATING), (PairSearch, PAIR)])
def test_the_form_of_the_coupling_is_found(kind, rows: tuple) -> None:
    one = observed(simulated(rows)[1], noisy=False)
    found = kind([one], library(("x",), ranges_of(one.level))).run()
    assert found is not None
    assert found.explains()
    assert {term.formula.text for term in found.equation.terms} == {text for text, _, _ in rows}


def test_a_plain_sum_needs_no_function() -> None:
    one = observed(simulated((("x", -1.0, ()), ("x_j - x_i", 0.3, ())))[1], noisy=False)
    assert SumSearch([one], library(("x",), ranges_of(one.level))).guesses() == []


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("rows", [SATURATING, PAIR, LOGISTIC])
def test_laws_are_found_from_states_alone(rows: tuple, noise: float, tmp_path) -> None:
    data, seen = simulated(rows, noise)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reg = ndcn.DynamicsRegressor(model="interaction").fit(seen)
    assert {c.term for c in reg.equations().coefficients} == {text for text, _, _ in rows}
    assert "as plain sums of one function do not explain" in str(reg.evidence_)
    assert ndcn.metrics.normalized_l1(reg.predict(TIMES), data) < 3e-3
    low, high = reg.intervals(TIMES[:9])
    assert bool((low.states <= high.states).all())
    reg.save(tmp_path / "law.ndcn")
    again = ndcn.load(tmp_path / "law.ndcn")
    other = ndcn.networks.grid(16)
    x0 = torch.rand(16, 1, dtype=torch.float64)
    there = [one.predict(TIMES[:9], graph=other, x0=x0).states for one in (reg, again)]
    torch.testing.assert_close(*there)
