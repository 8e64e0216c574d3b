"""Which links: the exact posterior over sets of links of many rows at once, sampled without rejections."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch

from .increments import Grams

SPIKE = 0.03  # standard deviation of the weight of an absent link, in units of that of a link: what model errors leave to it
NARROWEST = 0.02  # of the slab, in units of its size: an unweighted network up to errors of the law


@dataclass(frozen=True)
class Shared:
    """What the rows have in common; all in units of scaled columns.

    w_ij ~ p N(c, s^2) + (1 - p) N(0, spike^2), theta_i ~ N(mean, diag(variance)), errors of row i N(0, noise_i).

    Attributes:
        log_odds: of a link a priori, a number or (B, m).
        c, s: mean and standard deviation of the weight of a link.
        mean, variance: of the coefficients of f, (q,).
        noise: variance of the errors of each row, (B,).
    """

    log_odds: torch.Tensor
    c: float
    s: float
    mean: torch.Tensor
    variance: torch.Tensor
    noise: torch.Tensor

    @property
    def spike(self) -> float:
        """Variance of the weight of an absent link."""
        return SPIKE**2 * (self.c**2 + self.s**2)


class Rows:
    """A set of links for each of B rows, with the exact posterior given it.

    Weights and coefficients are integrated out: given the set, they are normal with covariance S and mean mu. A link
    that comes or goes changes one diagonal entry of the precision, hence S by a matrix of rank one.
    """

    def __init__(self, grams: Grams, shared: Shared, links: torch.Tensor, generator: torch.Generator) -> None:
        self.grams, self.shared, self.generator = grams, shared, generator
        self.links = links.clone()  # (B, m) of bool
        self.possible = torch.from_numpy(grams.candidates != grams.rows[:, None])
        self.links &= self.possible
        self.refresh()

    def refresh(self) -> None:
        """Compute everything anew from the links."""
        g, shared = self.grams, self.shared
        B = len(g.yy)
        variance, mean = self._prior(self.links)
        self.variance = torch.cat([variance, shared.variance.expand(B, -1)], dim=1)
        self.mean = torch.cat([mean, shared.mean.expand(B, -1)], dim=1)
        noise = shared.noise.view(-1, 1)
        precision = g.G / noise.unsqueeze(2)
        precision.diagonal(dim1=1, dim2=2).add_(1 / self.variance)
        lower = torch.linalg.cholesky(precision)
        self.S = torch.cholesky_inverse(lower)
        h = g.b / noise + self.mean / self.variance
        self.mu = torch.matmul(self.S, h.unsqueeze(2)).squeeze(2)
        prior = torch.where(self.links, _log_sigmoid(shared.log_odds), _log_sigmoid(-shared.log_odds))
        self.log_posterior = (
            (prior * self.possible).sum(1)
            - 0.5 * self.variance.log().sum(1)
            - lower.diagonal(dim1=1, dim2=2).log().sum(1)
            + 0.5 * (h * self.mu).sum(1)
            - 0.5 * (self.mean.square() / self.variance).sum(1)
            - 0.5 * g.yy / shared.noise
            - 0.5 * g.count * (2 * math.pi * shared.noise).log()
        )

    def _prior(self, links: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Variance and mean of weights that are links or not."""
        on = links.double()
        return on * self.shared.s**2 + (1 - on) * self.shared.spike, on * self.shared.c

    def odds(self) -> torch.Tensor:
        """Logarithm of the odds of each link given all others of its row, (B, m)."""
        m = self.grams.m
        d = self.S.diagonal(dim1=1, dim2=2)[:, :m]
        return self._odds(d, self.mu[:, :m], self.mean[:, :m], self.variance[:, :m], self.shared.log_odds)

    def _odds(
        self, S: torch.Tensor, mu: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor, prior: torch.Tensor
    ) -> torch.Tensor:
        precision = (1 / S - 1 / variance).clamp(min=0.0)
        eta = mu / S - mean / variance
        return (
            prior
            + evidence(precision, eta, self.shared.c, self.shared.s**2)
            - evidence(precision, eta, 0.0, self.shared.spike)
        )

    def weights(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and variance of each weight if it is a link, given the others, (B, m) each."""
        m = self.grams.m
        S, mean, variance = (self.S.diagonal(dim1=1, dim2=2)[:, :m], self.mean[:, :m], self.variance[:, :m])
        precision = (1 / S - 1 / variance).clamp(min=0.0)
        eta = self.mu[:, :m] / S - mean / variance
        v = 1 / (precision + 1 / self.shared.s**2)
        return v * (eta + self.shared.c / self.shared.s**2), v

    def flip(self, k: torch.Tensor, which: torch.Tensor) -> None:
        """Put in or take out link k[r] of the rows r where ``which`` is true."""
        r = torch.arange(len(k))
        on = ~self.links[r, k]
        new_v, new_m = self._prior(on)
        v, mean = self.variance[r, k], self.mean[r, k]
        delta = torch.where(which, 1 / new_v - 1 / v, 0.0)
        shift = torch.where(which, new_m / new_v - mean / v, 0.0)
        column = self.S[r, :, k]
        size = 1 + delta * self.S[r, k, k]
        new_column = column / size.unsqueeze(1)
        self.mu += (shift - delta * self.mu[r, k]).unsqueeze(1) * new_column
        self.S.baddbmm_((-delta).view(-1, 1, 1) * new_column.unsqueeze(2), column.unsqueeze(1))
        self.links[r, k] ^= which
        self.variance[r, k] = torch.where(which, new_v, v)
        self.mean[r, k] = torch.where(which, new_m, mean)

    def swaps(self, odds: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Log posterior ratio of taking out link j and putting in link k, (B, J, m), and the j, (B, J); -inf where there is none."""
        m = self.grams.m
        J = max(1, int(self.links.sum(1).max()))
        order = self.links.to(torch.int8).argsort(dim=1, descending=True, stable=True)[:, :J]
        valid = self.links.gather(1, order)
        r = torch.arange(len(order)).unsqueeze(1)
        shared = self.shared
        delta = 1 / shared.spike - 1 / shared.s**2
        shift = -shared.c / shared.s**2
        S_j = self.S[r, order]  # (B, J, m + q)
        size = 1 + delta * S_j.gather(2, order.unsqueeze(2)).squeeze(2)
        cross = S_j[..., :m]
        d = self.S.diagonal(dim1=1, dim2=2)[:, None, :m] - (delta / size).unsqueeze(2) * cross.square()
        mu = self.mu[:, None, :m] + ((shift - delta * self.mu.gather(1, order)) / size).unsqueeze(2) * cross
        prior = shared.log_odds if shared.log_odds.dim() == 0 else shared.log_odds.unsqueeze(1)
        after = self._odds(d.clamp(min=1e-300), mu, self.mean[:, None, :m], self.variance[:, None, :m], prior)
        ratio = after - odds.gather(1, order).unsqueeze(2)
        ratio = ratio.masked_fill(~valid.unsqueeze(2) | (self.links | ~self.possible).unsqueeze(1), -math.inf)
        return ratio, order

    def step(self, temperature: float = 1.0, swaps: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
        """One jump of every row to a neighbouring set; conditional odds before it, and the log of how long the row stayed.

        Jumps have the rates sqrt(ratio of posteriors), raised to 1 / temperature, which are in detailed balance with the
        posterior; a row stays for the inverse of their sum.
        """
        odds = self.odds()
        m = self.grams.m
        gains = torch.where(self.links, -odds, odds).masked_fill(~self.possible, -math.inf)
        if swaps:
            pairs, leaving = self.swaps(odds)
            gains = torch.cat([gains, pairs.flatten(1)], dim=1)
        rates = gains / (2 * temperature)
        stay = -torch.logsumexp(rates, dim=1)
        waits = torch.empty_like(rates).exponential_(generator=self.generator)
        chosen = (rates - waits.log()).argmax(dim=1)
        self.log_posterior = self.log_posterior + gains.gather(1, chosen.unsqueeze(1)).squeeze(1)
        swap = chosen >= m
        if swaps and swap.any():
            rest = (chosen - m).clamp(min=0)
            self.flip(leaving.gather(1, (rest // m).unsqueeze(1)).squeeze(1), swap)
            chosen = torch.where(swap, rest % m, chosen)
        self.flip(chosen, torch.ones_like(swap))
        return odds, stay

    def copy(self) -> Rows:
        """The same links, to go on separately."""
        return Rows(self.grams, self.shared, self.links, self.generator)

    def part(self, chosen: torch.Tensor) -> Rows:
        """Some of the rows."""
        shared = self.shared
        odds = shared.log_odds if shared.log_odds.dim() == 0 else shared.log_odds[chosen]
        shared = replace(shared, log_odds=odds, noise=shared.noise[chosen])
        return Rows(self.grams.part(chosen.numpy()), shared, self.links[chosen], self.generator)


def evidence(precision: torch.Tensor, eta: torch.Tensor, mean: float, variance: float) -> torch.Tensor:
    """log int N(w; mean, variance) exp(-precision w^2 / 2 + eta w) dw."""
    return 0.5 * (
        (eta + mean / variance).square() / (precision + 1 / variance)
        - torch.log1p(variance * precision)
        - mean**2 / variance
    )


def _log_sigmoid(x: torch.Tensor) -> torch.Tensor:
    return -torch.nn.functional.softplus(-x)
