"""From an EdgeList to a Graph: direction, repeated edges, self-loops, and a graph for each time."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._support.wording import counted, short
from ..graph import Graph, GraphSequence
from .edge_list import EdgeList
from .refusals import refuse

MOST_GRAPHS = 10_000  # more different times are timestamps of single events, which must be rounded to be graphs
REPEATED = ("merge", "error", "sum", "first")


def build_graph(
    edges: EdgeList,
    place: np.ndarray,
    labels: Sequence[Any],
    directed: bool | None,
    when: np.ndarray | None = None,
    repeated: str = "merge",
) -> tuple[Graph, GraphSequence | None, list[str]]:
    """The graph, or the last of several with all of them, and what was done.

    Args:
        edges: by the names of their nodes.
        place: for each label of the edges, the position of its node, or -1.
        labels: of the nodes.
        directed: as the user says; None to go by the file.
        when: the time of each edge, if the graph changes.
        repeated: what to do with an edge that is listed again: "merge" counts equal ones once and adds up the weights of
            others, "error" refuses it, "sum" adds up all weights, "first" keeps the first.

    Raises:
        ValueError: edges listed again with "error", weights that differ between the directions of an undirected graph, or too many graphs.
    """
    if repeated not in REPEATED:
        raise ValueError(f"duplicates must be one of {', '.join(map(repr, REPEATED))}, got {repeated!r}")
    source, target = place[edges.source], place[edges.target]
    known = np.flatnonzero((source >= 0) & (target >= 0))
    if when is None or not len(known):
        matrix, notes = _matrix(edges, source, target, known, labels, repeated)
        [matrix], is_directed = _directed([matrix], edges, directed, notes)
        notes += _remarks(edges, matrix, is_directed)
        return Graph(matrix, nodes=labels, directed=is_directed), None, notes
    times, group = np.unique(when[known], return_inverse=True)
    if len(times) > MOST_GRAPHS:
        raise ValueError(
            f"{edges.title}: the edges have {len(times)} different times, and a graph for each is too many; round the times, "
            "or take all edges as one graph with edge_time=False (--one-graph)"
        )
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(len(times) + 1))
    matrices, notes = [], []
    for first, last in itertools.pairwise(bounds.tolist()):
        matrix, about = _matrix(edges, source, target, known[order[first:last]], labels, repeated)
        matrices.append(matrix)
        notes = notes or about  # of edges listed again, the first time is told
    matrices, is_directed = _directed(matrices, edges, directed, notes)
    notes += _remarks(edges, matrices[-1], is_directed)
    graphs = [Graph(matrix, nodes=labels, directed=is_directed) for matrix in matrices]
    made = f"edges at {len(times)} times make {len(times)} graphs"
    notes.append(f"{edges.title}: {made}; each holds until the next begins, the first one also before")
    return graphs[-1], GraphSequence(times, graphs), notes


def _matrix(
    edges: EdgeList, source: np.ndarray, target: np.ndarray, rows: np.ndarray, labels: Sequence[Any], repeated: str
) -> tuple[sparse.csr_array, list[str]]:
    """A with A[target, source] = weight for the edges in ``rows``, and what was done about edges that are listed again."""
    n = len(labels)
    source, target, weight = source[rows], target[rows], edges.weight[rows]
    matrix = sparse.coo_array((weight, (target, source)), shape=(n, n)).tocsr()
    if matrix.nnz == len(weight):
        return matrix, []
    key = target.astype(np.int64) * n + source
    order = np.argsort(key, kind="stable")
    again = key[order][1:] == key[order][:-1]
    rows_again = order[np.append(again, False) | np.insert(again, 0, False)]  # few, as a rule
    order = rows_again[np.lexsort((rows_again, weight[rows_again], key[rows_again]))]
    same_edge = key[order][1:] == key[order][:-1]
    same = same_edge & (weight[order][1:] == weight[order][:-1])
    keep = np.ones(len(key), dtype=bool)
    keep[order[1:][same]] = False
    first = int(order[1:][same_edge].min())
    names = f"{short(labels[source[first]])} to {short(labels[target[first]])}"
    did = f"{edges.title}: {counted(int(same_edge.sum()), 'edge')} listed again ({names}, {edges.place(int(rows[first]))})"
    if repeated == "error":
        raise ValueError(f'{did}; keep one of each, or say duplicates="sum" or duplicates="first" (--duplicates)')
    if repeated == "sum":
        return matrix, [f"{did}; their weights are added up"]
    if repeated == "first":
        keep = np.zeros(len(key), dtype=bool)
        keep[np.unique(key, return_index=True)[1]] = True
        how = "the first of each is kept"
    else:
        unequal = int((same_edge & ~same).sum())
        how = "equal ones count once" + (f", the weights of {unequal} others are added up" if unequal else "")
    kept = sparse.coo_array((weight[keep], (target[keep], source[keep])), shape=(n, n)).tocsr()
    return kept, [f"{did}; {how}"]


def _directed(
    matrices: list[sparse.csr_array], edges: EdgeList, asked: bool | None, notes: list[str]
) -> tuple[list[sparse.csr_array], bool]:
    """Symmetric matrices for an undirected graph, and whether it is directed."""
    mutual, apart, equal = 0, 0, True
    for matrix in matrices:
        other = matrix.T.tocsr()
        pattern, mirror = _ones(matrix), _ones(other)
        loops = int(np.count_nonzero(matrix.diagonal()))
        mutual += pattern.multiply(mirror).nnz - loops
        apart += matrix.nnz - loops
        if equal and mutual:
            both = matrix.multiply(mirror) - other.multiply(pattern)
            equal = not both.nnz or not np.any(both.data)
    if asked is not None:
        directed = asked
    elif edges.directed is not None:
        directed = edges.directed
        notes.append(f"{edges.title}: the graph is {'' if directed else 'un'}directed, as the file says")
    elif mutual == 0:
        directed = False
        why = "no edge is listed in both directions, so edges act both ways"
        notes.append(f"{edges.title}: {why}; if they do not, say directed=True (--directed)")
    else:
        directed = mutual < apart or not equal
        why = f"{mutual} of {apart} edges are listed in both directions" + ("" if equal else ", with different weights")
        remedy = "; if edges act both ways, say directed=False (--undirected)" if directed else ""
        notes.append(f"{edges.title}: {why}, so the graph is {'' if directed else 'un'}directed{remedy}")
    if not directed and not equal:
        refuse(
            f"{edges.title}: some edges have another weight in each direction, which an undirected graph cannot have; say "
            "directed=True (--directed), or correct the weights"
        )
        directed = True
    if directed or mutual == apart:
        return matrices, directed
    turned = [matrix.T.tocsr() for matrix in matrices]  # each edge in both directions, once
    pairs = zip(matrices, turned, strict=True)
    return [(matrix + other - other.multiply(_ones(matrix))).tocsr() for matrix, other in pairs], False


def _ones(matrix: sparse.csr_array) -> sparse.csr_array:
    return sparse.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)


def _remarks(edges: EdgeList, matrix: sparse.csr_array, directed: bool) -> list[str]:
    each = matrix if directed else sparse.tril(matrix)  # every edge once
    loops, negative = np.count_nonzero(matrix.diagonal()), int((each.data < 0).sum())
    takers = "signed_laplacian, the default operator of models of dynamics, takes them; diffusion of classes does not"
    remarks = {
        f"{counted(int(loops), 'edge')} from a node to itself; kept, as the action of a node on itself": loops > 0,
        f"{counted(negative, 'negative weight')}; kept: {takers}": negative > 0,
        "edges of weight 0 are left out": (edges.weight == 0).any(),
        "no edge is left between the nodes; each node is on its own": matrix.nnz == 0,
    }
    return [f"{edges.title}: {remark}" for remark, applies in remarks.items() if applies]
