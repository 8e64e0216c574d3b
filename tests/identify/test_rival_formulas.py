"""Formulas that explain noisy data to within its errors are compared with one another: the first is not taken."""

from __future__ import annotations

import torch

import ndcn
from ndcn import DynamicsRegressor, laws


def fitted(law: laws.Law, seed: int) -> DynamicsRegressor:
    """A law of 100 nodes with 5 % noise."""
    graph = ndcn.networks.power_law(100, seed=seed)
    start = laws.initial_state(graph).double()
    whole = ndcn.simulate(law, graph, start, ndcn.sampling.irregular_times(5.0, seed=seed))
    seen = ndcn.split(whole, seed=seed).train
    noise = torch.randn(seen.states.shape, generator=torch.Generator().manual_seed(100 + seed), dtype=torch.float64)
    noisy = seen.replaced(states=seen.states * (1 + 0.05 * noise))
    return DynamicsRegressor(model="interaction", seed=seed).fit(noisy)


def test_a_formula_that_explains_noisy_data_is_not_taken_before_its_rivals_are_seen() -> None:
    """0.04 + 0.92 x^3 / (K^3 + x^3) leaves residuals within 5 % of the noise here, and comes before x^h / (1 + x^h)."""
    reg = fitted(laws.Gene(), 41)
    assert reg.evidence_.explained
    terms = {one.term for one in reg.equations().coefficients}
    assert terms in ({"x", "x_j^h/(1 + x_j^h)"}, {"x", "x_j^2/(K^2 + x_j^2)"}), terms


def test_a_parameter_that_misjudged_noise_called_for_goes_once_the_noise_is_known() -> None:
    """By the noise of smooth paths x_j - x_i needs a factor exp(-a (x_j - x_i)^2) here; by its own, a is 0 within one standard error."""
    reg = fitted(laws.Heat(), 80)
    assert reg.evidence_.explained
    assert {one.term for one in reg.equations().coefficients} == {"x_j - x_i"}
