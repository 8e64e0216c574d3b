"""The evidence for no links at all: every node follows its own f."""

from __future__ import annotations

import math

import torch

from .common import of_nodes, pooled
from .increments import Grams


def null_evidence(grams: Grams, rounds: int = 15) -> float:
    """Log marginal likelihood of all rows without candidates, at the numbers in common that suit them best."""
    m = grams.m
    G, b = grams.G[:, m:, m:], grams.b[:, m:]
    q = b.shape[1]
    noise = pooled(grams.yy / grams.count, grams)  # not 0 for a node that never moves
    mean = torch.zeros(q, dtype=torch.float64)
    variance = torch.full((q,), 10 * float(noise.mean()), dtype=torch.float64)
    total = -math.inf
    for _ in range(rounds):
        P = G / noise.view(-1, 1, 1)
        P.diagonal(dim1=1, dim2=2).add_(1 / variance)
        lower = torch.linalg.cholesky(P)
        S = torch.cholesky_inverse(lower)
        h = b / noise.unsqueeze(1) + mean / variance
        mu = torch.matmul(S, h.unsqueeze(2)).squeeze(2)
        total = float(
            (
                0.5 * (h * mu).sum(1)
                - lower.diagonal(dim1=1, dim2=2).log().sum(1)
                - 0.5 * (variance.log() + mean.square() / variance).sum()
                - 0.5 * grams.yy / noise
                - 0.5 * grams.count * (2 * math.pi * noise).log()
            ).sum()
        )
        fit = torch.matmul(G, mu.unsqueeze(2)).squeeze(2)
        square = grams.yy - 2 * (b * mu).sum(1) + (fit * mu).sum(1) + (G * S).sum((1, 2))
        noise = pooled(square / grams.count, grams)
        mean, variance = of_nodes(mu, S.diagonal(dim1=1, dim2=2))
    return total
