"""Links of rows with their probabilities: soft links first, then exact sets of links from several starts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch

from .common import first_guess, maximised, tight
from .increments import Grams
from .slab import Rows, Shared
from .soft import Soft

# Starts of the search for a row's links. 100 nodes, 10 runs of 20 snapshots, 1 % noise, heat (seed 0), SIS (2), Lotka-Volterra (3), gene (1): from hot
# starts the sampler left 31 rows with wrong links; eight perturbed soft starts came to the truth or better in 21 of them.
STARTS = 12
AGREED = 3  # starts that came to the same best set
SAME = 2.0  # nats within which two sets of links are equally good
HOPELESS = 0.6  # share of rows without agreement from which on more starts will not help: the data do not tell
MORE_LINKS = 3.0  # nats that a start may favour links by: it finds nodes of high in-degree
WIDEST = 0.4  # of the spread of weights that a start assumes, in units of their mean
# Nats of a row's soft links from which on its posterior is spread over many sets. Rows have near 0 or 10 and more: 10 runs, SIS, seed 2, 5 % noise
# has the same area (.636) and true false discoveries (.08 to .10) at 1, 2, 4 and 8; the search alone has .570 and .216.
DIFFUSE = 4.0
MANY_DIFFUSE = 0.3  # share of such rows from which on the numbers in common are learned from soft links, which gain .65
TEMPERATURES = tuple(
    10 ** (0.25 * k) for k in range(8, -1, -1)
)  # of soft links: from noise that hides all but the clearest


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
        score: log posterior of ``links``, (B,).
    """

    shared: Shared
    links: torch.Tensor
    probabilities: torch.Tensor
    weights: torch.Tensor
    errors: torch.Tensor
    coefficients: torch.Tensor
    evidence: torch.Tensor
    score: torch.Tensor


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


def evened(soft: Soft, iterations: int = 20) -> Soft:
    """The same with one weight for all links, if that is likelier: from wide spreads the learned one falls slowly, and stays too wide where data tell
    little (gene, 10 runs, 5 % noise, seed 20: .35 of the mean after 30 iterations, .12 after 90; AUPR .555 and .574, and .596 with one weight)."""
    shared = tight(soft.grams, soft.shared, soft.probabilities, soft.weights, soft.prior)
    again = Soft(soft.grams, shared, prior=soft.prior, narrow=True)
    again.precision, again.shift = soft.precision.clone(), soft.shift.clone()
    again.run(iterations, learn=True)
    return again if float(again.log_evidence().sum()) > float(soft.log_evidence().sum()) else soft


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
    return Learned(rows.shared, best, p, weights, errors, kept[:, 3 * m : -1], kept[:, -1] + _entropy(p), score)


def together(learned: list[Learned], rows: list[torch.Tensor] | None = None) -> Learned:
    """Several samplings of the same rows as one: each row's are weighted by their evidence.

    A better set of links may have been missed. If h of a row's k starts came to its best set, one that is reached as easily was missed with
    probability (1 - h/k)^k; with so much weight all starts count alike.

    Args:
        learned: the samplings, the first of all rows.
        rows: which rows each of them is of; all by default.
    """
    places = rows or [torch.arange(len(learned[0].links))] * len(learned)
    whole = [_placed(one, chosen, learned[0]) for one, chosen in zip(learned, places, strict=True)]
    parts = {
        name: torch.stack([getattr(one, name) for one in whole])
        for name in ("probabilities", "weights", "errors", "coefficients", "links", "evidence", "score")
    }
    evidence, score = parts["evidence"], parts["score"]
    starts = score.isfinite().sum(0)
    missed = (1 - hits(score) / starts) ** starts
    share = (1 - missed) * torch.softmax(evidence, dim=0) + missed * score.isfinite() / starts
    share = share.unsqueeze(2)
    p = (share * parts["probabilities"]).sum(0)
    of_links = share * parts["probabilities"] / p.clamp(min=1e-300)
    w = (of_links * parts["weights"]).sum(0)
    square = (of_links * (parts["errors"].square() + parts["weights"].square())).sum(0)
    first = score.argmax(0)
    return Learned(
        shared=learned[0].shared,
        links=parts["links"][first, torch.arange(len(first))],
        probabilities=p,
        weights=w,
        errors=(square - w.square()).clamp(min=0).sqrt(),
        coefficients=(share * parts["coefficients"]).sum(0),
        evidence=evidence.amax(0),
        score=score.amax(0),
    )


