"""Links of rows with their probabilities: soft links first, then exact sets of links from several starts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch

from .common import first_guess, maximised, tight
from .increments import Grams
from .slab import Rows, Shared
from .soft import Soft

HOT_JUMPS = 40  # of a hot start, which cools down over them


@dataclass(frozen=True)
class Learned:
    """Rows with their links.

    Attributes:
        shared: the numbers in common.
        links: the most probable set of each row that was seen, (B, m).
        probabilities: of each link, (B, m).
        weights, errors: mean and standard deviation of each weight if it is a link, (B, m).
        coefficients: posterior mean of theta, (B, q).
        evidence: log marginal likelihood of each row, (B,), up to what the search missed.
    """

    shared: Shared
    links: torch.Tensor
    probabilities: torch.Tensor
    weights: torch.Tensor
    errors: torch.Tensor
    coefficients: torch.Tensor
    evidence: torch.Tensor


def soft_fit(
    grams: Grams, prior: torch.Tensor | None = None, start: Shared | None = None, iterations: int = 30
) -> Soft:
    """Soft links with learned numbers in common: from ridge regressions, or from given numbers."""
    shared = start or first_guess(grams)
    if prior is not None:
        shared = replace(shared, log_odds=prior)
    soft = Soft(grams, shared, prior=prior is not None)
    if start is None:
        soft.run(4, learn=False)  # before that the sites say nothing that could be learned from
    soft.run(iterations, learn=True)
    return soft


def narrowed(soft: Soft, iterations: int = 14) -> Soft:
    """The same from links of nearly equal weights; what rows have in common is learned again from there."""
    shared = tight(soft.grams, soft.shared, soft.probabilities, soft.weights, soft.prior)
    again = Soft(soft.grams, shared, prior=soft.prior)
    again.run(4, learn=False)
    again.run(iterations, learn=True)
    return again


def settled(soft: Soft, generator: torch.Generator, rounds: int = 3, jumps: int = 10) -> Rows:
    """Sets of links from soft ones, with numbers in common that suit them."""
    rows = Rows(soft.grams, soft.shared, soft.probabilities > 0.5, generator)
    for _ in range(rounds):
        rows = _round(rows, jumps, soft.prior)
    return rows


def _round(rows: Rows, jumps: int, prior: bool) -> Rows:
    """Some jumps, and the numbers in common that suit the links then."""
    p = torch.zeros(rows.links.shape, dtype=torch.float64)
    time = torch.full((len(p),), -math.inf, dtype=torch.float64)
    for step in range(jumps):
        odds, stay = rows.step(swaps=step % 4 == 3)
        if step >= jumps // 2:
            p, time = _averaged(p, time, torch.sigmoid(odds), stay)
    rows.refresh()
    shared = maximised(rows.grams, rows.shared, p * rows.possible, rows.weights(), (rows.mu, rows.S), prior)
    return Rows(rows.grams, shared, rows.links, rows.generator)


def _averaged(
    mean: torch.Tensor, log_time: torch.Tensor, value: torch.Tensor, log_stay: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """A running mean over time, by row."""
    total = torch.logaddexp(log_time, log_stay)
    share = (log_stay - total).exp().unsqueeze(1)
    return mean + share * (value - mean), total


def sampled(rows: Rows, steps: int, burn: int = 0) -> Learned:
    """Probabilities by jumps, averaged over the time that rows stay, with the odds that hold given all other links."""
    m = rows.grams.m
    kept = torch.zeros(len(rows.mu), 2 * m + rows.mu.shape[1] + 1, dtype=torch.float64)
    time = torch.full((len(kept),), -math.inf, dtype=torch.float64)
    best, score = rows.links.clone(), rows.log_posterior.clone()
    for k in range(burn + steps):
        before, theta = rows.log_posterior, rows.mu[:, m:].clone()
        w, v = rows.weights()
        odds, stay = rows.step(swaps=k >= burn or k % 4 == 3)
        if k >= burn:
            p = torch.sigmoid(odds) * rows.possible
            value = torch.cat([p, p * w, p * (w.square() + v), theta, before.unsqueeze(1)], dim=1)
            kept, time = _averaged(kept, time, value, stay)
        better = rows.log_posterior > score
        best[better], score[better] = rows.links[better], rows.log_posterior[better]
        if k % 50 == 49 or k == burn - 1:
            rows.refresh()
    p, pw, pww = kept[:, :m], kept[:, m : 2 * m], kept[:, 2 * m : 3 * m]
    weights = pw / p.clamp(min=1e-300)
    errors = (pww / p.clamp(min=1e-300) - weights.square()).clamp(min=0).sqrt()
    q = p.clamp(1e-15, 1 - 1e-15)
    entropy = -(q * q.log() + (1 - q) * torch.log1p(-q)).sum(1)
    return Learned(rows.shared, best, p, weights, errors, kept[:, 3 * m : -1], kept[:, -1] + entropy)


def together(learned: list[Learned]) -> Learned:
    """Several samplings of the same rows as one: each row's are weighted by their evidence."""
    evidence = torch.stack([one.evidence for one in learned])
    share = torch.softmax(evidence, dim=0).unsqueeze(2)
    parts = {
        name: torch.stack([getattr(one, name) for one in learned])
        for name in ("probabilities", "weights", "errors", "coefficients", "links")
    }
    p = (share * parts["probabilities"]).sum(0)
    of_links = share * parts["probabilities"] / p.clamp(min=1e-300)
    w = (of_links * parts["weights"]).sum(0)
    square = (of_links * (parts["errors"].square() + parts["weights"].square())).sum(0)
    first = evidence.argmax(0)
    return Learned(
        shared=learned[0].shared,
        links=parts["links"][first, torch.arange(len(first))],
        probabilities=p,
        weights=w,
        errors=(square - w.square()).clamp(min=0).sqrt(),
        coefficients=(share * parts["coefficients"]).sum(0),
        evidence=evidence.amax(0),
    )


def resettled(rows: Rows, links: torch.Tensor, prior: bool, rounds: int = 3) -> Rows:
    """Rows with other links, and numbers in common that suit them."""
    rows = Rows(rows.grams, rows.shared, links, rows.generator)
    for _ in range(rounds):
        rows = _round(rows, 10, prior)
    return rows


def searched(rows: Rows, prior: bool, steps: int = 40, hot: tuple[float, ...] = (2.0, 3.0, 4.0)) -> Learned:
    """Samplings from the links of rows, from soft links, and after hot jumps, as one."""
    found = [sampled(rows.copy(), steps)]
    soft = Soft(rows.grams, rows.shared, prior=prior)
    soft.run(15, learn=False)
    found.append(sampled(Rows(rows.grams, rows.shared, soft.probabilities > 0.5, rows.generator), steps, 15))
    for temperature in hot:
        warm = rows.copy()
        for k in range(HOT_JUMPS):
            warm.step(temperature ** (1 - k / HOT_JUMPS), swaps=k % 4 == 3)
        warm.refresh()
        found.append(sampled(warm, steps, 10))
    return together(found)
