from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import sparse

import ndcn
from ndcn import Graph
from ndcn.graph import Partition
from ndcn.graph.partition.assignment import METHODS


def random_graph(n: int, density: float, seed: int, directed: bool) -> Graph:
    draw = np.random.default_rng(seed)
    a = sparse.random_array((n, n), density=density, rng=draw, format="csr")
    a.data = draw.normal(size=len(a.data))
    return Graph(a, directed=True) if directed else Graph(a + a.T)


def known_methods() -> list[str]:
    try:
        import pymetis  # noqa: F401
    except ModuleNotFoundError:
        return [name for name in METHODS if name != "metis"]
    return list(METHODS)


@given(
    n=st.integers(1, 40),
    parts=st.integers(1, 7),
    density=st.sampled_from([0.0, 0.05, 0.3]),
    seed=st.integers(0, 99),
    directed=st.booleans(),
    method=st.sampled_from([name for name in METHODS if name != "metis"]),
)
def test_parts_hold_every_node_and_every_entry_once(
    n: int, parts: int, density: float, seed: int, directed: bool, method: str
) -> None:
    graph, parts = random_graph(n, density, seed, directed), min(parts, n)
    partition = graph.partition(parts, method=method)
    found = partition.some(range(parts))
    assert sorted(np.concatenate([part.own for part in found]).tolist()) == list(range(n))
    whole = sparse.lil_array((n, n))
    for k, part in enumerate(found):
        everyone = np.concatenate([part.own, part.halo])
        rows = part.rows.tocoo()
        whole[part.own[rows.row], everyone[rows.col]] = rows.data
        assert not part.rows[: part.inner, len(part.own) :].nnz
        # what others send is what is received, in the same order
        sent = [q.own[np.split(q.send, np.cumsum(q.send_counts)[:-1])[k]] for q in found]
        assert np.concatenate(sent).tolist() == part.halo.tolist()
        closed, a = part.closed(), graph.to_scipy()
        m = len(everyone)
        for matrix, truth in ((closed, a), (abs(closed), abs(a))):
            np.testing.assert_allclose(matrix.sum(axis=1)[:m], truth.sum(axis=1)[everyone], atol=1e-12)
            np.testing.assert_allclose(matrix.sum(axis=0)[:m], truth.sum(axis=0)[everyone], atol=1e-12)
    assert abs(whole.tocsr() - graph.to_scipy()).sum() == 0
    assert partition.bytes_per_evaluation(3, 8) == sum(len(part.halo) for part in found) * 24
    assert sum(part.send_counts.sum() for part in found) == sum(len(part.halo) for part in found)


@pytest.mark.parametrize("method", [name for name in known_methods() if name != "blocks"])
def test_a_grid_is_cut_along_few_edges(method: str) -> None:
    graph = ndcn.networks.grid(40 * 40)
    for parts, most in ((2, 240), (4, 700)):  # straight strips cut 118 and 354 edges, half of all edges is 3000
        partition = graph.partition(parts, method=method)
        assert partition.cut < most
        assert partition.imbalance < 1.05
        assert partition.work_imbalance < 1.05


def test_communities_are_found_by_streaming() -> None:
    draw = np.random.default_rng(0)
    block = np.repeat(np.arange(4), 100)
    inside = draw.random((400, 400)) < np.where(block[:, None] == block, 0.1, 0.002)
    order = draw.permutation(400)
    a = np.triu(inside, 1).astype(float)
    graph = Graph.from_dense((a + a.T)[np.ix_(order, order)])
    by_chance = graph.partition(4, method="blocks").cut
    assert graph.partition(4, method="streaming").cut < 0.55 * by_chance


def test_cut_and_imbalance_are_those_of_the_assignment() -> None:
    path = Graph.from_edges([(0, 1), (1, 2), (2, 3)])
    partition = Partition(path, np.array([0, 0, 0, 1]), 2)
    assert partition.cut == 1
    assert partition.imbalance == 1.5
    assert partition.report()["halo"] == [1, 1]
    assert partition.method == "given"


def test_what_cannot_be_is_refused() -> None:
    graph = ndcn.networks.grid(4)
    with pytest.raises(ValueError, match="parts must be a whole number from 1 to 4"):
        graph.partition(5)
    with pytest.raises(ValueError, match="unknown method 'magic'"):
        graph.partition(2, method="magic")
    with pytest.raises(ValueError, match=r"every part 0\.\.1 needs a node"):
        Partition(graph, np.zeros(4, dtype=int), 2)
    with pytest.raises(ValueError, match="names a part for each of 4 nodes"):
        Partition(graph, np.zeros(3, dtype=int), 1)
