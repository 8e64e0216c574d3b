"""Are the probabilities right? A parametric bootstrap: networks drawn from them, simulated, and found again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize

from ..data import Trajectory
from .engine import Found, found_links
from .simulation import Simulated, simulated

RIDGE = 0.05  # on slope - 1 and shift of the map, in units of pairs: a few pairs do not decide it


@dataclass(frozen=True)
class Calibration:
    """How the probabilities of links should be read, from networks that were drawn from them and found again.

    Attributes:
        slope, shift: the calibrated log odds are slope log odds + shift.
        aupr: foretold area under precision over recall: that of the networks drawn.
        curve: mean probability and share of true links of pairs, in bins of probability, (K, 2).
        draws: how many networks.
    """

    slope: float
    shift: float
    aupr: float
    curve: np.ndarray
    draws: int

    def __call__(self, p: np.ndarray) -> np.ndarray:
        """Calibrated probabilities; those below 1e-6 stay as they are."""
        odds = np.log(np.maximum(p, 1e-15)) - np.log(np.maximum(1 - p, 1e-15))
        mapped = 1 / (1 + np.exp(-np.clip(self.slope * odds + self.shift, -500, 500)))
        return np.where(p > 1e-6, mapped, np.minimum(p, mapped))


def average_precision(truth: np.ndarray, scores: np.ndarray) -> float:
    """Area under precision over recall; the share of true ones if there is nothing to rank.

    Example:
        >>> average_precision(np.array([True, False, True]), np.array([0.9, 0.5, 0.1])).__round__(3)
        0.833
    """
    if not truth.any():
        return 0.0
    order = np.argsort(-scores, kind="stable")
    hits = truth[order]
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float(precision[hits].mean())


def foretold(p: np.ndarray, seed: int, draws: int = 10) -> float:
    """The area under precision over recall that probabilities promise, if they are right: the mean over networks drawn from them."""
    generator = np.random.default_rng(seed)
    return float(np.mean([average_precision(generator.random(p.shape) < p, p) for _ in range(draws)]))


def bootstrap(
    found: Found,
    runs: Sequence[Trajectory],
    seed: int,
    draws: int = 1,
    prior: np.ndarray | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> Calibration | None:
    """Calibrate the links of one feature; None if no simulation of a drawn network stays finite, or beside a driver, whose course is not known elsewhere."""
    if found.increments.extra is not None:
        return None
    n = found.increments.paths.nodes
    off = ~np.eye(n, dtype=bool)
    ps, truths, areas = [], [], []
    for k in range(draws):
        told(f"calibration {k + 1} of {draws}")
        generator = np.random.default_rng([seed, k])
        drawn = _drawn(found, generator)
        law = Simulated(
            found.increments, found.term, found.learned.coefficients / torch.from_numpy(found.grams.scales[1])
        )
        paths = simulated(law, drawn, runs, generator)
        if paths is None:
            continue
        again = found_links(
            paths,
            found.increments.names,
            found.increments.output,
            seed + 1 + k,
            term=found.term,
            prior=prior,
            thorough=False,
        )
        p = again.dense(again.learned.probabilities)[off]
        truth = (drawn != 0)[off]
        ps.append(p)
        truths.append(truth)
        areas.append(average_precision(truth, p))
    if not ps:
        return None
    p, truth = np.concatenate(ps), np.concatenate(truths)
    slope, shift = _logistic(p, truth)
    return Calibration(slope, shift, float(np.mean(areas)), _curve(p, truth), len(ps))


def _drawn(found: Found, generator: np.random.Generator) -> np.ndarray:
    """Weights of a network drawn from the probabilities, (n, n), in the units of the law."""
    p = found.dense(found.learned.probabilities)
    weights = found.dense(found.learned.weights) / found.grams.scales[0]
    errors = found.dense(found.learned.errors) / found.grams.scales[0]
    return np.where(generator.random(p.shape) < p, weights + errors * generator.normal(size=p.shape), 0.0)


def _logistic(p: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Slope and shift of a logistic map from log odds to truth, drawn to 1 and 0."""
    some = p > 1e-6
    odds = np.log(p[some]) - np.log(np.maximum(1 - p[some], 1e-12))
    odds = np.clip(odds, -14, 14)
    y = truth[some].astype(float)

    def cost(v: np.ndarray) -> float:
        z = v[0] * odds + v[1]
        return float((np.logaddexp(0, z) - y * z).sum() + RIDGE * len(y) ** 0.5 * ((v[0] - 1) ** 2 + v[1] ** 2))

    found = minimize(cost, np.array([1.0, 0.0]), method="L-BFGS-B", bounds=[(0.05, 1.5), (-5, 5)])
    return float(found.x[0]), float(found.x[1])


def _curve(p: np.ndarray, truth: np.ndarray) -> np.ndarray:
    edges = np.array([0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0 + 1e-12])
    place = np.digitize(p, edges)
    rows = [(p[place == k].mean(), truth[place == k].mean()) for k in range(1, len(edges)) if (place == k).any()]
    return np.array(rows).reshape(-1, 2)
