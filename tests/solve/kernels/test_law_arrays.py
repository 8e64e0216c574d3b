"""The graph as the library of laws reads it: rows side by side."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as some
from scipy import sparse

import ndcn
from ndcn import laws
from ndcn.solve import GraphArrays, law_kernel_in_use

pytestmark = pytest.mark.skipif(law_kernel_in_use() == "torch", reason="the compiled kernel was not built")


def drawn(n: int, density: float, weighted: bool, seed: int) -> sparse.csr_array:
    """A random matrix, some of whose rows are empty and one of which is full."""
    rng = np.random.default_rng(seed)
    there = rng.random((n, n)) < density * rng.random((n, 1)) ** 2
    there[rng.integers(n)] = True
    return sparse.csr_array(there * (rng.uniform(0.5, 2.0, (n, n)) if weighted else 1.0))


@settings(deadline=None, max_examples=60)
@given(n=some.integers(1, 70), density=some.floats(0, 1), weighted=some.booleans(), seed=some.integers(0, 999))
def test_sums_over_neighbours_are_those_of_the_matrix(n: int, density: float, weighted: bool, seed: int) -> None:
    A = drawn(n, density, weighted, seed)
    x = np.random.default_rng(seed + 1).normal(size=(n, 1))
    graph = ndcn.Graph(A, directed=True)
    gap = x[None, :, 0] - x[:, 0, None]
    separable, of_both_ends = laws.Heat(), laws.Kuramoto()  # by sums of x_j, and edge by edge
    for law, message in ((separable, gap), (of_both_ends, np.sin(gap))):
        kernel = law.law_kernel(graph, 1)
        assert kernel is not None
        without = law.law_kernel(ndcn.Graph(sparse.csr_array((n, n)), directed=True), 1)
        assert without is not None
        coupling = kernel.rate(x[None])[0] - without.rate(x[None])[0]
        np.testing.assert_allclose(coupling[:, 0], (A.toarray() * message).sum(1), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 600, 1029])
def test_every_edge_stands_side_by_side_once(n: int) -> None:
    A = drawn(n, 0.1, True, n)
    arrays = GraphArrays.of(A)
    assert arrays is not None
    ptr, idx, _, weight, _, order, lanes, lane_weight, lane_ptr = arrays.kept
    assert sorted(lane_weight) == sorted(weight)
    for group in range(n // 8):
        rows = order[8 * group : 8 * group + 8]
        some_edges = slice(lane_ptr[group], lane_ptr[group + 1])
        of_rows = np.concatenate([np.arange(ptr[i], ptr[i + 1]) for i in rows])
        assert sorted(lane_weight[some_edges]) == sorted(weight[of_rows])
        shortest = np.diff(ptr)[rows].min()
        beside = lanes[some_edges][: 8 * shortest].reshape(-1, 8)
        for lane, i in enumerate(rows):
            assert (beside[:, lane] == idx[ptr[i] : ptr[i] + shortest]).all()


def test_two_threads_simulate_where_edges_are_many() -> None:
    class Watched(laws.Heat):
        def forward(self, t: torch.Tensor, x: torch.Tensor, graph: ndcn.Graph) -> torch.Tensor:
            seen.append(torch.get_num_threads())
            return -x

    seen: list[int] = []
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for n, threads in ((100, 1), (700, 2)):  # 700 nodes with 244,650 edges
            graph = ndcn.Graph(sparse.csr_array(np.ones((n, n)) - np.eye(n)), directed=False)
            ndcn.simulate(Watched(), graph, torch.ones(n, 1), [0.1])
            assert seen[-1] == threads
    finally:
        torch.set_num_threads(before)
