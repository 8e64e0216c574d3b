"""Which part each node goes to: by METIS where it is installed, else by our own streaming partitioner."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
from scipy import sparse

from .streaming import streamed

METHODS = ("auto", "metis", "streaming", "blocks")
NODE = 20  # weight of a node beside 1 for each entry of its row: products with a 20 x 20 matrix beside those with the operator


def assigned(adjacency: sparse.csr_array, parts: int, method: str, *, symmetric: bool) -> tuple[np.ndarray, str]:
    """The part of each node, shape (n,), int32, and the method that was used.

    Parts have alike weights, ``NODE`` for each node and 1 for each entry of its row, so that processes have alike work.

    Raises:
        ValueError: an unknown method, or more parts than nodes.
        ModuleNotFoundError: METIS was asked for by name and is not installed.
    """
    n = adjacency.shape[0]
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; known are {', '.join(METHODS)}")
    if not 1 <= parts <= n:
        raise ValueError(f"{n} nodes can be cut into 1 to {n} parts, got {parts}")
    if method == "auto":
        method = "metis" if importlib.util.find_spec("pymetis") is not None else "streaming"
    if parts == 1:
        return np.zeros(n, dtype=np.int32), method
    weights = NODE + np.diff(adjacency.indptr)
    if method == "blocks":
        place = np.minimum((np.cumsum(weights) - weights / 2) * parts / weights.sum(), parts - 1).astype(np.int32)
    else:
        pattern = _pattern(adjacency, symmetric)
        place = _metis(pattern, weights, parts) if method == "metis" else streamed(pattern, weights, parts)
    return _none_empty(place, parts), method


def _pattern(adjacency: sparse.csr_array, symmetric: bool) -> sparse.csr_array:
    """Who is joined with whom in either direction, without loops."""
    pattern = sparse.csr_array(
        (np.ones(adjacency.nnz, dtype=np.int8), adjacency.indices, adjacency.indptr), shape=adjacency.shape
    )
    if not symmetric:
        pattern = (pattern + pattern.T).tocsr()
    if pattern.diagonal().any():
        pattern = sparse.csr_array(pattern - sparse.diags_array(pattern.diagonal(), dtype=np.int8))
        pattern.eliminate_zeros()
    return pattern


def _metis(pattern: sparse.csr_array, weights: np.ndarray, parts: int) -> np.ndarray:
    try:
        import pymetis  # noqa: PLC0415  # an extra
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("method='metis' needs pymetis: pip install 'ndcn[metis]'") from error
    heavy: Any = weights.tolist()
    _, place = pymetis.part_graph(parts, xadj=pattern.indptr, adjncy=pattern.indices, vweights=heavy)
    return np.asarray(place, dtype=np.int32)


def _none_empty(place: np.ndarray, parts: int) -> np.ndarray:
    """Give a part that got no node one of the largest part."""
    counts = np.bincount(place, minlength=parts)
    for part in np.flatnonzero(counts == 0):
        largest = int(counts.argmax())
        place[np.flatnonzero(place == largest)[-1]] = part
        counts[largest] -= 1
        counts[part] = 1
    return place
