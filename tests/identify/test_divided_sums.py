"""Couplings that are averages over neighbours."""

import warnings

import pytest
import torch

import ndcn
from ndcn.identify.divided_sums import _with_differences, ways
from ndcn.identify.observations import observed
from ndcn.identify.trajectory_fit import fit_trajectories
from ndcn.identify.trajectory_problem import problems_for
from ndcn.laws import ClosedForm, Equation, Formula, Term, divided

GRAPH = ndcn.networks.power_law(60, seed=4)
TIMES = ndcn.sampling.irregular_times(5.0, count=80, seed=1)
TERMS = (Term(Formula("x"), False), Term(Formula("x_j^2/(K^2 + x_j^2)"), True, values=(1.5,)))


def law_over(by: str) -> ClosedForm:
    law = ClosedForm(Equation(TERMS, torch.tensor([-0.7, 4.0])))
    law.divided_by = by
    return law


@pytest.mark.parametrize("by", ["in-degree", "weights", "degrees"])
def test_weights_are_divided(by: str) -> None:
    graph = ndcn.Graph.from_edges([(0, 1, 2.0), (1, 2, 3.0), (0, 2, 0.5), (2, 3, 1.0)])
    A = graph.to_dense().double()
    count = (A > 0).double().sum(1)
    root = count.sqrt()
    expected = {
        "in-degree": A / count[:, None],
        "weights": A / A.sum(1)[:, None],
        "degrees": A / torch.outer(root, root),
    }
    torch.testing.assert_close(divided(graph, by).to_dense().double(), expected[by])
    assert divided(graph, None) is graph


@pytest.mark.parametrize(("by", "noise"), [("in-degree", 0.0), pytest.param("degrees", 0.01, marks=pytest.mark.slow)])
def test_the_divisor_is_found(by: str, noise: float, tmp_path) -> None:
    law = law_over(by)
    data = ndcn.simulate(law, GRAPH, ndcn.laws.initial_state(GRAPH, dtype=torch.float64), TIMES)
    drawn = torch.randn(data.states.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    seen = ndcn.Trajectory(times=TIMES, states=data.states * (1 + noise * drawn), graph=GRAPH)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reg = ndcn.DynamicsRegressor(model="interaction").fit(seen)
    assert reg.law_.divided_by == by
    assert {c.term for c in reg.equations().coefficients} == {"x", "x_j^2/(K^2 + x_j^2)"}
    assert "divided by" in str(reg.evidence_)
    assert "k_i the in-degree" in str(reg.equations())
    assert "k_i" in reg.equations().latex()
    assert ndcn.metrics.normalized_l1(reg.predict(TIMES), data) < 2e-3
    reg.save(tmp_path / "over.ndcn")
    again = ndcn.load(tmp_path / "over.ndcn")
    assert again.law_.divided_by == by
    torch.testing.assert_close(again.predict(TIMES[:9]).states, reg.predict(TIMES[:9]).states)


def test_descriptions_with_other_divisors_are_refused() -> None:
    about = law_over("in-degree").description()
    assert ClosedForm.from_description(about).divided_by == "in-degree"
    with pytest.raises(ValueError, match="may be divided by"):
        ClosedForm.from_description({**about, "divided_by": "luck"})


def test_over_the_in_degree_differences_are_one_term() -> None:
    """sum_j A_ij x_j / k_i - x_i is the average of x_j - x_i."""
    law = ClosedForm(Equation((Term(Formula("x_j - x_i"), True),), torch.tensor([1.0])))
    law.divided_by = "in-degree"
    x0 = 3 * torch.rand(60, 1, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    data = ndcn.simulate(law, GRAPH, x0, TIMES)
    drawn = torch.randn(data.states.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    seen = observed(ndcn.Trajectory(times=TIMES, states=data.states * (1 + 0.01 * drawn), graph=GRAPH), noisy=True)
    other = dict(ways([seen]))["in-degree"]
    terms = Term(Formula("x"), False), Term(Formula("x_j"), True)
    both = Equation(terms, torch.tensor([-1.0, 1.0], dtype=torch.float64))
    problems = problems_for(other, both, torch.tensor([1e-4], dtype=torch.float64))
    assert problems is not None
    fit = fit_trajectories(both, problems, iterations=10)
    assert fit is not None
    (term,) = _with_differences(fit).model.terms
    assert term.formula.text == "x_j - x_i"
