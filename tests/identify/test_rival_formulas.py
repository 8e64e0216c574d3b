"""Formulas that explain noisy data to within its errors are compared with one another: the first is not taken."""

from __future__ import annotations

import torch

import ndcn
from ndcn import DynamicsRegressor, laws


def test_a_formula_that_explains_noisy_data_is_not_taken_before_its_rivals_are_seen() -> None:
    """0.04 + 0.92 x^3 / (K^3 + x^3) leaves residuals within 5 % of the noise here, and comes before x^h / (1 + x^h)."""
    seed = 41
    graph = ndcn.networks.power_law(100, seed=seed)
    start = laws.initial_state(graph).double()
    whole = ndcn.simulate(laws.Gene(), graph, start, ndcn.sampling.irregular_times(5.0, seed=seed))
    seen = ndcn.split(whole, seed=seed).train
    noise = torch.randn(seen.states.shape, generator=torch.Generator().manual_seed(141), dtype=torch.float64)
    noisy = seen.replaced(states=seen.states * (1 + 0.05 * noise))
    reg = DynamicsRegressor(model="interaction", seed=seed).fit(noisy)
    assert reg.evidence_.explained
    terms = {one.term for one in reg.equations().coefficients}
    assert terms in ({"x", "x_j^h/(1 + x_j^h)"}, {"x", "x_j^2/(K^2 + x_j^2)"}), terms
