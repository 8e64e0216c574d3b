"""Many nodes: true links are among the candidates that each row keeps."""

from __future__ import annotations

import numpy as np
from scipy import sparse

import ndcn
from ndcn.laws import Formula, Term
from ndcn.reconstruction.engine import with_noise
from ndcn.reconstruction.paths import paths_of
from ndcn.reconstruction.screening import screened

N = 120


def test_true_links_are_among_the_candidates() -> None:
    rng = np.random.default_rng(0)
    A = (rng.random((N, N)) < 4 / N) * (1 - np.eye(N))
    graph, empty = ndcn.Graph.from_dense(A, directed=True), ndcn.Graph(sparse.csr_array((N, N)))
    times, runs = np.linspace(0, 0.6, 12), []
    for _ in range(12):
        states = ndcn.simulate(ndcn.laws.Heat(), graph, rng.random((N, 1)), times).states.numpy()
        noisy = states + 0.003 * rng.normal(size=states.shape)
        runs.append(ndcn.Trajectory(times=times, states=noisy, graph=empty))
    increments = with_noise(paths_of(runs), ["x"], 0)
    chosen = screened(increments, Term(Formula("x_j - x_i", ["x"]), True, 0), None)
    assert chosen.shape == (N, 100)
    assert all(len(set(row)) == 100 for row in chosen.tolist())
    assert np.take_along_axis(A, chosen, axis=1).sum() >= 0.99 * A.sum()
