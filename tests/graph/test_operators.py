"""Operators against dense formulas and networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from ndcn import Graph, operators
from problems import GRAPHS, SIGNED_GRAPHS
from strategies import graphs

DIVIDING = {
    "normalized_laplacian": operators.normalized_laplacian,
    "normalized_adjacency": operators.normalized_adjacency,
    "kipf": operators.kipf,
    "diffusion": lambda graph: operators.diffusion(graph, 0.3),
}
ALL = {**operators.NAMED, **DIVIDING}


def _scaled(m: torch.Tensor, scale_by: torch.Tensor) -> torch.Tensor:
    """D_in^-1/2 M D_out^-1/2 with the degrees of another matrix, and 0 where a degree is 0."""
    left, right = (torch.where(d > 0, d.clamp(min=1e-300) ** -0.5, 0.0) for d in (scale_by.sum(1), scale_by.sum(0)))
    return left[:, None] * m * right


def _dense(name: str, a: torch.Tensor) -> torch.Tensor:
    identity = torch.eye(len(a), dtype=a.dtype)
    if name == "adjacency":
        return a
    if name == "laplacian":
        return torch.diag(a.sum(1)) - a
    if name == "normalized_adjacency":
        return _scaled(a, a)
    if name == "kipf":
        return _scaled(a + identity, a + identity)
    if name == "diffusion":
        return _scaled(0.3 * identity + 0.7 * a, 0.3 * identity + 0.7 * a)
    touched = (a != 0).any(0) | (a != 0).any(1)
    return torch.diag(touched.double()) - _scaled(a, a.abs())


@pytest.mark.parametrize("name", ALL)
def test_dense_formula(graph: Graph, name: str) -> None:
    torch.testing.assert_close(ALL[name](graph).to_dense(), _dense(name, graph.to_dense()))


@pytest.mark.parametrize("name", ["adjacency", "laplacian", "signed_laplacian"])
def test_dense_formula_with_negative_weights(name: str) -> None:
    graph = SIGNED_GRAPHS["signed"]
    torch.testing.assert_close(ALL[name](graph).to_dense(), _dense(name, graph.to_dense()))


@pytest.mark.parametrize("name", DIVIDING)
def test_negative_weights_are_refused_where_degrees_divide(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} divides by degrees and needs weights >= 0.*signed_laplacian"):
        DIVIDING[name](SIGNED_GRAPHS["signed"])


@given(graphs(signed=False, directed=False))
def test_laplacians_are_those_of_networkx(graph: Graph) -> None:
    other = graph.to_networkx()
    expected = nx.laplacian_matrix(other).toarray()
    np.testing.assert_allclose(operators.laplacian(graph).to_dense(), expected, atol=1e-12)
    expected = nx.normalized_laplacian_matrix(other).toarray()
    np.testing.assert_allclose(operators.normalized_laplacian(graph).to_dense(), expected, atol=1e-12)


@given(graphs())
def test_rows_of_the_laplacian_sum_to_zero(graph: Graph) -> None:
    ones = torch.ones(graph.num_nodes, dtype=torch.float64)
    assert torch.equal(operators.laplacian(graph) @ ones, torch.zeros_like(ones))


@given(graphs(signed=False, directed=False))
def test_eigenvalues_of_the_normalized_laplacian_lie_between_0_and_2(graph: Graph) -> None:
    eigenvalues = torch.linalg.eigvalsh(operators.normalized_laplacian(graph).to_dense())
    assert eigenvalues.min() > -1e-12
    assert eigenvalues.max() < 2 + 1e-12


@given(graphs(directed=False))
def test_the_signed_laplacian_is_positive_semi_definite(graph: Graph) -> None:
    assert torch.linalg.eigvalsh(operators.signed_laplacian(graph).to_dense()).min() > -1e-12


@pytest.mark.parametrize("name", ALL)
@given(graph=graphs(signed=False), data=st.data())
def test_relabelling_permutes_the_operator(name: str, graph: Graph, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(graph.num_nodes)))
    other = Graph.from_dense(graph.to_dense()[order][:, order], directed=graph.directed)
    torch.testing.assert_close(ALL[name](other).to_dense(), ALL[name](graph).to_dense()[order][:, order])


def test_special_values_of_alpha(graph: Graph) -> None:
    identity = torch.eye(graph.num_nodes, dtype=torch.float64)
    for alpha, expected in (
        (0.0, operators.normalized_adjacency(graph).to_dense()),
        (0.5, operators.kipf(graph).to_dense()),
        (1.0, identity),
    ):
        torch.testing.assert_close(operators.diffusion(graph, alpha).to_dense(), expected)


@pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan")])
def test_alpha_outside_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match=r"alpha must be between 0 and 1, got"):
        operators.diffusion(GRAPHS["path"], alpha)


@pytest.mark.parametrize("name", ALL)
def test_an_operator_is_built_once_per_graph(name: str) -> None:
    graph = GRAPHS["weighted"]
    assert ALL[name](graph) is ALL[name](graph)
    assert operators.diffusion(graph, 0.1) is not operators.diffusion(graph, 0.2)


@pytest.mark.parametrize("name", ALL)
def test_gradient_of_a_product(graph: Graph, name: str) -> None:
    operator = ALL[name](graph)
    x = torch.rand(graph.num_nodes, 2, dtype=torch.float64, requires_grad=True)
    weights = torch.rand(graph.num_nodes, 2, dtype=torch.float64)
    (gradient,) = torch.autograd.grad((operator @ x * weights).sum(), x)
    torch.testing.assert_close(gradient, operator.to_dense().T @ weights)
