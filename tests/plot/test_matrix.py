"""The adjacency matrix: exact if there is room, else by blocks, and never dense."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import sparse

import ndcn
from ndcn.plot.matrix import blocks


def test_a_dot_where_j_acts_on_i():
    graph = ndcn.Graph.from_edges([(0, 1), (1, 2, -3.0)], directed=True)
    ax = ndcn.plot.adjacency(graph, title="a chain")
    dots = ax.images[0].get_array()
    assert (np.asarray(dots) > 0).tolist() == (graph.to_scipy().toarray() != 0).tolist()
    assert (ax.get_title(), ax.get_xlabel()) == ("a chain", "node j, which acts")
    assert ax.get_ylabel() == "node i, which is acted on"
    assert ax.get_xlim() == (-0.5, 2.5)
    assert ax.get_ylim() == (2.5, -0.5)  # row 0 at the top


def test_large_matrices_are_drawn_by_blocks_that_fit():
    graph = ndcn.networks.grid(900)
    own = Figure(figsize=(1, 1), dpi=200).add_axes((0, 0, 1, 1))
    assert ndcn.plot.adjacency(graph, ax=own) is own
    assert own.images[0].get_array().shape == (150, 150)  # 160 cells have room: blocks of 6 nodes
    assert own.get_xlim() == (-0.5, 899.5)


def test_blocks_are_shares_of_their_entries():
    graph = ndcn.Graph(sparse.csr_array(np.ones((5, 5))))
    np.testing.assert_allclose(blocks(graph, 2), 1.0)
    empty = ndcn.Graph(sparse.csr_array((3, 3)))
    assert not blocks(empty, 1).any()
    assert not blocks(empty, 2).any()


@pytest.mark.parametrize("n", [200_000])
def test_memory_is_that_of_the_edges(n):
    ring = ndcn.Graph(sparse.coo_array((np.ones(n), (np.arange(n), np.roll(np.arange(n), 1))), shape=(n, n)))
    tracemalloc.start()
    ndcn.plot.adjacency(ring)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
