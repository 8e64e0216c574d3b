"""Links with probabilities for one feature's rates: noise of increments, family, links."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from ..data import Trajectory
from ..laws import Term
from .common import START_DENSITY
from .driver import Driver, common_driver, price
from .families import AGAIN, SECOND_ROWS, Scored, closer_look, couplings, quick_look, rows_of, scored, starts
from .increments import Grams, Increments
from .learning import Learned, narrowed, resettled, searched, settled, soft_fit, softened
from .null import null_evidence
from .paths import Paths
from .rivals import contested
from .screening import SCREENED, first_candidates, screened
from .slab import Rows
from .soft import Soft
from .structure import structured_odds

# Noise of the process in units of that of observations: what the path misses is some hundredths to tenths, process noise is more.
RHOS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
START_RHO = 0.1
COMPONENTS = 3  # principal components that stand for a driver in common, where there is one
VISIBLE = 0.1  # share of the variance of a row's increments: a link that explains less is weak
MOST_CONTESTED = 200  # nodes up to which couplings of similar shape are simulated
STRUCTURED = 2  # rounds of links by degrees and reverse links: the second has degrees and reverses that the first found
LEAST_EXCESS = 0.05  # of an increment's variance that is taken for what the path misses, where nothing shows


@dataclass(frozen=True)
class Found:
    """Links of all nodes in the rates of one feature.

    Attributes:
        increments: with the noise that was found.
        term: the coupling.
        grams: the rows.
        learned: their links.
        families: all families by evidence, best first.
        gain: log evidence for links against none, over all rows.
        spectrum: how many directions of a median row's candidates are above its noise, at the weight of links.
        visible: the same at a weight with which a link would explain VISIBLE of the row's increments: can absent links be told from weak ones?
        sure: how sure simulations are that the family is not one of similar shape: 1 or more to tell; infinite if there was none.
    """

    increments: Increments
    term: Term
    grams: Grams
    learned: Learned
    families: tuple[Scored, ...]
    gain: float
    spectrum: int
    visible: int
    sure: float = math.inf

    def dense(self, values: torch.Tensor) -> np.ndarray:
        """Values of candidates, (B, m), at their places, (n, n)."""
        return dense(self.grams, values, self.increments.paths.nodes)


def found_links(
    paths: Paths,
    features: Sequence[str],
    output: int,
    seed: int,
    *,
    prior: np.ndarray | None = None,
    term: Term | None = None,
    told: Callable[[str], None] = lambda _: None,
    thorough: bool = True,
    runs: Sequence[Trajectory] = (),
) -> Found:
    """Find links in the rates of one feature; with a term given, the family is not searched.

    Args:
        paths: through the observations.
        features: their names.
        output: the feature whose rates are explained.
        seed: of everything that is sampled.
        prior: log odds of links a priori, (n, n); learned by default.
        term: the coupling, if it is known; without values those of its parameters are fitted.
        told: is told what is being done.
        thorough: False saves the search from several starts.
        runs: the observations, for simulations that tell couplings of similar shape apart.
    """
    increments = with_noise(paths, features, output)
    rows = rows_of(paths.nodes, SECOND_ROWS, seed)
    families: list[Scored] = []
    sure = math.inf
    if term is None or len(term.values) < len(term.formula.parameters):
        states = increments.states.flatten(0, 1).numpy()
        ranges = np.stack([states.min(0), states.max(0)])
        terms = couplings(features, ranges, output) if term is None else starts(term, features, ranges)
        first = quick_look(increments, terms, seed, told)
        contest = bool(runs) and paths.features == 1 and paths.nodes <= MOST_CONTESTED
        families = closer_look(increments, first, seed, contest=contest)
        increments = renoised(increments, families[0].term, rows, families[0].soft)
        families = closer_look(increments, families, seed, AGAIN, contest)
        if contest:
            families, sure = contested(increments, families, runs, seed, told)
        term = families[0].term
    one = scored(increments, term, rows, torch.Generator().manual_seed(seed), 20)
    if one is not None:
        increments = likelier(renoised(increments, term, rows, one.soft), term, rows)
    told("links")
    return replace(_links(increments, term, tuple(families), seed, prior, thorough, told), sure=sure)


def _links(
    increments: Increments,
    term: Term,
    families: tuple[Scored, ...],
    seed: int,
    prior: np.ndarray | None,
    thorough: bool,
    told: Callable[[str], None],
) -> Found:
    n = increments.paths.nodes
    generator = torch.Generator().manual_seed(seed)
    candidates = screened(increments, term, prior, told) if n > SCREENED else None
    grams = increments.grams(term, np.arange(n), candidates)
    odds = None if prior is None else torch.from_numpy(np.take_along_axis(prior, grams.candidates, axis=1))
    soft = soft_fit(grams, odds)
    rows = settled(soft, generator)
    other = settled(narrowed(soft), generator)
    if float(other.log_posterior.sum()) > float(rows.log_posterior.sum()):
        rows = other
    if thorough:
        told("links, from several starts")
        rows = resettled(rows, searched(rows, soft.prior, steps=20, most=3).links, soft.prior)
    learned = softened(searched(rows, soft.prior), rows, soft.prior)
    if prior is None:
        learned = _structured(learned, rows, told)
    total = float(learned.evidence.sum())
    if increments.extra is None:
        driver = common_driver(increments)
        if driver is not None and driver.evidence > total:
            told("links beside a common driver")
            increments = _beside(increments, driver)
            return _links(increments, term, families, seed, prior, thorough, told)
    gain = total - null_evidence(grams)
    if increments.extra is not None and gain < price(increments):
        # one more driver would explain as much: links beside it are not told from none
        learned = replace(learned, probabilities=learned.probabilities * START_DENSITY)
        gain = 0.0
    noise = learned.shared.noise
    size = torch.full_like(noise, learned.shared.c**2 + learned.shared.s**2)
    visible = _spectrum(grams, noise, VISIBLE * grams.yy / grams.count)
    return Found(increments, term, grams, learned, families, gain, _spectrum(grams, noise, size), visible)


def _structured(learned: Learned, rows: Rows, told: Callable[[str], None]) -> Learned:
    """Links found again with odds by degrees and reverse links, where these tell something."""
    grams, given = rows.grams, learned.shared.log_odds.numpy()
    for _ in range(STRUCTURED):
        odds = structured_odds(dense(grams, learned.probabilities, len(grams.rows)), given)
        if odds is None:
            break
        told("links, by degrees and reverse links")
        own = torch.from_numpy(np.take_along_axis(odds, grams.candidates, axis=1))
        again = Rows(grams, replace(learned.shared, log_odds=own), learned.links, rows.generator)
        again = resettled(again, learned.links, prior=True)
        learned, given = softened(searched(again, True), again, True), odds
    return learned


def dense(grams: Grams, values: torch.Tensor, n: int) -> np.ndarray:
    """Values of candidates, (B, m), at their places, (n, n)."""
    out = np.zeros((n, n))
    np.put_along_axis(out, grams.candidates, values.double().numpy(), axis=1)
    np.fill_diagonal(out, 0.0)
    return out


def _beside(increments: Increments, driver: Driver) -> Increments:
    """Increments with a driver among each node's own columns, whitened with the noise that it leaves."""
    for _ in range(2):
        increments = _likeliest(increments, increments.unwhitened(driver.rest))
        driver = common_driver(increments, COMPONENTS) or driver
    increments.extra = driver.column
    return increments


