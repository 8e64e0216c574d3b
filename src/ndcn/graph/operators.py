"""Phi: the sparse operators by which a field sees its graph.

Each takes a Graph and returns a ``ndcn.graph.sparse.SparseMatrix``; it is built once per graph and kept with it. In a
directed graph rows are divided by what comes in, columns by what goes out, so that a node on which nobody acts still
acts on others. Rows and columns of isolated nodes are zero, but for the diagonal that an operator adds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from .._support.registries import OPERATORS
from .graph import Graph
from .sparse import SparseMatrix

Operator = Callable[[Graph], SparseMatrix]
NAMED = OPERATORS


def adjacency(graph: Graph) -> SparseMatrix:
    """A.

    Example:
        >>> import ndcn
        >>> ndcn.operators.adjacency(ndcn.networks.grid(4)).nnz
        12
    """
    return graph.adjacency


def laplacian(graph: Graph) -> SparseMatrix:
    """L = D - A with D_ii = sum_j A_ij, so that -L x is heat diffusion. Negative weights are allowed.

    Example:
        >>> import ndcn
        >>> ndcn.operators.laplacian(ndcn.Graph.from_edges([(0, 1)])).to_dense()
        tensor([[ 1., -1.],
                [-1.,  1.]], dtype=torch.float64)
    """
    return _cached(graph, "laplacian", lambda a: sparse.diags_array(a.sum(axis=1)) - a)


def normalized_laplacian(graph: Graph) -> SparseMatrix:
    """Phi = D^-1/2 (D - A) D^-1/2: the operator of the paper's NDCN. Zero on isolated nodes.

    Raises:
        ValueError: the graph has negative weights (``signed_laplacian`` takes them).

    Example:
        >>> import ndcn
        >>> ndcn.operators.normalized_laplacian(ndcn.Graph.from_edges([(0, 1), (1, 2)])).to_dense()[0]
        tensor([ 1.0000, -0.7071,  0.0000], dtype=torch.float64)
    """
    _refuse_negative(graph, "normalized_laplacian")
    return signed_laplacian(graph)


def signed_laplacian(graph: Graph) -> SparseMatrix:
    """Phi = D^-1/2 (D - A) D^-1/2 with D_ii = sum_j |A_ij|: the normalised Laplacian that takes negative weights.

    It is the normalised Laplacian where all weights are positive, and positive semi-definite on any undirected graph.

    Example:
        >>> import ndcn
        >>> ndcn.operators.signed_laplacian(ndcn.Graph.from_edges([(0, 1, -4.0)])).to_dense()
        tensor([[1., 1.],
                [1., 1.]], dtype=torch.float64)
    """

    def build(a: sparse.csr_array) -> sparse.sparray:
        incoming, outgoing = _degrees(abs(a))
        present = sparse.diags_array(((incoming > 0) | (outgoing > 0)).astype(float))
        scaled = _scaled(a, incoming, outgoing)
        del a  # before the difference takes as much memory: in one part of a network this is where it takes most
        return present - scaled

    return _cached(graph, "signed_laplacian", build)


def normalized_adjacency(graph: Graph) -> SparseMatrix:
    """Phi = D^-1/2 A D^-1/2.

    Raises:
        ValueError: the graph has negative weights.

    Example:
        >>> import ndcn
        >>> ndcn.operators.normalized_adjacency(ndcn.Graph.from_edges([(0, 1, 4.0)])).to_dense()
        tensor([[0., 1.],
                [1., 0.]], dtype=torch.float64)
    """
    _refuse_negative(graph, "normalized_adjacency")
    return _cached(graph, "normalized_adjacency", _normalized)


def kipf(graph: Graph) -> SparseMatrix:
    """Phi = D~^-1/2 (A + I) D~^-1/2 with D~ = D + I: the operator of Kipf and Welling's GCN.

    Raises:
        ValueError: the graph has negative weights.

    Example:
        >>> import ndcn
        >>> ndcn.operators.kipf(ndcn.Graph.from_edges([(0, 1)])).to_dense()
        tensor([[0.5000, 0.5000],
                [0.5000, 0.5000]], dtype=torch.float64)
    """
    _refuse_negative(graph, "kipf")
    return _cached(graph, "kipf", lambda a: _normalized(a + sparse.eye_array(a.shape[0])))


def diffusion(graph: Graph, alpha: float) -> SparseMatrix:
    """Phi = D~^-1/2 (alpha I + (1 - alpha) A) D~^-1/2 with D~ = alpha I + (1 - alpha) D.

    alpha = 0 listens to neighbours only, alpha = 1 to the node itself only; alpha = 0.5 is ``kipf``.

    Raises:
        ValueError: alpha is outside [0, 1], or the graph has negative weights.

    Example:
        >>> import ndcn
        >>> ndcn.operators.diffusion(ndcn.Graph.from_edges([(0, 1)]), alpha=0.2).to_dense()
        tensor([[0.2000, 0.8000],
                [0.8000, 0.2000]], dtype=torch.float64)
    """
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be between 0 and 1, got {alpha}")
    _refuse_negative(graph, "diffusion")
    key = ("diffusion", float(alpha))
    return _cached(graph, key, lambda a: _normalized(alpha * sparse.eye_array(a.shape[0]) + (1 - alpha) * a))


def _cached(graph: Graph, key: object, build: Callable[[sparse.csr_array], sparse.sparray]) -> SparseMatrix:
    return graph.cached(("operator", key), lambda: graph.operator_of(build, symmetric=True))


def _degrees(a: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(a.sum(axis=1)), np.asarray(a.sum(axis=0))


def _normalized(a: sparse.csr_array) -> sparse.sparray:
    return _scaled(a, *_degrees(a))


def _scaled(a: sparse.csr_array, incoming: np.ndarray, outgoing: np.ndarray) -> sparse.sparray:
    left, right = (
        np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0) for degree in (incoming, outgoing)
    )
    out = sparse.csr_array(sparse.diags_array(left) @ a)
    out.data *= right[out.indices]
    return out


def _refuse_negative(graph: Graph, name: str) -> None:
    if graph.has_negative_weights:
        raise ValueError(
            f"{name} divides by degrees and needs weights >= 0, but this graph has negative ones; "
            "use operators.signed_laplacian, operators.laplacian or operators.adjacency, or, as to classify nodes, drop these "
            "edges or take absolute values in the table of edges"
        )
