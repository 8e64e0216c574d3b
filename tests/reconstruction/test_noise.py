"""What is noise, and what are links that are not found yet; one weight for all links, or several."""

from __future__ import annotations

import numpy as np
import torch

import ndcn
from ndcn.laws import Formula, Term
from ndcn.reconstruction.engine import likelier, renoised, with_noise
from ndcn.reconstruction.families import scored
from ndcn.reconstruction.increments import Increments
from ndcn.reconstruction.learning import evened, soft_fit
from ndcn.reconstruction.paths import Paths, paths_of

N = 30
SIS = Term(Formula("(1 - x_i)*x_j", ("x",)), True, 0, ())
ROWS = np.arange(N)


def paths(runs: int, noise: float, weighted: bool = False) -> Paths:
    """Of an epidemic from random states, on a random network."""
    rng = np.random.default_rng(0)
    A = (rng.random((N, N)) < 4 / (N - 1)).astype(float)
    np.fill_diagonal(A, 0.0)
    graph = ndcn.Graph.from_dense(A * rng.uniform(0.3, 1.7, A.shape) if weighted else A, directed=True)
    times, out = np.linspace(0, 1, 20), []
    for _ in range(runs):
        states = ndcn.simulate(ndcn.laws.SIS(), graph, rng.random((N, 1)), times).states.numpy()
        out.append(ndcn.Trajectory(times=times, states=states + noise * rng.normal(size=states.shape), graph=graph))
    return paths_of(out)


def test_links_that_are_not_found_are_not_noise_of_the_process() -> None:
    first = with_noise(paths(6, 0.005), ("x",), 0)
    one = scored(first, SIS, ROWS, torch.Generator().manual_seed(0), 20)
    assert one is not None
    by_residuals = renoised(first, SIS, ROWS, one.soft)
    by_evidence = likelier(by_residuals, SIS, ROWS)
    assert by_evidence.rho < 0.3 * by_residuals.rho


def spread(soft: object) -> float:
    return soft.shared.s / abs(soft.shared.c)  # type: ignore[attr-defined]


def test_one_weight_for_all_links_where_it_is_likelier() -> None:
    soft = soft_fit(Increments(paths(8, 0.005), ("x",), 0, 0.03).grams(SIS, ROWS), iterations=15)
    assert spread(soft) > 0.1
    even = evened(soft)
    assert spread(even) < 0.03
    assert float(even.log_evidence().sum()) > float(soft.log_evidence().sum())


def test_weights_that_differ_stay() -> None:
    soft = soft_fit(Increments(paths(15, 0.005, weighted=True), ("x",), 0, 0.03).grams(SIS, ROWS))
    assert evened(soft) is soft