def with_noise(paths: Paths, features: Sequence[str], output: int) -> Increments:
    """Increments whitened with the noise that the residuals of a flexible regression on all nodes' states show."""
    increments = Increments(paths, features, output, START_RHO)
    return _likeliest(increments, increments.unwhitened(_flexible(increments)))


def renoised(increments: Increments, term: Term, rows: np.ndarray, soft: Soft) -> Increments:
    """The same, whitened with the noise that these links leave."""
    links = np.zeros((len(rows), increments.paths.nodes), dtype=bool)
    np.put_along_axis(links, soft.grams.candidates, (soft.probabilities > 0.5).numpy(), axis=1)
    return _likeliest(increments, increments.unwhitened(increments.residuals(term, rows, links)))


def likelier(increments: Increments, term: Term, rows: np.ndarray) -> Increments:
    """The same with the noise of the process that has the largest evidence with links in doubt: what links that are not yet found leave open looks
    like noise (SIS, 10 runs, 5 % noise, seed 20: 0.3 times that of observations by residuals, 0.1 by evidence)."""

    def evidence(rho: float) -> tuple[float, Increments]:
        other = Increments(increments.paths, increments.names, increments.output, rho, increments.profile)
        many = increments.paths.nodes > SCREENED
        grams = other.grams(term, rows, first_candidates(other, term, rows) if many else None)
        try:
            total = float(soft_fit(grams, iterations=20).log_evidence().sum())
        except torch.linalg.LinAlgError:
            return -math.inf, other
        return total + len(rows) * other.log_determinant(), other

    place = RHOS.index(increments.rho) if increments.rho in RHOS else 0
    best, kept = evidence(RHOS[place])
    for step in (-1, 1):
        k = place + step
        while 0 <= k < len(RHOS):
            total, other = evidence(RHOS[k])
            if not total > best:
                break
            best, kept, k = total, other, k + step
        if kept.rho != RHOS[place]:
            break
    return kept


