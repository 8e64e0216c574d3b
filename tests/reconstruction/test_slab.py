"""The sampler of links against the posterior by enumeration of all sets."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from ndcn.reconstruction.increments import Grams
from ndcn.reconstruction.learning import sampled, together
from ndcn.reconstruction.slab import Rows, Shared
from ndcn.reconstruction.soft import Soft

M, Q, N = 7, 2, 30


def problem(seed: int, noise: float) -> tuple[Grams, Shared, np.ndarray, np.ndarray]:
    """Two rows of seven candidates, of which the row's own node is none, and two coefficients of f."""
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(2, N, M + Q))
    columns[..., :3] += rng.normal(size=(2, N, 1))  # candidates that are alike
    for row in range(2):
        columns[row, :, row] = 0.0
    beta = np.concatenate([np.where(np.arange(M) % 3 == 2, 1.0, 0.0), [0.5, -0.5]])
    y = columns @ beta + math.sqrt(noise) * rng.normal(size=(2, N))
    G = torch.from_numpy(np.einsum("bnk,bnl->bkl", columns, columns))
    b = torch.from_numpy(np.einsum("bnk,bn->bk", columns, y))
    rows = np.arange(2)
    grams = Grams(G, b, torch.from_numpy((y**2).sum(1)), N, rows, np.tile(np.arange(M), (2, 1)), (1.0, np.ones(Q)))
    shared = Shared(
        log_odds=torch.tensor(-1.0, dtype=torch.float64),
        c=0.9,
        s=0.3,
        mean=torch.tensor([0.4, -0.4], dtype=torch.float64),
        variance=torch.tensor([0.2, 0.3], dtype=torch.float64),
        noise=torch.full((2,), noise, dtype=torch.float64),
    )
    return grams, shared, columns, y


def density(columns: np.ndarray, y: np.ndarray, links: np.ndarray, shared: Shared) -> float:
    """log p(y, links) by the covariance of y itself."""
    on = np.concatenate([links, np.zeros(Q, dtype=bool)])
    mean = np.concatenate([np.where(links, shared.c, 0.0), shared.mean.numpy()])
    variance = np.concatenate([np.where(links, shared.s**2, shared.spike), shared.variance.numpy()])
    assert len(on) == M + Q
    C = (columns * variance) @ columns.T + float(shared.noise[0]) * np.eye(N)
    rest = y - columns @ mean
    _, size = np.linalg.slogdet(2 * np.pi * C)
    prior = 1 / (1 + math.exp(1.0))
    possible = np.abs(columns[:, :M]).sum(0) > 0
    chosen = np.where(links, math.log(prior), math.log(1 - prior))[possible].sum()
    return float(chosen - 0.5 * size - 0.5 * rest @ np.linalg.solve(C, rest))


def enumerated(columns: np.ndarray, y: np.ndarray, shared: Shared) -> tuple[np.ndarray, float]:
    """Probabilities of links of one row and its evidence, over all sets."""
    possible = np.abs(columns[:, :M]).sum(0) > 0
    sets = [np.array(bits, dtype=bool) for bits in itertools.product((0, 1), repeat=M)]
    sets = [links for links in sets if not (links & ~possible).any()]
    logs = np.array([density(columns, y, links, shared) for links in sets])
    total = np.logaddexp.reduce(logs)
    return np.exp(logs - total) @ np.array(sets), float(total)


@pytest.mark.parametrize("noise", [0.3, 3.0])
def test_the_posterior_of_a_set_is_exact_after_any_jumps(noise: float) -> None:
    grams, shared, columns, y = problem(0, noise)
    rows = Rows(grams, shared, torch.zeros(2, M, dtype=torch.bool), torch.Generator().manual_seed(0))
    for _ in range(40):
        rows.step()
        expected = [density(columns[k], y[k], rows.links[k].numpy(), shared) for k in range(2)]
        assert rows.log_posterior.tolist() == pytest.approx(expected, abs=1e-8)


def test_conditional_odds_are_exact() -> None:
    grams, shared, columns, y = problem(1, 1.0)
    links = torch.zeros(2, M, dtype=torch.bool)
    links[:, 4] = True
    rows = Rows(grams, shared, links, torch.Generator())
    odds = rows.odds()
    for row, k in itertools.product(range(2), range(M)):
        if k == row:
            continue
        on, off = links[row].numpy().copy(), links[row].numpy().copy()
        on[k], off[k] = True, False
        expected = density(columns[row], y[row], on, shared) - density(columns[row], y[row], off, shared)
        assert float(odds[row, k]) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("seed", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_sampled_probabilities_are_those_of_enumeration(seed: int) -> None:
    grams, shared, columns, y = problem(seed, 2.0)
    rows = Rows(grams, shared, torch.zeros(2, M, dtype=torch.bool), torch.Generator().manual_seed(seed))
    found = sampled(rows, 3000, 20)
    for row in range(2):
        p, _ = enumerated(columns[row], y[row], shared)
        assert np.abs(found.probabilities[row].numpy() - p).max() < 0.03


def test_soft_links_are_near_those_of_enumeration() -> None:
    grams, shared, columns, y = problem(4, 1.0)
    soft = Soft(grams, shared)
    soft.run(60, learn=False)
    for row in range(2):
        p, _ = enumerated(columns[row], y[row], shared)
        assert np.abs(soft.probabilities[row].numpy() - p).max() < 0.1


def test_evidence_bounds_and_nears_that_of_enumeration() -> None:
    grams, shared, columns, y = problem(5, 0.3)
    rows = Rows(grams, shared, torch.zeros(2, M, dtype=torch.bool), torch.Generator().manual_seed(5))
    found = sampled(rows, 500, 20)
    for row in range(2):
        _, total = enumerated(columns[row], y[row], shared)
        assert float(found.evidence[row]) == pytest.approx(total, abs=0.5)


def test_the_more_probable_sampling_prevails() -> None:
    grams, shared, _, _ = problem(6, 0.3)
    rows = Rows(grams, shared, torch.zeros(2, M, dtype=torch.bool), torch.Generator().manual_seed(6))
    good = sampled(rows, 100, 20)
    bad = sampled(Rows(grams, shared, torch.ones(2, M, dtype=torch.bool), torch.Generator()), 1)
    bad = type(bad)(**{**vars(bad), "evidence": good.evidence - 50, "score": good.score - 50})
    often = together([bad, *[good] * 9]).probabilities  # missed with probability 0.1^10
    assert torch.allclose(often, good.probabilities)
    seldom = together([bad, good]).probabilities  # one of two: with 1/4 all starts count alike
    assert torch.allclose(seldom, 7 / 8 * good.probabilities + 1 / 8 * bad.probabilities)


def test_samplings_of_some_rows_leave_others_as_they_are() -> None:
    grams, shared, _, _ = problem(6, 0.3)
    rows = Rows(grams, shared, torch.zeros(2, M, dtype=torch.bool), torch.Generator().manual_seed(6))
    first = sampled(rows.copy(), 50, 20)
    second = sampled(rows.part(torch.tensor([1])), 50, 20)
    both = together([first, second], [torch.arange(2), torch.tensor([1])])
    assert torch.equal(both.probabilities[0], first.probabilities[0])
    assert float(both.score[1]) == max(float(first.score[1]), float(second.score[0]))
