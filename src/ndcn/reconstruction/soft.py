"""Soft links: expectation propagation over all rows at once, with what rows have in common learned on the way."""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from .common import maximised
from .increments import Grams
from .slab import NARROWEST, Shared, evidence

DAMPING = 0.6  # share of the old site that is replaced: undamped updates of all sites at once oscillate
LEAST = 1e-8  # precision of a site, in units of that of the spike


class Soft:
    """Every weight's prior as the normal that agrees best with what all others leave to it.

    Args:
        grams: the rows.
        shared: numbers in common to start from.
        prior: True if the odds of links are given and stay.
        narrow: True if all links are held to have the same weight; else its spread is learned.
    """

    def __init__(self, grams: Grams, shared: Shared, *, prior: bool = False, narrow: bool = False) -> None:
        self.grams, self.shared, self.prior, self.narrow = grams, shared, prior, narrow
        self.possible = torch.from_numpy(grams.candidates != grams.rows[:, None])
        B, m = self.possible.shape
        p = torch.sigmoid(shared.log_odds).expand(B, m)
        mean = p * shared.c
        variance = p * (shared.s**2 + shared.c**2) + (1 - p) * shared.spike - mean.square()
        self.precision, self.shift = 1 / variance, mean / variance
        self.probabilities = p * self.possible

    def run(self, iterations: int, learn: bool) -> None:
        """So many updates of all sites, each followed by one of the numbers in common if these are to be learned."""
        for _ in range(iterations):
            self._update(learn)

    def _update(self, learn: bool) -> None:
        grams, shared, m = self.grams, self.shared, self.grams.m
        slab, spike, c = shared.s**2, shared.spike, shared.c
        noise = shared.noise.view(-1, 1)
        B = len(noise)
        P = grams.G / noise.unsqueeze(2)
        P.diagonal(dim1=1, dim2=2).add_(torch.cat([self.precision, (1 / shared.variance).expand(B, -1)], dim=1))
        S = torch.cholesky_inverse(torch.linalg.cholesky(P))
        h = grams.b / noise + torch.cat([self.shift, (shared.mean / shared.variance).expand(B, -1)], dim=1)
        mu = torch.matmul(S, h.unsqueeze(2)).squeeze(2)
        d = S.diagonal(dim1=1, dim2=2)[:, :m]
        cavity = (1 / d - self.precision).clamp(min=1e-10 / spike)
        eta = mu[:, :m] / d - self.shift
        p = torch.sigmoid(shared.log_odds + evidence(cavity, eta, c, slab) - evidence(cavity, eta, 0.0, spike))
        on, off = 1 / (cavity + 1 / slab), 1 / (cavity + 1 / spike)
        mean_on, mean_off = on * (eta + c / slab), off * eta
        mean = p * mean_on + (1 - p) * mean_off
        square = p * (on + mean_on.square()) + (1 - p) * (off + mean_off.square())
        tilted = (square - mean.square()).clamp(min=1e-12 * spike)
        new = (1 / tilted - cavity).clamp(LEAST / spike, 1e4 / spike)
        self.precision = self.precision + DAMPING * (new - self.precision)
        self.shift = self.shift + DAMPING * (mean * (new + cavity) - eta - self.shift)
        self.probabilities = p * self.possible
        self.weights, self.variances, self.coefficients = mean_on, on, mu[:, m:]
        if learn:
            self.shared = maximised(grams, shared, self.probabilities, (mean_on, on), (mu, S), self.prior)
            if self.narrow:
                self.shared = replace(self.shared, s=max(NARROWEST * abs(self.shared.c), 1e-150))

    def log_evidence(self) -> torch.Tensor:
        """Log marginal likelihood of each row by expectation propagation, (B,)."""
        grams, shared, m = self.grams, self.shared, self.grams.m
        noise = shared.noise.view(-1, 1)
        B = len(noise)
        P = grams.G / noise.unsqueeze(2)
        P.diagonal(dim1=1, dim2=2).add_(torch.cat([self.precision, (1 / shared.variance).expand(B, -1)], dim=1))
        lower = torch.linalg.cholesky(P)
        S = torch.cholesky_inverse(lower)
        h = grams.b / noise + torch.cat([self.shift, (shared.mean / shared.variance).expand(B, -1)], dim=1)
        mu = torch.matmul(S, h.unsqueeze(2)).squeeze(2)
        d = S.diagonal(dim1=1, dim2=2)[:, :m]
        cavity = (1 / d - self.precision).clamp(min=1e-10 / shared.spike)
        eta = mu[:, :m] / d - self.shift
        log_on, log_off = (torch.nn.functional.logsigmoid(sign * shared.log_odds) for sign in (1.0, -1.0))
        on = log_on + evidence(cavity, eta, shared.c, shared.s**2)
        off = log_off + evidence(cavity, eta, 0.0, shared.spike)
        sites = torch.where(self.possible, torch.logaddexp(on, off), 0.0)  # those of the node itself are no part of it
        sites = sites - 0.5 * (2 * math.pi * d).log() - 0.5 * mu[:, :m].square() / d
        return (
            sites.sum(1)
            + 0.5 * (h * mu).sum(1)
            - lower.diagonal(dim1=1, dim2=2).log().sum(1)
            + 0.5 * m * math.log(2 * math.pi)
            - 0.5 * (shared.variance.log() + shared.mean.square() / shared.variance).sum()
            - 0.5 * grams.yy / shared.noise
            - 0.5 * grams.count * (2 * math.pi * shared.noise).log()
        )
