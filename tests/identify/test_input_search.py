"""Input terms of candidates."""

from dataclasses import replace

import pytest
import torch

import ndcn
from ndcn.identify.input_search import InputSearch, InputTerm
from ndcn.identify.observations import observed
from ndcn.identify.variants import nearest
from ndcn.laws import Equation, Formula, Term, term_values

GRAPH = ndcn.networks.grid(9)
RAIN = ndcn.Inputs([0.0, 1.0], {"rain": [0.0, 1.0]}, until=2.0)
NAMES = ("x", "rain")
HILL = "x_j^2/(K^2 + x_j^2)"


@pytest.fixture(scope="module")
def search() -> InputSearch:
    times = ndcn.sampling.regular_times(2.0, 12)
    data = ndcn.simulate(ndcn.laws.Gene(), GRAPH, ndcn.laws.initial_state(GRAPH), times)
    plain = [Term(Formula(text), False) for text in ("1", "x")]
    return InputSearch([observed(data, noisy=False)], [RAIN], [*plain, Term(Formula(HILL), True, 0, (1.0,))], NAMES)


def test_an_input_on_a_coupling_shares_the_parameters_inside_it(search: InputSearch) -> None:
    terms = (Term(Formula("x", NAMES), False), Term(Formula(HILL, NAMES), True, 0, (1.3,)))
    wider = search.extended(Equation(terms, torch.tensor([-1.0, 2.0]).double(), 2), InputTerm("coupling", 0, 0))
    assert [term.formula.text for term in wider.terms] == ["x", HILL, f"rain*({HILL})"]
    tied = search.tied(wider.with_parameters(torch.tensor([-1.0, 2.0, 1.2, 1.3, 1.3], dtype=torch.float64)))
    assert [term.formula.text for term in tied.terms] == ["x", f"(1 + s*rain)*({HILL})"]
    assert dict(zip(tied.terms[1].formula.parameters, tied.terms[1].values, strict=True)) == pytest.approx(
        {"s": 0.6, "K": 1.3}
    )
    states = torch.rand(3, 9, 2, dtype=torch.float64)
    same = wider.with_parameters(torch.tensor([-1.0, 2.0, 1.2, 1.3, 1.3], dtype=torch.float64))
    network = search.data[0].network
    torch.testing.assert_close(tied.rate(states, network), same.rate(states, network))
    assert search.tied(tied) is tied


def test_couplings_without_parameters_stay_apart(search: InputSearch) -> None:
    terms = (Term(Formula("x_j - x_i", NAMES), True), Term(Formula("rain*(x_j - x_i)", NAMES), True))
    equation = Equation(terms, torch.tensor([1.0, 0.5]).double(), 2)
    assert search.tied(equation) is equation


def test_couplings_of_other_families_are_rivals_where_they_are_nearly_the_same(search: InputSearch) -> None:
    """Shots hardly tell two Hill functions apart: whole trajectories do, and so need both."""
    states = search.data[0].level
    rival = nearest(
        [Term(Formula("x_j^3/(K^3 + x_j^3)"), True, 0, (1.0,))],
        term_values(Term(Formula(HILL), True, 0, (1.0,)), states, search.data[0].network),
        states,
        search.data[0].network,
    )
    others = search.nearly(replace(rival, formula=Formula(rival.formula.text, NAMES)))
    assert [term.formula.text for term in others] == [HILL]
    assert others[0].values == pytest.approx((1.0,), rel=0.3)
    assert search.nearly(Term(Formula(HILL, NAMES), True, 0, (1.0,))) == []
