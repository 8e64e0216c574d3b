"""LearnedLaw: predictions with their spread, warnings outside the states seen, and reading it."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest
import torch
from ndcn.fields import ClosedForm, FreeForm

from ndcn import Trajectory, laws
from ndcn.identify import Evidence, FoundLaw
from ndcn.laws import Corrected, Equation, FreeModel, Term, basis_for, law_of
from ndcn.laws.formula import Formula
from ndcn.regressor.initial import InitialCondition as Start
from ndcn.regressor.kinds import learned_law
from ndcn.regressor.kinds.learned_law import LearnedLaw
from ndcn.regressor.query import Prediction, Query, query_of
from ndcn.solve import IntegrationError
from problems import GRAPHS, heat, states

GRAPH = GRAPHS["path"]
X0 = states(GRAPH, 1)
START = Start(GRAPH, X0, 0.0, torch.tensor([0.0, 1.0], dtype=torch.float64), ("x",), None)
HEAT = Equation((Term(Formula("x_j - x_i"), True),), torch.tensor([1.0], dtype=torch.float64))
BLOWUP = Equation((Term(Formula("x^2"), False),), torch.tensor([1.0], dtype=torch.float64))
SEEN = torch.linspace(0.1, 3.1, 50, dtype=torch.float64).unsqueeze(1)
EVIDENCE = Evidence("closed", "for a test", (1e-7,), 0.5)


def asked(times: object, **arguments: object) -> Query:
    return query_of(START, times, arguments.get("graph"), arguments.get("x0"), arguments.get("t0"))


def answer(law: LearnedLaw, query: Query, spread: bool = False) -> Prediction:
    return law.predict(query, START.features, spread)


def learned(
    model: Equation | FreeModel = HEAT, error: float = 0.1, start_draws: list[torch.Tensor] | None = None
) -> LearnedLaw:
    p = model.parameters
    draws = p + error * torch.linspace(-1, 1, 5, dtype=torch.float64).unsqueeze(1) * torch.ones_like(p)
    covariance = error**2 * torch.eye(len(p), dtype=torch.float64)
    errors = covariance.diagonal().sqrt()
    law = law_of(model, ("x",))
    return LearnedLaw(FoundLaw(law, covariance, errors, draws, [X0], start_draws, EVIDENCE, SEEN))


def sampled(law: LearnedLaw, samples: torch.Tensor) -> LearnedLaw:
    return LearnedLaw(replace(law.found, posterior_samples=samples))


def free(slope: float = 1.0) -> FreeModel:
    """Heat, in splines."""
    basis = basis_for(SEEN, SEEN - SEEN.flip(0))
    c = torch.zeros(1, basis.size, dtype=torch.float64)
    c[0, basis.blocks["u0"]] = slope * basis.gap[0].greville
    return FreeModel(basis, c)


def test_both_forms_are_laws() -> None:
    assert isinstance(learned().law, ClosedForm)
    assert isinstance(learned(free()).law, FreeForm)
    assert learned(free()).law.features == ("x",)


@pytest.mark.parametrize("model", [HEAT, free()], ids=["closed", "free"])
def test_predictions_are_solutions(model: Equation | FreeModel) -> None:
    times = [0.7, 0.2, 2.0]
    found = answer(learned(model), asked(times)).mean
    assert isinstance(found, Trajectory)
    torch.testing.assert_close(found.states, heat(GRAPH, X0, times), atol=1e-5, rtol=1e-5)
    assert found.times.tolist() == times


def test_other_graphs_and_starts() -> None:
    graph = GRAPHS["directed"]
    x0 = states(graph, 1, seed=4)
    found = answer(learned(), asked([1.5], graph=graph, x0=x0, t0=1.0)).mean
    assert isinstance(found, Trajectory)
    torch.testing.assert_close(found.states, heat(graph, x0, [0.5]), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("model", [HEAT, free()], ids=["closed", "free"])
def test_the_spread_is_that_of_the_draws(model: Equation | FreeModel) -> None:
    law = learned(model, 0.02)
    both = answer(law, asked([0.0, 0.5]), True)
    mean, deviation = both.mean, both.std
    alone = answer(law, asked([0.0, 0.5])).mean
    assert torch.equal(mean.states, alone.states)
    assert deviation.states[0].abs().max() == 0
    assert deviation.states[1].max() > 0
    if model is HEAT:
        every = torch.stack([heat(GRAPH, X0, [0.5 * float(k)])[0] for k in law.found.posterior_samples])
        torch.testing.assert_close(deviation.states[1], every.std(0), atol=1e-5, rtol=1e-3)


def test_first_states_that_are_drawn_widen_the_band() -> None:
    draws = X0 + 0.1 * torch.randn(5, 4, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    law = learned(error=1e-6, start_draws=[draws])
    deviation = answer(law, asked([0.0]), True).std
    torch.testing.assert_close(deviation.states[0], draws.std(0))
    known = answer(law, asked([0.0], x0=X0, t0=0.0), True).std
    assert known.states.abs().max() < 1e-6


def test_draws_that_explode_are_left_out_and_too_many_are_an_error() -> None:
    x0 = torch.full((4, 1), 1.0, dtype=torch.float64)
    law = learned(BLOWUP)  # infinite at t = 1/c
    some = sampled(law, torch.tensor([[0.9], [1.1], [20.0]], dtype=torch.float64))
    deviation = answer(some, asked([0.1], x0=x0, t0=0.0), True).std
    expected = torch.tensor([1 / (1 - 0.09), 1 / (1 - 0.11)]).std().item()
    assert deviation.states.flatten().tolist() == pytest.approx([expected] * 4, rel=1e-4)
    wild = sampled(law, torch.tensor([[1.0], [50.0]], dtype=torch.float64))
    with pytest.raises(IntegrationError, match="posterior samples diverge"):
        answer(wild, asked([0.1], x0=x0, t0=0.0), True)


def test_draws_far_faster_than_the_law_are_left_out() -> None:
    law = learned(Equation((Term(Formula("x"), False),), torch.tensor([-1.0], dtype=torch.float64)))
    some = sampled(law, torch.tensor([[-1.0], [-1.1], [-1e5]], dtype=torch.float64))
    deviation = answer(some, asked([1.0]), True).std
    expected = torch.tensor([-1.0, -1.1]).exp().std()
    torch.testing.assert_close(deviation.states[0], X0 * expected, atol=1e-5, rtol=1e-4)
    few = sampled(law, torch.tensor([[-1.0], [-1.1], [-1e5], [-2e5], [-3e5]], dtype=torch.float64))
    with pytest.warns(UserWarning, match="only 2 of 5 posterior samples"):
        answer(few, asked([1.0]), True)


HILL = Equation(
    (
        Term(Formula("x"), False),
        Term(Formula("x_j^h/(1 + x_j^h)"), True, values=(2.0,)),
        Term(Formula("sin(x_j - x_i)"), True),
    ),
    torch.tensor([-1.0, 0.5, 0.2], dtype=torch.float64),
)


def two_features() -> FreeModel:
    seen = torch.rand(50, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    basis = basis_for(seen, seen - seen.flip(0))
    noise = torch.randn(2, basis.size, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return FreeModel(basis, 0.1 * noise)


@pytest.mark.parametrize("model", [HILL, free(), two_features()], ids=["closed", "free", "two features"])
def test_laws_side_by_side_are_each_of_them(model: Equation | FreeModel) -> None:
    names = ("v", "w") if isinstance(model, FreeModel) and len(model.coefficients) == 2 else ("x",)
    generator = torch.Generator().manual_seed(2)
    draws = model.parameters + 0.05 * torch.randn(4, len(model.parameters), generator=generator, dtype=torch.float64)
    law = LearnedLaw(FoundLaw(law_of(model, names), torch.eye(1), torch.ones(1), draws, [X0], None, EVIDENCE, SEEN))
    together = law._side_by_side()
    assert together is not None
    x = 1.5 * torch.rand(4, 4, len(names), generator=generator, dtype=torch.float64)  # some outside the knots
    t = torch.tensor(0.0)
    expected = torch.stack([one(t, state, GRAPH) for one, state in zip(law.posterior_samples(), x, strict=True)])
    torch.testing.assert_close(together(t, x, GRAPH), expected)


class FirstOfAll(laws.Law):
    """A law as users write them, for states (n, d) alone."""

    def node(self, x: torch.Tensor) -> torch.Tensor:
        return torch.stack([-x[:, 0]], dim=1)


def test_laws_known_in_part_are_followed_one_by_one() -> None:
    found = learned(error=0.02).found
    law = LearnedLaw(replace(found, law=Corrected(FirstOfAll(), found.law)))
    assert law._side_by_side() is None
    deviation = answer(law, asked([0.5]), True).std
    assert 0 < deviation.states.max() < 0.1


@pytest.mark.parametrize("model", [HILL, free()], ids=["closed", "free"])
def test_large_graphs_are_followed_law_by_law_to_the_same_band(
    model: Equation | FreeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    law = learned(model, 0.02)
    together = answer(law, asked([0.5, 1.0]), True).std
    monkeypatch.setattr(learned_law, "SMALL", 0)
    apart = answer(law, asked([0.5, 1.0]), True).std
    torch.testing.assert_close(together.states, apart.states, rtol=1e-4, atol=1e-7)


def test_the_free_form_warns_outside_the_states_seen() -> None:
    x0 = torch.tensor([[1.0], [2.0], [9.0], [1.0]], dtype=torch.float64)
    with pytest.warns(UserWarning, match=r"from t = 0 on .* leaves the range of states .*0\.1 to 3\.1"):
        answer(learned(free()), asked([0.0, 0.5], x0=x0, t0=0.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer(learned(free()), asked([0.0, 0.5]))
        answer(learned(HEAT), asked([0.0, 0.5], x0=x0, t0=0.0))  # a formula is known everywhere


def test_the_warning_names_the_first_time_outside() -> None:
    basis = basis_for(SEEN, SEEN - SEEN.flip(0))
    c = torch.zeros(1, basis.size, dtype=torch.float64)
    c[0, basis.blocks["f0"]] = 1.0  # dx/dt = 1
    with pytest.warns(UserWarning, match="from t = 3 on"):
        answer(learned(FreeModel(basis, c)), asked([4.0, 0.0, 3.0], x0=torch.ones(4, 1), t0=0.0))


def test_equations_of_the_closed_form_alone() -> None:
    assert str(learned().equations()) == "dx_i/dt = sum_j A_ij 1.00(10) (x_j - x_i)"
    with pytest.raises(ValueError, match=r"no closed form: for a test.*functions"):
        learned(free()).equations()


@pytest.mark.parametrize("model", [HEAT, free()], ids=["closed", "free"])
def test_functions_on_a_grid(model: Equation | FreeModel) -> None:
    assert learned(model).functions(7) is not None
    law = learned(model)
    assert len(law.posterior_samples()) == 5
    x = torch.tensor([[1.0]], dtype=torch.float64)
    gaps = [float(k.edge(x, x + 1)) for k in law.posterior_samples()]
    assert gaps == sorted(gaps)
    assert gaps[2] == pytest.approx(float(law.law.edge(x, x + 1)))


def test_evidence_prints_its_reason() -> None:
    assert str(EVIDENCE) == "for a test"
