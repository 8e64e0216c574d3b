"""Edges between nodes of similar features: they bring classes to nodes that few edges lead to, or none."""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse

from ..graph import Graph
from ..training import as_text
from .choice import assortativity
from .features import FeatureTable

WEIGHT = 0.1  # of such an edge, in units of the graph's mean weight; 0.3 was worse on Pubmed: docs/classification.md
RARE = 50  # at most one node in so many is similar to a node: in a small network everything else would be
# Larger tables get no such edges: n n (d + SORTING), half a minute on one core; n d, 0.8 GB.
MOST_PRODUCTS, MOST_ENTRIES = 10**12, 10**8
SORTING = 160  # products that take as long as to find the largest of a row: 2.2 s for 20,000 nodes with 10 columns
BLOCK = 512  # rows of cosines at a time
# Assortativity from which similar nodes are taken to share classes. Among the labelled nodes of Cora, Citeseer and Pubmed it is 0.46,
# 0.41 and 0.48 on 800 to 900 pairs; features that say nothing have 0, with a standard error of 0.03 there.
TELLING = 0.25
FEWEST = 30  # pairs of labelled nodes, below which that says nothing: its standard error is 0.15


def similar_pairs(features: sparse.csr_array, count: int) -> sparse.csr_array:
    """1 where two nodes are each among the ``count`` most similar of the other, by a cosine of features above 0; shape (n, n).

    Example:
        >>> from scipy import sparse
        >>> similar_pairs(sparse.csr_array([[1.0, 0.0], [2.0, 0.1], [0.0, 3.0], [0.0, 0.0]]), 1).todense()
        array([[0., 1., 0., 0.],
               [1., 0., 0., 0.],
               [0., 0., 0., 0.],
               [0., 0., 0., 0.]])
    """
    n = features.shape[0]
    count = min(count, n - 1)
    if count < 1:
        return sparse.csr_array((n, n))
    unit = torch.from_numpy(FeatureTable(features, normalize="euclidean").matrix.toarray())
    columns = unit.T.contiguous()
    found = []
    for begin in range(0, n, BLOCK):
        cosine = unit[begin : begin + BLOCK] @ columns
        cosine.diagonal(begin).fill_(-1.0)
        most = cosine.topk(count, dim=1)
        place, rank = (most.values > 0).nonzero(as_tuple=True)
        found.append(torch.stack([place + begin, most.indices[place, rank]]))
    row, column = torch.cat(found, dim=1).numpy()
    near = sparse.csr_array((np.ones(len(row)), (row, column)), shape=(n, n))
    return sparse.csr_array(near.minimum(near.T))


def telling(features: sparse.csr_array, codes: torch.Tensor, labelled: torch.Tensor, count: int) -> bool:
    """Whether similar nodes share classes, as far as the labelled nodes tell; False for a table too large to compare.

    Args:
        features: F, shape (n, d).
        codes: the classes, from 0, shape (n,).
        labelled: places of those whose class may be looked at.
        count: how many nodes may be similar to one, among the labelled ones.

    Example:
        >>> import torch
        >>> from scipy import sparse
        >>> words = sparse.csr_array(torch.eye(4).repeat_interleave(20, dim=0).numpy())
        >>> sides = torch.arange(80) // 40
        >>> telling(words, sides, torch.arange(80), 5), telling(words, torch.arange(80) % 2, torch.arange(80), 5)
        (True, False)
    """
    if _too_large(features):
        return False
    places = labelled.cpu()
    pairs = Graph(similar_pairs(features[places.numpy()], count), directed=False)
    found, edges = assortativity(pairs, codes.cpu()[places], torch.arange(len(places)))
    return found is not None and edges >= FEWEST and found >= TELLING


def with_similar(graph: Graph, features: sparse.csr_array, count: int) -> Graph:
    """The graph, with weak edges between nodes of similar features that it does not join; the same graph where there are none.

    They are found once for a graph and its features: the next fit to them takes them from the graph.

    Args:
        graph: n nodes.
        features: F, shape (n, d).
        count: how many nodes may be similar to one; at most n / 50.

    Example:
        >>> import ndcn
        >>> from scipy import sparse
        >>> path = ndcn.Graph.from_edges([(i, i + 1) for i in range(99)])
        >>> words = sparse.random_array((100, 30), density=0.2, rng=0, format="csr")
        >>> sorted(set(with_similar(path, words, 5).to_scipy().data.tolist()))
        [0.1, 1.0]
        >>> with_similar(path, words, 0) is path
        True
    """
    count = min(count, graph.num_nodes // RARE)
    if count < 1 or _too_large(features):
        return graph
    told = tuple(as_text(torch.from_numpy(part)) for part in (features.data, features.indices, features.indptr))
    return graph.cached(("similar nodes", count, *told), lambda: _joined(graph, similar_pairs(features, count)))


def _joined(graph: Graph, pairs: sparse.csr_array) -> Graph:
    """The graph with a weak edge for each pair that it does not join."""
    matrix = graph.to_scipy()
    new = sparse.csr_array(pairs - pairs.multiply(matrix != 0))
    new.eliminate_zeros()
    if not new.nnz:
        return graph
    usual = matrix.data.mean() if matrix.nnz else 1.0
    return graph.with_adjacency(sparse.csr_array(matrix + WEIGHT * usual * new))


def _too_large(features: sparse.csr_array) -> bool:
    n, d = features.shape
    return n * n * (d + SORTING) > MOST_PRODUCTS or n * d > MOST_ENTRIES