def hits(score: torch.Tensor) -> torch.Tensor:
    """How many starts came to the best set of links of each row, (S, B) to (B,)."""
    return (score >= score.amax(0) - SAME).sum(0)


def _placed(one: Learned, chosen: torch.Tensor, like: Learned) -> Learned:
    """A sampling of some rows among all, with the evidence -inf for others."""
    out = {}
    for name in ("probabilities", "weights", "errors", "coefficients", "links", "evidence", "score"):
        whole = getattr(like, name)
        out[name] = torch.full_like(whole, -math.inf if name in ("evidence", "score") else 0)
        out[name][chosen] = getattr(one, name)
    return Learned(shared=like.shared, **out)


def resettled(rows: Rows, links: torch.Tensor, prior: bool, rounds: int = 3) -> Rows:
    """Rows with other links, and numbers in common that suit them."""
    rows = Rows(rows.grams, rows.shared, links, rows.generator)
    for _ in range(rounds):
        rows = _round(rows, 10, prior)
    return rows


def searched(rows: Rows, prior: bool, steps: int = 40, most: int = STARTS) -> Learned:
    """Samplings from the links of rows and from soft links at falling temperatures, as one.

    A row is done when AGREED starts came to its best set of links; others start again from soft links whose prior is perturbed.
    """
    found, places = [sampled(rows.copy(), steps)], [torch.arange(len(rows.links))]
    score = found[0].score.unsqueeze(0)
    while len(found) < most:
        hard = torch.arange(score.shape[1]) if len(found) == 1 else torch.nonzero(hits(score) < AGREED).squeeze(1)
        if not len(hard) or (len(found) > AGREED and len(hard) > HOPELESS * score.shape[1]):
            break
        some = rows.part(hard)
        links = _annealed(some, prior, perturbed=len(found) > 1).probabilities > 0.5
        found.append(sampled(Rows(some.grams, some.shared, links, rows.generator), steps, 10))
        places.append(hard)
        new = torch.full_like(score[:1], -math.inf)
        new[0, hard] = found[-1].score
        score = torch.cat([score, new])
    return together(found, places)


def softened(learned: Learned, rows: Rows, prior: bool) -> Learned:
    """The same, with soft links in rows whose posterior is spread over many sets of links: some tens of jumps see a small part of it, and take
    that for the whole. Where many rows are so, the numbers in common are those of soft links too."""
    soft = _annealed(Rows(rows.grams, learned.shared, rows.links, rows.generator), prior, perturbed=False)
    soft.run(10, learn=False)
    spread = diffuse(soft)
    if not bool(spread.any()):
        return learned
    many = float(spread.double().mean()) > MANY_DIFFUSE
    if many:
        soft.run(20, learn=True)
        soft = evened(soft)
    p = soft.probabilities
    parts = {
        "probabilities": p,
        "weights": soft.weights,
        "errors": soft.variances.sqrt(),
        "coefficients": soft.coefficients,
        "links": p > 0.5,
    }
    new = {name: torch.where(spread.unsqueeze(1), part, getattr(learned, name)) for name, part in parts.items()}
    return replace(learned, shared=soft.shared if many else learned.shared, **new)


def diffuse(soft: Soft) -> torch.Tensor:
    """Rows whose posterior is spread over many sets of links, (B,) of bool."""
    return _entropy(soft.probabilities) > DIFFUSE


def _entropy(p: torch.Tensor) -> torch.Tensor:
    """Of the links of each row, in nats, (B,)."""
    q = p.clamp(1e-15, 1 - 1e-15)
    return -(q * q.log() + (1 - q) * torch.log1p(-q)).sum(1)


def _annealed(rows: Rows, prior: bool, perturbed: bool) -> Soft:
    """Soft links with noise that falls to that of the rows; other odds of links and spreads of weights lead to other sets."""
    shared = rows.shared
    if perturbed:
        shape, generator = rows.links.shape, rows.generator
        more = MORE_LINKS * torch.rand(shape[0], 1, generator=generator, dtype=torch.float64)
        odds = shared.log_odds + more + torch.randn(shape, generator=generator, dtype=torch.float64)
        s = max(shared.s, WIDEST * float(torch.rand((), generator=generator)) * abs(shared.c))
        shared = replace(shared, log_odds=odds, s=s)
    soft = Soft(rows.grams, shared, prior=prior)
    for temperature in TEMPERATURES:
        soft.shared = replace(shared, noise=temperature * shared.noise)
        soft.run(4, learn=False)
    soft.shared = shared
    return soft
