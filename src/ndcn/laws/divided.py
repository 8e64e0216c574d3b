"""Sums over neighbours that are divided: by the in-degree, by the sum of weights, or by the root of both degrees."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..graph import Graph

# How each is printed: before the sum, and in words.
DIVISORS = {
    "in-degree": ("1/k_i sum_j A_ij ", r"\frac{1}{k_i}\sum_j A_{ij}\, ", "k_i the in-degree"),
    "weights": ("1/s_i sum_j A_ij ", r"\frac{1}{s_i}\sum_j A_{ij}\, ", "s_i the sum of weights"),
    "degrees": ("sum_j A_ij/sqrt(k_i k_j) ", r"\sum_j \frac{A_{ij}}{\sqrt{k_i k_j}}\, ", "k_i the in-degree"),
}


def divided(graph: Graph, by: str | None) -> Graph:
    """The graph with A_ij divided by the in-degree of i, the sum of its weights, or the root of the in-degrees of i and j.

    Example:
        >>> graph = Graph.from_edges([(0, 1), (1, 2)])
        >>> divided(graph, "in-degree").to_dense()[1].tolist()
        [0.5, 0.0, 0.5]
    """
    if by is None:
        return graph

    def build() -> Graph:
        A = graph.to_scipy()
        count = np.maximum(np.diff(A.indptr), 1).astype(float)
        if by == "weights":
            total = np.asarray(A.sum(1)).ravel()
            scale = np.where(total != 0, 1 / np.where(total != 0, total, 1.0), 0.0)
            made = sparse.diags_array(scale) @ A
        elif by == "degrees":
            root = sparse.diags_array(count**-0.5)
            made = root @ A @ root
        else:
            made = sparse.diags_array(1 / count) @ A
        return graph.with_adjacency(sparse.csr_array(made), directed=True)

    return graph.cached(("divided", by), build)