def _likeliest(increments: Increments, raw: torch.Tensor) -> Increments:
    """Increments with the noise under which residuals (N, B) are most likely."""
    profile = _profile(increments, raw.numpy())
    best, kept = -math.inf, increments
    for rho in RHOS:
        other = Increments(increments.paths, increments.names, increments.output, rho, profile)
        variance = other.whitened(raw).square().mean(0).clamp(min=1e-300)
        log_likelihood = raw.shape[1] * other.log_determinant() - 0.5 * len(raw) * float(variance.log().sum())
        if log_likelihood > best:
            best, kept = log_likelihood, other
    return kept


def _flexible(increments: Increments) -> torch.Tensor:
    """Whitened residuals of regressions on the node's own terms and on the states of all nodes, by generalised cross-validation, (N, n)."""
    X = increments.whitened(increments.integrated(increments.states).flatten(1))
    X = X / X.square().mean(0).sqrt().clamp(min=1e-300)
    out = []
    N = len(X)
    left, values, _ = torch.linalg.svd(X, full_matrices=False)
    for i in range(increments.paths.nodes):
        q, _ = torch.linalg.qr(increments.Z[:, i] / increments.Z[:, i].square().mean(0).sqrt().clamp(min=1e-300))
        y = increments.y[:, i] - q @ (q.T @ increments.y[:, i])
        best, kept = math.inf, y
        z = left.T @ y
        for ridge in (values[0] ** 2) * torch.logspace(-10, 0, 11, dtype=torch.float64):
            shrunk = values**2 / (values**2 + ridge)
            rest = y - left @ (shrunk * z)
            free = N - q.shape[1] - float(shrunk.sum())
            if free < 0.3 * N:  # what is left of so few degrees of freedom tells little of noise
                continue
            cost = float(rest.square().sum()) / free**2
            if cost < best:
                best, kept = cost, rest
        out.append(kept)
    return torch.stack(out, dim=1)


def _profile(increments: Increments, raw: np.ndarray) -> np.ndarray:
    """How much of what the path misses each increment has, (N,), with mean 1: pooled over nodes, and over runs with the same times."""
    scale = np.sqrt(np.mean(raw**2, axis=0)) + 1e-300
    square = np.mean((raw / scale) ** 2, axis=1)
    parts = np.split(square, np.cumsum(increments.sizes)[:-1])
    keys = [np.diff(piece.times).tobytes() for piece in increments.paths.pieces]
    means = {key: np.mean([part for part, k in zip(parts, keys, strict=True) if k == key], axis=0) for key in set(keys)}
    pooled = np.concatenate([_smooth(means[key], raw.shape[1] * keys.count(key)) for key in keys])
    level = np.quantile(pooled, 0.2)
    excess = np.maximum(pooled - level, LEAST_EXCESS * pooled)
    return excess / excess.mean()


def _smooth(values: np.ndarray, samples: int) -> np.ndarray:
    """A running mean over so many values that each is of 200 samples or more: its error is then below 10 %."""
    width = min(len(values), max(1, -(-200 // samples)))
    window = np.ones(width)
    return np.convolve(values, window, "same") / np.convolve(np.ones_like(values), window, "same")


def _spectrum(grams: Grams, noise: torch.Tensor, size: torch.Tensor) -> int:
    """Directions in which links would show: eigenvalues of the candidates' products, times squared weights (B,), above the noise, of the median row."""
    m = grams.m
    some = slice(0, None, max(1, len(grams.yy) // 20))
    G, noise, size = grams.G[some], noise[some], size[some]
    own = torch.linalg.solve(
        G[:, m:, m:]
        + 1e-9
        * torch.eye(G.shape[1] - m, dtype=torch.float64)
        * G[:, m:, m:].diagonal(dim1=1, dim2=2).amax(1).view(-1, 1, 1),
        G[:, m:, :m],
    )
    rest = G[:, :m, :m] - G[:, :m, m:] @ own
    values = torch.linalg.eigvalsh(0.5 * (rest + rest.mT))
    return int((values * (size / noise).view(-1, 1) > 1).sum(1).double().median())
