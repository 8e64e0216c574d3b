"""Parameters inside couplings that vary among nodes."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import ndcn
from ndcn.identify.library import library, ranges_of
from ndcn.identify.node_discovery import _moved_by_links
from ndcn.identify.node_inner import inner_starts
from ndcn.identify.node_weak_form import node_form
from ndcn.identify.observations import observed
from ndcn.laws import Equation, Formula, NodeEquation, Term

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from real_systems import Hill

N = 30
GRAPH = ndcn.networks.power_law(N, seed=5)
K = 0.5 + 1.5 * torch.rand(N, generator=torch.Generator().manual_seed(7), dtype=torch.float64)


def hill(noise: float) -> ndcn.Trajectory:
    times = ndcn.sampling.irregular_times(5.0, count=60, seed=5)
    data = ndcn.simulate(Hill(K), GRAPH, ndcn.laws.initial_state(GRAPH).double(), times)
    drawn = torch.randn(data.states.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return ndcn.Trajectory(times=times, states=data.states * (1 + noise * drawn), graph=GRAPH)


def test_the_weak_form_tells_a_parameter_that_varies() -> None:
    one = observed(hill(0.01), noisy=True)
    form = node_form([one], library(("x",), ranges_of(one.level.reshape(-1, 1))), 0, noisy=True)
    starts = list(inner_starts([one], form, 0, ("x",), noisy=True))
    assert 1 <= len(starts) <= 2
    for model, u, spread in starts:
        terms = model.equation.terms
        inner = [place - len(terms) for place in model.varying if place >= len(terms)]
        assert inner == [0]
        assert u.shape == (N, len(model.varying))
        assert (spread > 0).all()
    model, u, _ = starts[0]
    assert "x_j^2/(K^2 + x_j^2)" in {term.formula.text for term in model.equation.terms}
    assert np.corrcoef(u[:, -1], K)[0, 1] > 0.7


def test_numbers_that_wrong_links_move_are_those_of_couplings_and_constants_beside_them() -> None:
    terms = (Term(Formula("x"), False), Term(Formula("1"), False), Term(Formula("x_j/(K + x_j)"), True, values=(1.0,)))
    equation = Equation(terms, torch.tensor([-1.0, 0.1, 1.0], dtype=torch.float64))
    assert _moved_by_links(NodeEquation(equation, (0, 2, 3))) == [1, 2]
    assert _moved_by_links(NodeEquation(equation, (1, 2))) == [0, 1]
    assert _moved_by_links(NodeEquation(equation, (0, 1))) == []
    assert _moved_by_links(NodeEquation(equation, (0,))) == []


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_half_saturations_of_nodes_are_found(noise: float) -> None:
    reg = ndcn.DynamicsRegressor(model="interaction").fit(hill(noise))
    assert {c.term for c in reg.equations().coefficients} == {"x", "x_j^2/(K^2 + x_j^2)"}
    assert np.corrcoef(reg.node_values_["K_i"], K)[0, 1] > (0.97 if noise else 1 - 1e-6)
