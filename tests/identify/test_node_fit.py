"""Numbers that vary among nodes, fitted along trajectories."""

import numpy as np
import pytest
import torch

import ndcn
from ndcn.identify.node_fit import fit_nodes_along, node_problems
from ndcn.identify.node_groups import groups_of
from ndcn.identify.node_spreads import likeliest_spreads, solved
from ndcn.identify.observations import largest, observed
from ndcn.identify.tape import KernelTape, Tape, record
from ndcn.laws import Equation, Formula, NodeEquation, Term

N = 25
GRAPH = ndcn.networks.grid(N)
B = torch.linspace(0.6, 1.4, N, dtype=torch.float64)
TERMS = (Term(Formula("x"), False), Term(Formula("x_j^2/(K^2 + x_j^2)"), True, values=(1.2,)))
MODEL = NodeEquation(Equation(TERMS, torch.tensor([-0.8, 0.9], dtype=torch.float64)), (0,))


def gene(noise: float) -> ndcn.Trajectory:
    times = ndcn.sampling.irregular_times(4.0, count=40, seed=0)
    data = ndcn.simulate(ndcn.laws.Gene(b=B), GRAPH, ndcn.laws.initial_state(GRAPH, dtype=torch.float64), times)
    factor = 1 + noise * torch.randn(data.states.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return ndcn.Trajectory(times=times, states=data.states * factor, graph=GRAPH)


def test_what_is_not_finite_is_no_step_and_no_spread() -> None:
    A, b, start = np.eye(3), np.ones(3), np.array([0.3])
    assert np.allclose(solved(A, b), b)
    A[0, 0] = np.nan
    assert np.isnan(solved(A, b)).all()
    assert likeliest_spreads(A, b, 2, 1, start) == start


def test_derivatives_by_numbers_of_nodes_are_those_of_features_that_do_not_change() -> None:
    one = observed(gene(0.0), noisy=False)
    u = torch.rand(N, 1, generator=torch.Generator().manual_seed(2), dtype=torch.float64) - 0.5
    start = torch.cat([one.states[0], u], dim=1)
    tape = record(MODEL, one.network, start, one.spans[:5], [2] * 5)
    assert tape is not None
    plain = list(Tape.node_tangent(tape, 1))
    for a, b in zip(tape.node_tangent(1), plain, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    h = 1e-6
    moved = start.clone()
    moved[3, 1] += h
    other = record(MODEL, one.network, moved, one.spans[:5], [2] * 5)
    assert other is not None
    assert isinstance(tape, KernelTape) == isinstance(other, KernelTape)
    slope = (other.states[-1, :, 0] - tape.states[-1, :, 0]) / h
    np.testing.assert_allclose(plain[-1][:, N + 3], slope.numpy(), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize(("noise", "close"), [(0.0, 1e-6), (0.02, 0.05)])
def test_values_of_nodes_are_found_with_honest_errors(noise: float, close: float) -> None:
    one = observed(gene(noise), noisy=noise > 0)
    u = torch.zeros(N, 1, dtype=torch.float64)
    problems = node_problems([one], MODEL, u, (1e-5 if noise else 1e-8) * largest([one]))
    assert problems is not None
    found = fit_nodes_along(MODEL, u, problems, np.array([0.3]), iterations=20)
    assert found is not None
    error = found.values[:, 0].numpy() + B.numpy()
    assert np.abs(error).max() < close
    assert found.spread[0] == pytest.approx(float(B.std()), rel=0.2)
    if noise:
        assert 0.6 < np.sqrt(np.square(error / found.errors[:, 0]).mean()) < 1.5
        assert 0.8 < found.excess < 1.3
    same = fit_nodes_along(NodeEquation(MODEL.equation, ()), u[:, :0], problems, np.zeros(0), iterations=20)
    assert same is not None
    assert same.score > found.score + 100


@pytest.mark.parametrize("q", [1, 2])
def test_spreads_are_those_of_the_population(q: int) -> None:
    rng = np.random.default_rng(0)
    n, error, spread = 400, 0.2, np.array([0.5, 1.5])[:q]
    truth = spread * rng.normal(size=(n, q))
    seen = (truth + error * rng.normal(size=(n, q))).ravel()
    F = np.eye(n * q + 1) / error**2
    F[-1, -1] = 1e6
    b = np.concatenate([seen / error**2, [0.0]])
    np.testing.assert_allclose(likeliest_spreads(F, b, n, q, np.ones(q)), spread, rtol=0.12)


def test_groups_with_errors_and_without() -> None:
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 2, 80)
    values = np.stack([np.where(kind, 1.3, 0.6), np.full(80, 2.0)], 1) + 0.03 * rng.normal(size=(80, 2))
    found = groups_of(values, np.full((80, 2), 0.03))
    assert found is not None
    assert (found.members == kind).all()
    assert (found.probabilities > 0.98).all()
    assert found.evidence > 10
    assert groups_of(rng.normal(size=(100, 1)), np.full((100, 1), 0.05)) is None
    assert groups_of(np.ones((100, 1)), np.full((100, 1), 0.05)) is None
