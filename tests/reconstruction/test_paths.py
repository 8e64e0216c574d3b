"""Paths through observations, and increments along them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ndcn
from ndcn.laws import Formula, Term
from ndcn.reconstruction.increments import Increments
from ndcn.reconstruction.paths import paths_of

GRAPH = ndcn.Graph.from_dense(np.zeros((3, 3)))


def run(times: np.ndarray, noise: float = 0.0, seed: int = 0, mask: np.ndarray | None = None) -> ndcn.Trajectory:
    states = np.stack([np.sin(times), np.exp(-times), times**2 / 4], axis=1)
    states = states + noise * np.random.default_rng(seed).normal(size=states.shape)
    return ndcn.Trajectory(times=times, states=states, graph=GRAPH, mask=mask)


def truth(t: np.ndarray) -> np.ndarray:
    return np.stack([np.sin(t), np.exp(-t), t**2 / 4], axis=1)


@pytest.mark.parametrize("times", [np.linspace(0, 3, 30), np.sort(np.random.default_rng(1).uniform(0, 3, 40))])
def test_clean_paths_interpolate(times: np.ndarray) -> None:
    (piece,) = paths_of([run(times)]).pieces
    nodes, _ = np.polynomial.legendre.leggauss(4)
    at = (times[:-1, None] + np.diff(times)[:, None] * (nodes + 1) / 2).ravel()
    assert np.abs(piece.path[..., 0] - truth(times)).max() < 2e-5
    assert np.abs(piece.inner[..., 0] - truth(at)).max() < 1e-3
    assert piece.weights.sum() == pytest.approx(times[-1] - times[0])


def test_noise_is_found_and_smoothed_away() -> None:
    runs = [run(np.linspace(0, 3, 40), 0.05, seed) for seed in range(6)]
    paths = paths_of(runs)
    assert paths.noise[:, 0] == pytest.approx(np.full(3, 0.05), rel=0.25)
    error = np.mean([(piece.path[..., 0] - truth(piece.times)) ** 2 for piece in paths.pieces]) ** 0.5
    assert error < 0.025


def test_paths_that_are_fast_at_first_are_smooth_on_a_clock_of_their_own() -> None:
    times, rng = np.linspace(0, 3, 20), np.random.default_rng(0)
    rates, runs, clean = rng.uniform(1, 20, (1, 3)), [], []
    for _ in range(20):
        states = rng.random(3) + rng.normal(size=3) * np.exp(-times[:, None] * rates)
        clean.append(states)
        runs.append(ndcn.Trajectory(times=times, states=states + 0.05 * rng.normal(size=states.shape), graph=GRAPH))
    paths = paths_of(runs)
    errors = [piece.path[..., 0] - states for piece, states in zip(paths.pieces, clean, strict=True)]
    assert np.mean(np.square(errors)) ** 0.5 < 0.03  # 0.039 on the clock of the data
    still = [run.replaced(states=torch.cat([run.states[:, :2], torch.ones_like(run.states[:, 2:])], 1)) for run in runs]
    again = [piece.path[:, :2, 0] - states[:, :2] for piece, states in zip(paths_of(still).pieces, clean, strict=True)]
    assert np.mean(np.square(again)) ** 0.5 < 0.03


def test_gaps_are_bridged() -> None:
    times = np.linspace(0, 3, 40)
    mask = np.random.default_rng(2).random((40, 3)) > 0.2
    (piece,) = paths_of([run(times, mask=mask)]).pieces
    assert np.isfinite(piece.observed).all()
    assert np.abs(piece.observed[..., 0] - truth(times)).max() < 0.01


def test_long_runs_are_cut_at_shared_snapshots() -> None:
    pieces = paths_of([run(np.linspace(0, 3, 901))]).pieces
    assert len(pieces) == 3
    assert pieces[0].times[-1] == pieces[1].times[0]


def test_columns_are_integrals_along_the_paths() -> None:
    """With white errors of unit size, the columns of x_j are integrals of x_j."""
    times = np.linspace(0, 3, 30)
    increments = Increments(paths_of([run(times)]), ("x",), 0, 1e12)
    X = increments.columns(Term(Formula("x_j"), True), 2) * 1e6
    assert X[:, 1].numpy() == pytest.approx(-np.diff(np.exp(-times)), abs=1e-5)
    assert float(X[:, 2].abs().max()) == 0.0  # of the node itself


def test_whitening_makes_errors_independent() -> None:
    increments = Increments(paths_of([run(np.linspace(0, 3, 30))]), ("x",), 0, 0.5)
    D = np.diff(np.eye(30), axis=0)
    C = torch.from_numpy(D @ D.T + 0.5 * np.eye(29))
    white = increments.whitened(increments.whitened(C).T)
    assert torch.allclose(white, torch.eye(29, dtype=torch.float64), atol=1e-10)
    values = torch.rand(29, 3, dtype=torch.float64)
    assert torch.allclose(increments.unwhitened(increments.whitened(values)), values)
