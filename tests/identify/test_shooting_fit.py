"""Levenberg-Marquardt on shots: exact coefficients from a perturbed start, weights, and models that diverge."""

from __future__ import annotations

import pytest
import torch

from ndcn import Graph, Trajectory, laws, networks, simulate
from ndcn.identify.observations import Observations, observed
from ndcn.identify.shooting import COARSER_DERIVATIVES, derivatives
from ndcn.identify.shooting_fit import Shots, ends_of, fit, grouped_by_steps, misfit_of, shots_of
from ndcn.laws import Equation, Term
from ndcn.laws.formula import Formula

GRAPH = networks.random(16, seed=0)
TOLERANCE = torch.tensor([1e-9], dtype=torch.float64)


def equation(*rows: tuple) -> Equation:
    """From rows of (coefficient, formula, coupling, values)."""
    terms = tuple(Term(Formula(text), coupling, 0, tuple(values)) for _, text, coupling, values in rows)
    return Equation(terms, torch.tensor([row[0] for row in rows], dtype=torch.float64))


def shots(law: laws.Law, graph: Graph = GRAPH, T: int = 9, span: float = 1.0) -> tuple[Observations, Shots]:
    x0 = 3 * torch.rand(graph.num_nodes, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 0.2
    data = simulate(law, graph, x0, torch.linspace(0, span, T))
    one = observed(data, noisy=False)
    return one, shots_of(one, torch.arange(T - 1))


CASES = {
    "heat": (laws.Heat(0.7), equation((0.3, "x_j - x_i", True, [])), [0.7]),
    "gene": (laws.Gene(), equation((-0.6, "x", False, []), (1.6, "x_j^h/(1 + x_j^h)", True, [1.4])), [-1.0, 1.0, 2.0]),
    "mutualistic": (
        laws.Mutualistic(),
        equation(
            (0.12, "1", False, []),
            (-0.9, "x", False, []),
            (1.1, "x^2", False, []),
            (-0.18, "x^3", False, []),
            (0.22, "x_i*x_j/(1 + b*x_i + c*x_j)", True, [0.2, 0.03]),
        ),
        [0.1, -1.0, 1.2, -0.2, 0.2, 0.18, 0.02],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_exact_coefficients_from_a_perturbed_start(name: str) -> None:
    law, start, expected = CASES[name]
    _, batch = shots(law)
    found = fit(start, [batch], iterations=40, tolerance=TOLERANCE)
    assert found is not None
    assert found.model.parameters.tolist() == pytest.approx(expected, rel=1e-3, abs=1e-4)
    assert found.misfit < 1e-5
    assert found.count == batch.start.numel()
    assert found.normal.shape == (len(expected), len(expected))


def test_several_graphs_and_spans_together() -> None:
    batches = [shots(laws.Heat(0.7))[1], shots(laws.Heat(0.7), networks.grid(9), 4, 0.2)[1]]
    found = fit(equation((0.1, "x_j - x_i", True, [])), batches, tolerance=TOLERANCE)
    assert found is not None
    assert found.model.parameters.tolist() == pytest.approx([0.7], rel=1e-6)
    assert found.count == sum(b.start.numel() for b in batches)


def test_the_residual_falls_as_its_slope_says() -> None:
    _, batch = shots(laws.Gene())
    ends = batch.target * 1.1
    h = 1e-6
    numerical = (batch.residual(ends - h) - batch.residual(ends + h)) / (2 * h)
    torch.testing.assert_close(batch.slope(ends), numerical, rtol=1e-5, atol=1e-6)
    assert batch.residual(batch.target).abs().max() == 0


def test_batches_can_be_divided() -> None:
    _, batch = shots(laws.Heat())
    part = batch[torch.tensor([1, 3])]
    assert torch.equal(part.start, batch.start[[1, 3]])
    assert torch.equal(part.spans, batch.spans[[1, 3]])
    assert part.network is batch.network


def test_groups_have_equal_steps_and_lose_nothing() -> None:
    _, batch = shots(laws.Heat(), span=4.0)
    model = equation((1.0, "x_j - x_i", True, []))
    groups, reached = grouped_by_steps(model, [batch], TOLERANCE) or ([], [])
    assert sum(len(b.start) for b, _ in groups) == len(batch.start)
    assert len({steps for _, steps in groups}) == len(groups)
    assert all(torch.equal(a, b) for a, b in zip(reached, ends_of(model, groups), strict=True))
    assert misfit_of(groups, reached) < 1e-5
    assert misfit_of(groups, ends_of(equation((0.9, "x_j - x_i", True, [])), groups)) > 1e-3


def test_a_model_that_explodes_is_not_fitted() -> None:
    _, batch = shots(laws.Heat(), span=5.0)
    wild = equation((50.0, "x^3", False, []))
    assert grouped_by_steps(wild, [batch], TOLERANCE, 16) is None
    assert fit(wild, [batch], tolerance=TOLERANCE, most_steps=16) is None


def test_derivatives_by_steps_too_coarse_to_be_stable_are_not_believed() -> None:
    start = torch.full((1, 16, 1), 17.75, dtype=torch.float64)
    target = start / (1 + 2 * 0.2 * 0.5 * start.square()).sqrt()  # of dx/dt = -0.2 x^3 after 0.5
    one = observed(Trajectory(times=[0.0, 0.5], states=torch.cat([start, target]), graph=GRAPH), noisy=False)
    batch = shots_of(one, torch.arange(1))
    cubic = equation((-0.19, "x^3", False, []))
    loose = 1e5 * TOLERANCE
    ((_, steps),), _ = grouped_by_steps(cubic, [batch], loose) or ([], [])
    coarse = derivatives(cubic, batch.network, batch.start, batch.spans, steps // COARSER_DERIVATIVES)
    assert 1e100 < coarse.abs().max() < float("inf")
    found = fit(cubic, [batch], tolerance=loose)
    assert found is not None
    assert found.model.parameters.tolist() == pytest.approx([-0.2], rel=1e-3)


def test_a_wrong_model_keeps_its_misfit() -> None:
    _, batch = shots(laws.Heat())
    found = fit(equation((0.1, "x_j", True, []), (-0.1, "x", False, [])), [batch], tolerance=TOLERANCE)
    assert found is not None
    assert found.misfit > 1e-2
    assert found.excess > 100


def test_terms_that_are_alike_do_not_break_it() -> None:
    _, batch = shots(laws.Heat(0.7))
    start = equation((0.2, "x_j - x_i", True, []), (0.2, "x_j - x_i", True, []), (0.0, "0*x", False, []))
    found = fit(start, [batch], tolerance=TOLERANCE)
    assert found is not None
    assert float(found.model.parameters[:2].sum()) == pytest.approx(0.7, rel=1e-6)


def test_a_ridge_pulls_towards_zero() -> None:
    _, batch = shots(laws.Heat(0.7))
    start, ridge = equation((0.2, "x_j - x_i", True, [])), torch.tensor([[100.0]], dtype=torch.float64)
    found = fit(start, [batch], tolerance=TOLERANCE, ridge=ridge)
    assert found is not None
    assert 0 <= float(found.model.parameters) < 0.6
    assert found.ridge is ridge


def test_noise_lowers_weights() -> None:
    data = simulate(
        laws.Heat(), GRAPH, torch.rand(16, 1, generator=torch.Generator().manual_seed(0)) + 1, torch.linspace(0, 1, 30)
    )
    generator = torch.Generator().manual_seed(0)
    noisy = Trajectory(
        times=data.times,
        states=data.states * (1 + 0.1 * torch.randn(data.states.shape, generator=generator)),
        graph=GRAPH,
    )
    which = torch.arange(29)
    clean_weight = shots_of(observed(data, noisy=False), which).weight
    assert shots_of(observed(noisy, noisy=True), which).weight.max() < clean_weight.max()
