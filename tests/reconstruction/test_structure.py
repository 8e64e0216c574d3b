"""Odds of links by their reverses and by degrees."""

from __future__ import annotations

import networkx as nx
import numpy as np

from ndcn.reconstruction import average_precision
from ndcn.reconstruction.structure import structured_odds

N = 60
OFF = ~np.eye(N, dtype=bool)


def seen(A: np.ndarray, seed: int, separation: float = 1.5) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of links from one noisy number for each pair and a density, and the log odds a priori."""
    rng = np.random.default_rng(seed)
    density = np.log(A[OFF].mean() / (1 - A[OFF].mean()))
    data = 2 * separation * (separation * (2 * A - 1) + rng.normal(size=A.shape))
    p = 1 / (1 + np.exp(-data - density))
    np.fill_diagonal(p, 0.0)
    return p, data, density


def areas(A: np.ndarray, seed: int) -> tuple[float, float, np.ndarray | None]:
    p, data, density = seen(A, seed)
    odds = structured_odds(p, density)
    again = p if odds is None else 1 / (1 + np.exp(-data - odds))
    return average_precision(A[OFF] > 0, p[OFF]), average_precision(A[OFF] > 0, again[OFF]), odds


def test_hubs_and_undirected_links_are_ranked_better() -> None:
    A = nx.to_numpy_array(nx.barabasi_albert_graph(N, 2, seed=0))
    before, after, odds = areas(A, 0)
    assert odds is not None
    assert after > before + 0.1
    hub, leaf = A.sum(1).argmax(), A.sum(1).argmin()
    assert np.median(odds[hub][OFF[hub]]) > np.median(odds[leaf][OFF[leaf]]) + 1


def test_directed_hubs_are_told_by_degrees_alone() -> None:
    rng = np.random.default_rng(1)
    A = (rng.random((N, N)) < rng.choice([0.02, 0.3], (N, 1), p=[0.8, 0.2])).astype(float)
    np.fill_diagonal(A, 0)
    before, after, odds = areas(A, 1)
    assert odds is not None
    assert after > before + 0.02


def test_independent_links_keep_one_prior() -> None:
    for seed in range(5):
        A = (np.random.default_rng(seed).random((N, N)) < 0.06).astype(float)
        np.fill_diagonal(A, 0)
        assert areas(A, seed)[2] is None
    assert structured_odds(np.zeros((N, N)), -3.0) is None
