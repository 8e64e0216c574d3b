"""The five networks of the paper, for any number of nodes, and re-ordering by community.

All but the grid are drawn by networkx from a seed with the paper's parameters, then their nodes are re-ordered so that
communities lie together: on the square layout of the figures, neighbours in the network are then mostly neighbours in
the picture. The dynamics on a network do not depend on the order, but the paper's initial state is laid out by it.

``order="modularity"`` is the paper's greedy modularity algorithm, whose time grows fast with the size of the network;
``order="louvain"`` does nearly the same sooner; ``order=None`` leaves the nodes as drawn. The default, "auto", is
"modularity" up to 2000 nodes, and None above, where no picture shows single nodes. random and community have edges
in proportion to n^2, and networkx draws each pair in a Python loop. About how many seconds each takes on one core (a grid
takes none):

| nodes | order        | random | community | power_law | small_world |
|-------|--------------|--------|-----------|-----------|-------------|
| 400   | "modularity" | 1.6    | 1.1       | 0.7       | 0.4         |
| 1000  | "modularity" | 15     | 12        | 3.4       | 1.2         |
| 2000  | "modularity" |        |           | 20        | 6           |
| 2000  | "louvain"    | 4      | 1.6       | 0.5       | 0.2         |
| 2000  | None         | 1      | 0.6       | 0.1       | 0.01        |
| 8192  | "louvain"    | 125    | 73        | 14        | 1.7         |
| 8192  | None         | 16     | 10        | 0.1       | 0.05        |
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from .._support.lazy import networkx as nx
from .._support.registries import NETWORKS
from .graph import Graph

NAMED = NETWORKS
LARGEST_ORDERED = 2000  # nodes; 4000 take minutes, 100,000 hours


def grid(n: int) -> Graph:
    """A square grid in which each node touches its 8 neighbours; the last row is cut short if n is not a square.

    Example:
        >>> import ndcn
        >>> ndcn.networks.grid(400)
        Graph(400 nodes, 1482 edges, undirected)
    """
    _check(n)
    side = math.isqrt(n - 1) + 1
    cell = np.arange(n)
    column = cell % side
    sources, targets = [], []
    for down, right in ((0, 1), (1, -1), (1, 0), (1, 1)):
        other = cell + down * side + right
        inside = (column + right >= 0) & (column + right < side) & (other < n)
        sources.append(cell[inside])
        targets.append(other[inside])
    u, v = np.concatenate(sources), np.concatenate(targets)
    both = (np.concatenate([u, v]), np.concatenate([v, u]))
    return Graph(sparse.coo_array((np.ones(2 * len(u)), both), shape=(n, n)), directed=False)


def random(n: int, p: float = 0.1, *, seed: int = 0, order: str | None = "auto") -> Graph:
    """Erdos-Renyi: every pair is linked with probability p.

    Example:
        >>> import ndcn
        >>> ndcn.networks.random(400, seed=0).num_nodes
        400
    """
    _check(n, p=p)
    return _finish(nx.erdos_renyi_graph(n, p, seed=seed), order, seed)


def power_law(n: int, m: int = 5, *, seed: int = 0, order: str | None = "auto") -> Graph:
    """Barabasi-Albert: each new node links to m old ones (to n - 1 if n <= m), preferring those with many links.

    Example:
        >>> import ndcn
        >>> ndcn.networks.power_law(400, seed=0).num_edges
        1975
    """
    _check(n)
    if m < 1:
        raise ValueError(f"each new node of a power_law network needs m >= 1 links, got m = {m}")
    drawn = nx.barabasi_albert_graph(n, min(m, n - 1), seed=seed) if n > 1 else nx.empty_graph(1)
    return _finish(drawn, order, seed)


def small_world(n: int, k: int = 5, p: float = 0.5, *, seed: int = 0, order: str | None = "auto") -> Graph:
    """Newman-Watts-Strogatz: a ring with k neighbours (n if n < k), and a shortcut for each edge with probability p.

    Example:
        >>> import ndcn
        >>> ndcn.networks.small_world(400, seed=0).num_nodes
        400
    """
    _check(n, p=p)
    return _finish(nx.newman_watts_strogatz_graph(n, min(k, n), p, seed=seed), order, seed)


def community(n: int, p_in: float = 0.25, p_out: float = 0.01, *, seed: int = 0, order: str | None = "auto") -> Graph:
    """Random partition into groups of n/3, n/3, n/4 and the rest: dense inside (p_in), sparse between (p_out).

    Example:
        >>> import ndcn
        >>> ndcn.networks.community(400, seed=0).num_nodes
        400
    """
    _check(n, p_in=p_in, p_out=p_out)
    sizes = [n // 3, n // 3, n // 4]
    sizes.append(n - sum(sizes))
    drawn = nx.random_partition_graph([size for size in sizes if size], p_in, p_out, seed=seed)
    return _finish(drawn, order, seed)


def by_community(graph: Graph, method: str = "modularity", *, seed: int = 0) -> Graph:
    """The same graph with its nodes (and labels) re-ordered so that communities lie together, the largest first.

    Args:
        graph: any graph; directions and signs are left out of account when communities are sought.
        method: "modularity" (greedy, the paper's; slow above a thousand nodes) or "louvain" (faster).
        seed: for louvain.

    Example:
        >>> import ndcn
        >>> two = ndcn.Graph.from_edges([(0, 2), (2, 4), (0, 4), (1, 3), (3, 5), (1, 5), (0, 1)])
        >>> sorted(ndcn.networks.by_community(two).nodes[:3])
        [0, 2, 4]
    """
    a = graph.to_scipy()
    sizes = abs(a)
    sizes = sparse.csr_array(
        sizes.maximum(sizes.T)
    )  # networkx would keep one of the two directions, whichever comes last
    if sizes.nnz:  # by a power of two, which changes no digit: squares of sums of 1e200 would overflow
        sizes.data = np.ldexp(sizes.data, -np.frexp(sizes.data.max())[1])
    order = _community_order(nx.from_scipy_sparse_array(sizes), method, seed)
    return graph.with_adjacency(a[order][:, order], keep=order)


def _finish(drawn: nx.Graph, order: str | None, seed: int) -> Graph:
    if order == "auto":
        order = "modularity" if len(drawn) <= LARGEST_ORDERED else None
    elif order not in ("modularity", "louvain", None):
        raise ValueError(f'order must be "auto", "modularity", "louvain" or None, got {order!r}')
    a = sparse.csr_array(nx.to_scipy_sparse_array(drawn, nodelist=range(len(drawn)), weight=None, dtype=np.float64))
    if order is not None:
        new = _community_order(drawn, order, seed)
        a = a[new][:, new]
    return Graph(a, directed=False)


def _community_order(drawn: nx.Graph, method: str, seed: int) -> list[int]:
    if method == "modularity":
        if drawn.number_of_edges() == 0:  # the greedy algorithm divides by the number of edges
            return list(drawn)
        found = nx.community.greedy_modularity_communities(drawn)
    elif method == "louvain":
        found = sorted(nx.community.louvain_communities(drawn, seed=seed), key=len, reverse=True)
    else:
        raise ValueError(f'method must be "modularity" or "louvain", got {method!r}')
    return [node for group in found for node in sorted(group)]


def _check(n: int, **probabilities: float) -> None:
    if n < 1:
        raise ValueError(f"a network needs at least one node, got n = {n}")
    for name, p in probabilities.items():
        if not 0 <= p <= 1:
            raise ValueError(f"{name} is a probability between 0 and 1, got {p}")
