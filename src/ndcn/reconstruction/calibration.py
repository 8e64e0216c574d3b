"""Are the probabilities right? A parametric bootstrap: networks drawn from them, simulated, and found again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize

from ..data import Inputs, Trajectory
from ..graph import Graph
from ..laws import ClosedForm, Equation, Formula, Term
from ..solve import IntegrationError, Solver, integrate
from .engine import Found, found_links
from .paths import Paths, paths_of

LARGEST = 1e6  # times the observed states: beyond it a simulated network has exploded
# Share of the range of observed states by which simulated ones may leave it before the law is held at its border: it is known there only, and couplings
# with quotients have poles (mutualistic, 30 runs, 5 % noise: one node in its pole took 200 of 210 s).
BEYOND = 0.25
MOST_STEPS = 50  # of the solver between two snapshots, on average: smooth runs take one or two
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
        simulated = _simulated(found, drawn, runs, generator)
        if simulated is None:
            continue
        again = found_links(
            simulated,
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


class _Rates(torch.nn.Module):
    """f_i(x_i) + sum_j W_ij g(x_i, x_j) for the output, f with each node's coefficients; other features follow their paths."""

    def __init__(self, found: Found, weights: np.ndarray) -> None:
        super().__init__()
        increments = found.increments
        names = increments.names
        count = len(increments.formulas)
        self.driven = increments.driven
        self.inputs: Inputs | None = None
        theta = found.learned.coefficients / torch.from_numpy(found.grams.scales[1])
        self.theta, self.answers = theta[:, :count], theta[:, count : count + len(self.driven)]
        self.formulas = increments.formulas
        term = Term(Formula(found.term.formula.text, names), True, 0, found.term.values)
        self.coupling = ClosedForm(Equation((term,), torch.ones(1, dtype=torch.float64), len(names)), names)
        self.network = Graph.from_dense(weights, directed=True)
        seen = increments.states.flatten(0, 1)
        low, high = seen.amin(0), seen.amax(0)
        self.low, self.high = low - BEYOND * (high - low), high + BEYOND * (high - low)

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        """dx/dt; beyond the observed states, where f and g may have poles, it is that at their border."""
        x = torch.clamp(x, self.low, self.high)
        own = sum(c * formula(x) for c, formula in zip(self.theta.T, self.formulas, strict=True))
        rate = self.coupling(t, x, self.network) + torch.as_tensor(own).unsqueeze(1)
        if self.inputs is not None and self.driven:
            u = self.inputs.at(t)
            for (name, times), answer in zip(self.driven, self.answers.T, strict=True):
                rate = rate + (answer * u[name] * (x[:, 0] if times else 1.0)).unsqueeze(1)
        return rate


def _simulated(
    found: Found, weights: np.ndarray, runs: Sequence[Trajectory], generator: np.random.Generator
) -> Paths | None:
    """Paths through noisy simulations from the first states of the runs; those that cannot be followed are left out, and None if these are half of
    them, or if there are several features."""
    paths = found.increments.paths
    if paths.features > 1:
        return None
    field = _Rates(found, weights)
    graph = runs[0].graph
    limit = LARGEST * max(float(np.abs(piece.observed).max()) for piece in paths.pieces)
    firsts = {piece.run: piece.path[0] for piece in reversed(paths.pieces)}
    out = []
    for k, run in enumerate(runs):
        if k not in firsts:
            continue
        start, field.inputs = torch.from_numpy(firsts[k]), run.inputs
        try:
            steps = MOST_STEPS * len(run.times)
            atol = 1e-6 * float(np.abs(firsts[k]).max() + 1e-12)
            solver = Solver("dopri5", rtol=1e-5, atol=atol, max_steps=steps)
            states = integrate(
                field, graph, start, run.times.double(), solver=solver, t0=float(run.times[0])
            ).states.numpy()
        except IntegrationError:
            continue
        if not np.isfinite(states).all() or np.abs(states).max() > limit:
            continue
        noisy = states + paths.noise * generator.normal(size=states.shape)
        out.append(Trajectory(times=run.times, states=noisy, graph=graph, mask=run.mask, inputs=run.inputs))
    return paths_of(out) if len(out) > 0.5 * len(firsts) else None


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
