"""Numbers that rows have in common: first guesses, and those that suit given links best."""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from .increments import Grams
from .slab import NARROWEST, Shared

# Of the variance of increments: smaller errors are of quadrature and rounding, not of the data. With 1e-10, evidence of clean data was a difference of numbers so
# large that rounding decided (gene, 30 runs, clean, seed 90: AUPR .27 in place of 1).
FLOOR = 1e-7
POOLED = 0.3  # weight of the median row's noise in that of each row, in units of its own observations
START_DENSITY = 0.05  # of links, before anything was learned
SURE = 0.9  # probability of links whose weights tell those of all
FEWEST = 10  # links whose median weight is taken for that of all

Pair = tuple[torch.Tensor, torch.Tensor]


def first_guess(grams: Grams, rounds: int = 8) -> Shared:
    """By ridge regressions with one prior for all weights, whose variance a sparse prior then shares out to few."""
    m = grams.m
    q = grams.b.shape[1] - m
    scale = float((grams.yy / grams.count).mean())
    noise, ridge = 0.1 * grams.yy / grams.count + FLOOR * scale, scale / m
    mean = torch.zeros(q, dtype=torch.float64)
    variance = torch.full((q,), 10 * scale, dtype=torch.float64)
    for _ in range(rounds):
        prior = torch.cat([torch.full((m,), ridge, dtype=torch.float64), variance])
        centre = torch.cat([torch.zeros(m, dtype=torch.float64), mean])
        P = grams.G / noise.view(-1, 1, 1)
        P.diagonal(dim1=1, dim2=2).add_(1 / prior)
        S = torch.cholesky_inverse(torch.linalg.cholesky(P))
        mu = torch.matmul(S, (grams.b / noise.unsqueeze(1) + centre / prior).unsqueeze(2)).squeeze(2)
        d = S.diagonal(dim1=1, dim2=2)
        ridge = max(float((mu[:, :m].square() + d[:, :m]).mean()), 1e-200)
        mean, variance = of_nodes(mu[:, m:], d[:, m:])
        noise = pooled(residual(grams, mu, S), grams)
    s = math.sqrt(ridge / START_DENSITY)
    odds = torch.tensor(math.log(START_DENSITY / (1 - START_DENSITY)), dtype=torch.float64)
    return Shared(odds, 0.0, s, mean, variance, noise)


def maximised(grams: Grams, shared: Shared, p: torch.Tensor, weights: Pair, posterior: Pair, prior: bool) -> Shared:
    """Numbers in common that suit rows best.

    Args:
        grams, shared: the rows, and the numbers so far.
        p: probabilities of links, (B, m).
        weights: mean and variance of each weight if it is a link, (B, m).
        posterior: mean and covariance of all weights and coefficients, (B, m + q).
        prior: whether the odds of links stay as they are.
    """
    m = grams.m
    w, v = weights
    mu, S = posterior
    total = p.sum() + 1e-3
    c = float((p * w).sum() / total)
    s = math.sqrt(max(float((p * ((w - c).square() + v)).sum() / total), 0.0))
    mean, variance = of_nodes(mu[:, m:], S.diagonal(dim1=1, dim2=2)[:, m:])
    odds = shared.log_odds if prior else log_odds(p, grams)
    noise = pooled(residual(grams, mu, S), grams)
    return Shared(odds, c, max(s, NARROWEST * abs(c), 1e-150), mean, variance, noise)


def tight(grams: Grams, shared: Shared, p: torch.Tensor, weights: torch.Tensor, prior: bool) -> Shared:
    """Numbers in common if all links had nearly the same weight: the median of those that are sure."""
    sure = p > SURE
    if int(sure.sum()) < FEWEST:
        sure = p >= p.flatten().topk(min(FEWEST, p.numel())).values[-1]
    c = float(weights[sure].median())
    odds = shared.log_odds if prior else log_odds((p > 0.5).double(), grams)
    return replace(shared, c=c, s=max(0.1 * abs(c), 1e-150), log_odds=odds)


def log_odds(p: torch.Tensor, grams: Grams) -> torch.Tensor:
    """Of the density of links."""
    count = p.numel() - int((grams.candidates == grams.rows[:, None]).sum())
    density = ((p.sum() + 0.5) / (count + 1)).clamp(1 / (count + 1), 0.5)
    return (density / (1 - density)).log()


def residual(grams: Grams, mu: torch.Tensor, S: torch.Tensor) -> torch.Tensor:
    """Expected mean square of what a row leaves open, (B,)."""
    fit = torch.matmul(grams.G, mu.unsqueeze(2)).squeeze(2)
    square = grams.yy - 2 * (grams.b * mu).sum(1) + (fit * mu).sum(1) + (grams.G * S).sum((1, 2))
    return square / grams.count


def of_nodes(theta: torch.Tensor, variance: torch.Tensor) -> Pair:
    """Mean and variance over nodes of their coefficients, (q,) each."""
    mean = theta.mean(0)
    spread = (variance + (theta - mean).square()).mean(0)
    return mean, spread.clamp(min=1e-12 * float((mean.square() + spread).max()) + 1e-300)


def pooled(own: torch.Tensor, grams: Grams) -> torch.Tensor:
    """Noise of each row, drawn towards the median row's."""
    own = own.clamp(min=FLOOR * float((grams.yy / grams.count).mean()) + 1e-300)
    return (own + POOLED * own.median()) / (1 + POOLED)
