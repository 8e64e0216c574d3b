"""Sums over neighbours and sparse Jacobians against dense matrices, on every kind of graph."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from scipy import sparse

from ndcn import Graph
from ndcn.laws.network import Network
from problems import GRAPHS, SIGNED_GRAPHS
from strategies import graphs


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def dense_jacobian(graph: Graph, own: torch.Tensor, by_pair: torch.Tensor) -> np.ndarray:
    """The matrix with own[k, i] on the diagonal and A_ij by_pair[k, i, j] besides, block by block."""
    K, n, d, _ = own.shape
    a = graph.to_dense().double()
    out = np.zeros((K, n, d, K, n, d))
    for k in range(K):
        out[k, :, :, k] = (a[:, :, None, None] * by_pair[k]).permute(0, 2, 1, 3).numpy()
        for i in range(n):
            out[k, i, :, k, i, :] += own[k, i].numpy()
    return out.reshape(K * n * d, K * n * d)


@pytest.mark.parametrize("rest", [(), (1,), (2,), (3, 2)], ids=str)
def test_sums_over_neighbours(any_graph: Graph, rest: tuple[int, ...]) -> None:
    network, a = Network(any_graph), any_graph.to_dense().double()
    values = normal(3, any_graph.num_nodes, *rest)
    torch.testing.assert_close(network.neighbours(values), torch.einsum("ij,kj...->ki...", a, values))
    pairs = normal(3, any_graph.num_nodes, any_graph.num_nodes, *rest)
    messages = pairs[:, network.i, network.j]
    torch.testing.assert_close(network.gathered(messages), torch.einsum("ij,kij...->ki...", a, pairs))


def test_edges_and_degrees(any_graph: Graph) -> None:
    network, a = Network(any_graph), any_graph.to_dense().double()
    torch.testing.assert_close(network.degrees, a.sum(1))
    again = torch.zeros_like(a)
    again[network.i, network.j] = network.weights
    torch.testing.assert_close(again, a)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("K", [1, 4])
def test_jacobian(any_graph: Graph, K: int, d: int) -> None:
    network, n = Network(any_graph), any_graph.num_nodes
    own, pairs = normal(K, n, d, d), normal(K, n, n, d, d, seed=1)
    matrix = network.jacobian(own, pairs[:, network.i, network.j])
    assert matrix.shape == (K * n * d, K * n * d)
    np.testing.assert_allclose(matrix.toarray(), dense_jacobian(any_graph, own, pairs), atol=1e-14)
    v = normal(K * n * d, 3).numpy()
    np.testing.assert_allclose(matrix @ v, matrix.toarray() @ v, atol=1e-12)
    np.testing.assert_allclose(matrix.T @ v, matrix.toarray().T @ v, atol=1e-12)
    np.testing.assert_allclose(matrix.diagonal(), np.diag(matrix.toarray()), atol=1e-14)
    each = network.jacobians(own, pairs[:, network.i, network.j])
    np.testing.assert_array_equal(sparse.block_diag([J for J, _ in each]).toarray(), matrix.toarray())
    for J, transposed in each:
        np.testing.assert_array_equal(transposed.toarray(), J.toarray().T)


@given(graph=graphs())
def test_jacobian_of_any_graph(graph: Graph) -> None:
    network, n = Network(graph), graph.num_nodes
    own, pairs = normal(2, n, 2, 2), normal(2, n, n, 2, 2, seed=1)
    expected = dense_jacobian(graph, own, pairs)
    np.testing.assert_allclose(network.jacobian(own, pairs[:, network.i, network.j]).toarray(), expected, atol=1e-13)


def test_patterns_of_many_shapes_are_not_mixed_up() -> None:
    graph = SIGNED_GRAPHS["signed"]
    network = Network(graph)
    for K, d in [(1, 1), (2, 1), (1, 2), (3, 3), (4, 1), (5, 2), (1, 1), (2, 1), (3, 3)]:
        own, pairs = normal(K, 3, d, d), normal(K, 3, 3, d, d, seed=1)
        found = network.jacobian(own, pairs[:, network.i, network.j]).toarray()
        np.testing.assert_allclose(found, dense_jacobian(graph, own, pairs), atol=1e-14)


def test_of_two_graphs_with_as_many_nodes_each_has_its_own() -> None:
    one, two = Network(GRAPHS["weighted"]), Network(GRAPHS["directed"])
    x = normal(1, 5, 1)
    assert not torch.allclose(one.neighbours(x), two.neighbours(x))


def test_gradients_do_not_flow_through_sums() -> None:
    x = normal(1, 4, 1).requires_grad_(True)
    assert not Network(GRAPHS["path"]).neighbours(x).requires_grad
