"""The exact state of diffusion, against the matrix exponential and against tight tolerances."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.linalg import expm

from ndcn import Graph, Solver, integrate, operators
from ndcn.classify.diffusion import (
    DiffusionOperator,
    LinearDiffusion,
    ReluDiffusion,
    SignedDiffusion,
    chebyshev_weights,
    power_weights,
)


def some_graph(directed: bool, n: int = 30) -> Graph:
    rng = np.random.default_rng(0)
    a = (rng.random((n, n)) < 3 / n) * rng.random((n, n))
    return Graph.from_dense(a if directed else a + a.T)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("time", [0.0, 0.3, 2.5, 8.0, 40.0])
@pytest.mark.parametrize("source", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_state_is_that_of_the_matrix_exponential(
    directed: bool, time: float, source: float, alpha: float, sign: int
) -> None:
    graph = some_graph(directed)
    field = LinearDiffusion(DiffusionOperator(alpha), source)
    x0 = torch.randn(30, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    phi, one = operators.diffusion(graph, alpha).to_dense().numpy(), np.eye(30)
    system = np.block(
        [[sign * phi - (1 + source) * one, source * one], [np.zeros((30, 60))]]
    )  # of X and the constant X(0)
    exact = (expm(time * system) @ np.vstack([x0, x0]))[:30]
    for tolerance in (1e-3, 1e-5, 1e-10):
        found = field.state(x0, torch.tensor(time, dtype=torch.float64), graph, tolerance, sign).numpy()
        assert np.linalg.norm(found - exact) <= 2 * tolerance * np.linalg.norm(x0)
    single = field.state(x0.float(), torch.tensor(time, dtype=torch.float64), graph, sign=sign).numpy()
    assert np.linalg.norm(single - exact) < 1e-4 * np.linalg.norm(x0)


def test_without_a_source_it_is_the_field_integrated(graph: Graph) -> None:
    field = LinearDiffusion(DiffusionOperator(0.3))
    x0 = torch.rand(graph.num_nodes, 2, dtype=torch.float64)
    tight = integrate(field, graph, x0, [2.0], solver=Solver("dopri5", rtol=1e-10, atol=1e-12)).states[0]
    torch.testing.assert_close(field.state(x0, torch.tensor(2.0), graph), tight, rtol=0, atol=1e-4)


@pytest.mark.parametrize("learn", [False, True])
def test_the_signed_field_integrated_is_its_three_parts(graph: Graph, learn: bool) -> None:
    field = SignedDiffusion(DiffusionOperator(0.3, learn).double())
    x0 = torch.rand(graph.num_nodes, 2, dtype=torch.float64)
    with torch.no_grad():
        solver = Solver("dopri5", rtol=1e-10, atol=1e-12)
        tight = integrate(field, graph, x0.repeat(1, 3), [2.0], solver=solver).states[0]
        parts = [field.state(x0, torch.tensor(2.0), graph, sign=sign) for sign in field.signs]
    torch.testing.assert_close(torch.cat(parts, dim=1), tight, rtol=0, atol=1e-4)
    assert torch.equal(parts[1], x0)
    assert float((parts[0] - parts[2]).norm()) > 0.1 * float(x0.norm())


def test_with_non_negative_states_it_is_the_papers_field_but_for_a_factor() -> None:
    graph, operator = some_graph(False), DiffusionOperator(0.5)
    x0 = torch.rand(30, 2, dtype=torch.float64)
    solver = Solver("dopri5", rtol=1e-10, atol=1e-12)
    grown = integrate(ReluDiffusion(operator), graph, x0, [1.5], solver=solver).states[0]
    still = LinearDiffusion(operator).state(x0, torch.tensor(1.5), graph, 1e-10)
    torch.testing.assert_close(grown * np.exp(-1.5), still, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("directed", [False, True])
def test_gradients(directed: bool) -> None:
    graph = some_graph(directed, n=8)
    x0 = torch.randn(8, 2, dtype=torch.float64, requires_grad=True)
    fixed = LinearDiffusion(DiffusionOperator(0.3), 0.2)
    assert torch.autograd.gradcheck(lambda x: fixed.state(x, torch.tensor(2.0), graph), x0)
    learned = LinearDiffusion(DiffusionOperator(0.3, learn=True).double(), 0.2)
    time = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)

    def state(x: torch.Tensor, time: torch.Tensor, logit: torch.Tensor) -> torch.Tensor:
        return learned.state(x, time, graph, 1e-12)

    assert torch.autograd.gradcheck(state, (x0, time, learned.operator.logit))
    torch.testing.assert_close(learned.state(x0, time, graph), fixed.state(x0, time.detach(), graph), rtol=0, atol=1e-5)


def test_a_learned_alpha_is_the_operator_of_that_alpha(graph: Graph) -> None:
    x = torch.rand(graph.num_nodes, 2, dtype=torch.float64)
    learned = DiffusionOperator(0.3, learn=True).double()
    torch.testing.assert_close(learned(x, graph), operators.diffusion(graph, learned.alpha) @ x)
    for end in (0.0, 1.0):
        assert 0 < DiffusionOperator(end, learn=True).alpha < 1


def test_alpha_must_be_a_share() -> None:
    with pytest.raises(ValueError, match=r"alpha must be between 0 and 1, got 1.5"):
        DiffusionOperator(1.5)
    with pytest.raises(ValueError, match="negative"):
        DiffusionOperator(0.5, learn=True)(torch.ones(2, 1), Graph.from_edges([(0, 1, -1.0)]))


def test_weights_of_the_series_hold_on_to_the_whole() -> None:
    """A constant state of a regular graph stays: the weights sum to one."""
    for time in (0.0, 1.0, 8.0):
        for source in (0.0, 0.5):
            for weights in (power_weights, chebyshev_weights):
                total = weights(torch.tensor(time, dtype=torch.float64), source, 1e-9).sum().item()
                assert total == pytest.approx(1.0, abs=1e-8)
