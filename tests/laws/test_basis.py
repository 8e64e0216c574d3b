"""The free form: its derivatives by finite differences, its blocks and its penalty."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ndcn import Graph, laws
from ndcn.identify.known_law import checked_law
from ndcn.laws import Basis, FreeModel, basis_for
from ndcn.laws.network import Network
from problems import GRAPHS, SIGNED_GRAPHS, states


def model_of(d: int, seed: int = 0) -> FreeModel:
    """Random functions on [0.1, 3.1]."""
    x = states(GRAPHS["weighted"], 20, d).reshape(-1, d)
    basis = basis_for(x, x - x.flip(0))
    draw = torch.randn(d, basis.size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return FreeModel(basis, 0.3 * draw)


def by_differences(model: FreeModel, x: torch.Tensor, network: Network, h: float = 1e-6) -> np.ndarray:
    """The Jacobian of the rate by central differences, shape (K n d, K n d)."""
    out = []
    for k in range(x.numel()):
        e = torch.zeros(x.numel(), dtype=x.dtype)
        e[k] = h
        e = e.reshape(x.shape)
        out.append(((model.rate(x + e, network) - model.rate(x - e, network)) / (2 * h)).reshape(-1))
    return torch.stack(out, 1).numpy()


@pytest.mark.parametrize("d", [1, 2, 3])
def test_slopes_are_derivatives(any_graph: Graph, d: int) -> None:
    model, network = model_of(d), Network(any_graph)
    x = states(any_graph, 2, d, seed=3) * 2 - 1.5  # outside the knots, too
    slopes = model.slopes(x, network)
    torch.testing.assert_close(slopes.rate, model.rate(x, network))
    J = network.jacobian(slopes.own, slopes.edges).toarray()
    np.testing.assert_allclose(J, by_differences(model, x, network), atol=2e-6, rtol=2e-6)
    assert slopes.columns.shape == (*x.shape, len(model.parameters))
    torch.testing.assert_close(slopes.columns @ model.parameters, slopes.rate)  # it is linear in its coefficients


def test_a_base_is_added_with_its_jacobian(any_graph: Graph) -> None:
    alone, network = model_of(1), Network(any_graph)
    x = states(any_graph, 2, 1, seed=3)
    base = checked_law(laws.Heat(0.7), network, x)
    both = replace(alone, base=base)
    slopes = both.slopes(x, network)
    torch.testing.assert_close(both.rate(x, network), alone.rate(x, network) + base.rate(x, network))
    torch.testing.assert_close(slopes.rate, both.rate(x, network))
    J = network.jacobian(slopes.own, slopes.edges).toarray()
    np.testing.assert_allclose(J, by_differences(both, x, network), atol=2e-6, rtol=2e-6)
    assert torch.equal(slopes.columns, alone.slopes(x, network).columns)
    assert both.with_parameters(2 * both.parameters).base is base


@pytest.mark.parametrize("d", [1, 2])
def test_columns_are_derivatives_by_the_coefficients(d: int) -> None:
    model, graph = model_of(d), SIGNED_GRAPHS["signed"]
    network, x = Network(graph), states(graph, 2, d)
    direction = torch.randn(len(model.parameters), generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    moved = model.with_parameters(model.parameters + direction)
    expected = moved.rate(x, network) - model.rate(x, network)
    torch.testing.assert_close(model.slopes(x, network).columns @ direction, expected)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_blocks_cover_all_coefficients_once(d: int) -> None:
    basis = model_of(d).basis
    used = sorted(k for where in basis.blocks.values() for k in range(where.start, where.stop))
    assert used == list(range(basis.size))
    assert len(basis.blocks) == 4 * d + d * (d - 1) // 2 + d * d
    x = states(GRAPHS["directed"], 2, d)
    assert basis.columns(x, Network(GRAPHS["directed"])).shape == (2, 5, basis.size)


@pytest.mark.parametrize("d", [1, 2])
def test_the_penalty_is_symmetric_and_positive(d: int) -> None:
    basis = model_of(d).basis
    penalty = basis.penalty()
    torch.testing.assert_close(penalty, penalty.T)
    assert float(torch.linalg.eigvalsh(penalty).min()) > 0


def test_straight_lines_are_hardly_penalised() -> None:
    basis = model_of(1).basis
    where = basis.blocks["f0"]
    line, bent = (torch.zeros(basis.size, dtype=torch.float64) for _ in range(2))
    line[where] = basis.single[0].greville
    bent[where] = basis.single[0].greville.square()
    assert float(line @ basis.penalty() @ line) < 1e-3 * float(bent @ basis.penalty() @ bent)


def test_it_holds_heat_and_products() -> None:
    graph = SIGNED_GRAPHS["signed"]
    network, basis = Network(graph), model_of(1).basis
    x, a = states(graph, 3, 1), graph.to_dense().double()
    c = torch.zeros(1, basis.size, dtype=torch.float64)
    c[0, basis.blocks["u0"]] = 0.5 * basis.gap[0].greville
    torch.testing.assert_close(FreeModel(basis, c).rate(x, network), 0.5 * (a @ x - a.sum(1, keepdim=True) * x))
    few = basis.few[0].greville
    c = torch.zeros(1, basis.size, dtype=torch.float64)
    c[0, basis.blocks["c00"]] = torch.outer(few, few).flatten()
    torch.testing.assert_close(FreeModel(basis, c).rate(x, network), x * (a @ x))


def test_features_that_do_not_vary_get_a_basis() -> None:
    still = torch.ones(30, 2, dtype=torch.float64)
    basis = basis_for(still, torch.zeros(30, 2, dtype=torch.float64))
    assert isinstance(basis, Basis)
    graph = GRAPHS["path"]
    assert basis.columns(torch.ones(1, 4, 2, dtype=torch.float64), Network(graph)).isfinite().all()


def test_parameters_go_in_and_out() -> None:
    model = model_of(2)
    other = model.with_parameters(2 * model.parameters)
    torch.testing.assert_close(other.coefficients, 2 * model.coefficients)
    assert other.coefficients.shape == model.coefficients.shape
