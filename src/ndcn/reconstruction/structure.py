"""What links have in common: links that are answered, and nodes that many links come from or go to, make other links likelier."""

from __future__ import annotations

import math

import numpy as np

# Log likelihood ratio, in nats, from which on links are taken to depend on their reverses, or degrees to differ by more than chance: networks of
# independent links keep one prior for all, and are not searched again.
LEAST_SIGN = 15.0
SUREST = (
    12.0  # log odds that data are taken to give for or against a link: beyond that rows may have missed a better set
)
FEWEST_EXPECTED = 20.0  # links, on average, that degrees are told from
ROUNDS = 30  # of expectation maximisation


def structured_odds(p: np.ndarray, given: np.ndarray | float) -> np.ndarray | None:
    """Log odds of links a priori, (n, n), by degrees and reverse links; None if links look independent of each other.

    With a_i and b_j the excess of links to i and from j, and r the log odds ratio of a link and its reverse,

        log odds_ij = base + log a_i + log b_j + log[(1 + e^(r + o_ji)) / (1 + e^(o_ji))],

    o_ji being the odds of the reverse link by its own row and degrees.

    Args:
        p: probabilities of links that were found with the log odds ``given`` a priori, (n, n).
        given: those log odds, (n, n) or one number.
    """
    off = ~np.eye(len(p), dtype=bool)
    if p[off].sum() < FEWEST_EXPECTED:
        return None
    q = np.clip(p, 1e-12, 1 - 1e-12)
    data = np.clip(np.log(q) - np.log1p(-q) - given, -SUREST, SUREST)
    mean = float(p[off].mean())
    base = np.full(p.shape, math.log(mean / (1 - mean)))
    degrees = _excess(p, axis=1) + _excess(p, axis=0)
    odds = base + degrees
    ratio, level, gained = _reciprocity(data, odds)
    if gained > LEAST_SIGN:
        odds = _answered(data, odds, ratio, level)
    elif not degrees.any():
        return None
    return np.where(off, np.clip(odds, -SUREST, SUREST), -SUREST)


def _excess(p: np.ndarray, axis: int) -> np.ndarray:
    """Logarithm of how many more links than the average each node's degree promises for one link more, (n, n); 0 where degrees differ by chance.

    Degrees are Poisson numbers with means of a gamma distribution, whose shape is that of the variance beyond the mean. The
    link itself does not count.
    """
    k = p.sum(axis=axis)
    n, mean = len(k), float(k.mean())
    shape = mean**2 / max(float(k.var()) - mean, 1e-12 * mean)
    if not n > 2 or _log_ratio(k, mean, shape) < LEAST_SIGN:
        return np.zeros_like(p)
    others = (k[:, None] if axis == 1 else k[None, :]) - p
    return np.asarray(np.log((others + shape) / (mean + shape)))


def _log_ratio(k: np.ndarray, mean: float, shape: float) -> float:
    """Log likelihood of degrees with means that differ, over that of equal means."""
    from scipy.special import gammaln  # noqa: PLC0415

    if shape > 1e3 * mean:
        return 0.0
    differ = gammaln(k + shape) - gammaln(shape) + shape * np.log(shape / (shape + mean)) - k * np.log(shape + mean)
    return float((differ + mean).sum())


def _reciprocity(data: np.ndarray, odds: np.ndarray) -> tuple[float, float, float]:
    """Log of the odds ratio of a link and its reverse, log of the factor of all odds that goes with it, and the log likelihood that they gain."""
    i, j = np.triu_indices(len(data), 1)
    one, two = np.exp(data[i, j]), np.exp(data[j, i])
    a, b = np.exp(odds[i, j]), np.exp(odds[j, i])
    likelihoods = np.stack([np.ones_like(one), one, two, one * two])  # of no link, one, the reverse, both

    def fitted(free: bool) -> tuple[float, float, float]:
        ratio, level, total = 1.0, 1.0, -math.inf
        for _ in range(ROUNDS):
            prior = np.stack([np.ones_like(a), level * a, level * b, level**2 * ratio * a * b])
            prior /= prior.sum(0)
            evidence = (prior * likelihoods).sum(0)
            total = float(np.log(evidence).sum())
            links, expected = (prior * likelihoods / evidence).sum(1) + 1e-3, prior.sum(1) + 1e-3
            if free:
                ratio *= (links[3] / expected[3]) / ((links[1] + links[2]) / (expected[1] + expected[2]))
            level *= (links[1] + links[2] + 2 * links[3]) / (expected[1] + expected[2] + 2 * expected[3])
            ratio, level = float(np.clip(ratio, 1.0, 1e6)), float(np.clip(level, 1e-4, 1e2))
        return math.log(ratio), math.log(level), total

    ratio, level, total = fitted(True)
    return ratio, level, total - fitted(False)[2]


def _answered(data: np.ndarray, odds: np.ndarray, ratio: float, level: float) -> np.ndarray:
    """Log odds a priori with what the reverse links say."""
    odds = odds + level
    reverse = (data + odds).T
    return np.asarray(odds + np.logaddexp(0, ratio + reverse) - np.logaddexp(0, reverse))
