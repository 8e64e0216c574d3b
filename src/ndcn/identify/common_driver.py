"""One unknown driver in common: y_i(t) = x0_i + int f + sum_j A_ij int g + b_i D(t), D the integral of the driver and b_i the loadings.

Law and driver are told apart by projection: given the loadings, what is along them in every snapshot can be the driver's, so the law is fitted to
the rest; what the law then leaves open has the loadings as its first right singular vector, and both are found in turn. The curve is the slope of a
smoothing spline through D.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.interpolate import CubicSpline, make_smoothing_spline

from ..data import Driver, Inputs, Trajectory
from ..laws import DrivenForm, Equation, Formula, Term, term_values
from .candidates import LOW_PRICE, complexity, is_polynomial
from .clock import in_time
from .driven_discovery import (
    CG,
    LEAST_GAIN,
    NOISY_TOLERANCE,
    TRAJECTORY_ITERATIONS,
    DrivenTask,
    best_along,
    law_along,
    pruned_along,
)
from .interaction import Interaction
from .library import formula_names, library, ranges_of
from .observations import CLEAN_BELOW, Observations, inside, integrals, largest, observed, roughness_of
from .residual_noise import residuals_are_noise
from .result import FoundLaw
from .trajectory_fit import TrajectoryFit, fit_trajectories
from .trajectory_stages import score

UNKNOWN = "unknown driver"
ALTERNATIONS = 12
# Couplings that are followed along the trajectory in each round: the second takes its integrals along the law of the first, which is nearer to the
# truth than a smooth path, whichever of the couplings that are ranked alike it has.
COUPLINGS_TRIED = (1, 3)
# The first singular value of what a law leaves open, over that of noise: 21 to 35 at 1 % noise and 4 to 8 at 5 % in a first trial, 1.4 without a driver.
ABOVE_EDGE = 2.0
UNSEEN = 1e-6  # of the largest: directions of the law that the driver can take over entirely, as a constant beside equal loadings, are its own
POINTS = 4  # of the curve for each interval between snapshots: straight lines between them follow it closely
# Of the largest state: what a curve found from snapshots leaves open even where there is no noise.
LEAST_NOISE = 3e-3
LIKE_DEGREE = 0.9  # correlation of loadings with the degree beyond which a coupling may be taken for a driver


@dataclass(frozen=True)
class Found:
    """A driver as the integral form shows it."""

    support: list[int]  # terms of the law beside it
    coefficients: np.ndarray
    D: np.ndarray  # its integral at the snapshots, (T,)
    loadings: np.ndarray  # (n,), their mean square is 1
    over_edge: float  # its singular value over that of noise
    errors: np.ndarray  # of the loadings, (n,)
    score: float


def find_common_driver(trajectories: Sequence[Trajectory], what: Interaction, seed: int) -> FoundLaw | None:
    """A law with one unknown driver that explains a trajectory, with the driver as its input; None if there is none."""
    if len(trajectories) > 1 or trajectories[0].mask is not None or trajectories[0].num_features > 1:
        return None
    seen = trajectories[0]
    noisy = roughness_of(seen) >= CLEAN_BELOW
    one = observed(seen, noisy=noisy)
    one = replace(one, measured=one.measured.at_least(LEAST_NOISE * largest([one])))
    if one.gaps:
        return None
    names = formula_names((*seen.features, "driver"))
    ranges = ranges_of(one.level.reshape(-1, 1))
    terms = [t for t in library(names[:1], ranges, what.terms, what.without) if t.coupling or is_polynomial(t)]
    tolerance = NOISY_TOLERANCE * largest([one])
    best: TrajectoryFit | None = None
    path = one
    for tried in in_time(COUPLINGS_TRIED):
        found = _ranked(path, terms)
        if not found or found[0].over_edge < ABOVE_EDGE:
            return None
        fits = []
        for guess in found[:tried]:
            driver = _as_input(one, guess)
            task = DrivenTask(trajectories, [driver], what, seed)
            fitted = best_along(task, [one], [_equation(guess, terms, names)], tolerance)
            if fitted is not None:
                fits.append((pruned_along(fitted), driver, guess))
        if not fits:
            return None
        best, inputs, chosen = min(fits, key=lambda each: score(each[0]))
        states = best.problems[0].followed(best.model)
        if states is None:
            return None
        path = _along_law(one, states)
    return (
        None
        if best is None or not residuals_are_noise(best)
        else _result(best, one, inputs, chosen, names, seed, trajectories)
    )


def _along_law(one: Observations, states: torch.Tensor) -> Observations:
    """With the path of a law in the place of a smooth one."""
    spline = CubicSpline(one.times.numpy(), states.flatten(1).numpy())
    inner = inside(lambda t: spline(t).reshape(len(t), *states.shape[1:]), one.times)
    return replace(one, level=states, inner=inner)


def _ranked(one: Observations, terms: Sequence[Term]) -> list[Found]:
    """For each family of couplings the best law with a driver beside it, best first."""
    every = torch.arange(len(one.spans))
    inner = one.inner[every]
    flat, shape = inner.reshape(-1, *inner.shape[2:]), inner.shape[:3]
    cache: dict[str, torch.Tensor] = {}
    columns = []
    for term in terms:
        each = integrals(term_values(term, flat, one.network, cache).reshape(shape), one.spans)
        total = torch.cat([torch.zeros_like(each[:1]), each.cumsum(0)]).numpy()
        columns.append(_centred(np.where(np.abs(total) < 1e100, total, 0.0)))
    y = one.states[..., 0].numpy()
    size = np.sqrt(np.square(one.measured.at(one.level)[..., 0].numpy()).mean(0))
    Y, C = _centred(y) / size, np.stack(columns, -1) / size[:, None]
    base = [k for k, t in enumerate(terms) if not t.coupling]
    best: dict[tuple, Found] = {}
    for coupling in [None, *(k for k, t in enumerate(terms) if t.coupling)]:
        support = base if coupling is None else [*base, coupling]
        price = LOW_PRICE * (0 if coupling is None else complexity(terms[coupling]))
        found = _separated(Y, C[..., support], support, size, price)
        family = () if coupling is None else terms[coupling].family
        if family not in best or found.score < best[family].score:
            best[family] = found
    return sorted(best.values(), key=lambda each: each.score)


def _centred(values: np.ndarray) -> np.ndarray:
    """Less their mean in time: initial states are free."""
    return np.asarray(values - values.mean(0))


def _separated(Y: np.ndarray, C: np.ndarray, support: list[int], size: np.ndarray, price: float) -> Found:
    """Law and driver from observations (T, n) and integrals of terms (T, n, m), both in units of the noise."""
    T, n = Y.shape
    b = (1 / size) / np.linalg.norm(1 / size)
    D = np.zeros(T)
    unit = np.maximum(np.linalg.norm(C, axis=(0, 1)), 1e-300)
    for _ in range(ALTERNATIONS):
        A = _apart(C, D, b).reshape(T * n, -1)
        beta = np.linalg.lstsq(A / unit, _apart(Y, D, b).ravel(), rcond=UNSEEN)[0] / unit
        R = Y - C @ beta
        D = R @ b
        D /= max(np.linalg.norm(D), 1e-300)
        b = R.T @ D
        b /= max(np.linalg.norm(b), 1e-300)
    first = float(D @ R @ b)
    rest = R - first * np.outer(D, b)
    sigma = max(math.sqrt(float((rest**2).sum()) / max((T - 1) * (n - 1), 1)), 1e-300)
    loadings = b * size
    unit_of_loadings = math.sqrt(float(np.mean(loadings**2)))
    sign = 1.0 if loadings.mean() >= 0 else -1.0
    scale = sign / unit_of_loadings
    over = abs(first) / (sigma * (math.sqrt(T) + math.sqrt(n)))
    errors = sigma * size / max(abs(first), 1e-300) / unit_of_loadings
    return Found(support, beta, first * D / scale, loadings * scale, over, errors, math.log(sigma) * 2 + price)


def _apart(M: np.ndarray, D: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Without what is along D in time or along b among nodes, of (T, n) or (T, n, m)."""
    rest = M - np.tensordot(M, b, (1, 0))[:, None] * (b if M.ndim == 2 else b[:, None])
    return np.asarray(rest - D.reshape(-1, *[1] * (M.ndim - 1)) * np.tensordot(D, rest, (0, 0)))


def _as_input(one: Observations, found: Found) -> Inputs:
    """The driver of each node, b_i times the slope of a smooth curve through D; loadings that errors explain are taken as equal."""
    t = one.times.numpy()
    spline = make_smoothing_spline(t, found.D)
    grid = np.unique(np.concatenate([np.linspace(a, b, POINTS + 1) for a, b in itertools.pairwise(t)]))
    curve = spline.derivative()(grid)
    b = found.loadings
    mean = float(np.average(b, weights=found.errors**-2.0))
    equal = float((((b - mean) / found.errors) ** 2).sum()) < len(b) + 3 * math.sqrt(2 * len(b))
    b = np.full(len(b), mean) if equal else b
    centre = float(b.mean())
    scale = centre if abs(centre) > 0.1 else 1.0  # loadings have a mean of 1, unless they have none
    values = np.outer(curve * scale, b / scale)
    return Inputs.of([Driver(UNKNOWN, torch.from_numpy(grid), torch.from_numpy(values), "linear")])


def _equation(found: Found, terms: Sequence[Term], names: tuple[str, ...]) -> Equation:
    chosen = [Term(Formula(terms[k].formula.text, names), terms[k].coupling, 0, terms[k].values) for k in found.support]
    every = (*chosen, Term(Formula(names[1], names), False))
    return Equation(every, torch.tensor([*found.coefficients, 1.0], dtype=torch.float64), 2)


def _result(
    best: TrajectoryFit,
    one: Observations,
    inputs: Inputs,
    found: Found,
    names: tuple[str, ...],
    seed: int,
    trajectories: Sequence[Trajectory],
) -> FoundLaw | None:
    """If BIC, with the values of the driver as parameters, is lower than without a driver."""
    assert isinstance(best.model, Equation)
    if not any(names[1] in term.formula.text for term in best.model.terms):
        return None
    values = inputs[UNKNOWN].values
    equal = bool((values == values[:, :1]).all())
    bare = _bare(best, one, names)
    price = (len(one.times) / 2 + (0 if equal else len(found.loadings))) * math.log(best.count)
    gain = math.inf if bare is None else score(bare) - score(best) - price
    if gain < LEAST_GAIN:
        return None
    degree = np.asarray(abs(trajectories[0].graph.to_scipy()).sum(1)).ravel()
    r = 0.0 if equal or degree.std() == 0 else float(np.corrcoef(found.loadings, degree)[0, 1])
    doubt = (
        f"; loadings go with the degree (r = {r:.2f}), so that it may be part of a coupling"
        if abs(r) > LIKE_DEGREE
        else ""
    )
    than = (
        f"its first singular value is {found.over_edge:.1f} times the edge of noise, and "
        + (
            "no law without it could be followed"
            if bare is None
            else f"BIC is lower by {gain:.0f} than without it, its values counted"
        )
        + f"; a curve that was found from the same data could also stand for what the law lacks{doubt}"
    )

    def named(equation: Equation) -> DrivenForm:
        return DrivenForm(equation, names[:1], {UNKNOWN: names[1]}, [] if equal else [UNKNOWN])

    what = f"the closed form with one unknown driver in common to all nodes{'' if equal else ', each with its own loading,'}"
    law = law_along(best, [one], named, what, than, seed)
    shared = Inputs.of([replace(inputs[UNKNOWN], values=values[:, :1])]) if equal else inputs
    return replace(law, drivers=[shared])


def _bare(best: TrajectoryFit, one: Observations, names: tuple[str, ...]) -> TrajectoryFit | None:
    """The law without the driver, fitted again."""
    assert isinstance(best.model, Equation)
    kept = [k for k, term in enumerate(best.model.terms) if names[1] not in term.formula.text]
    model = replace(
        best.model, terms=tuple(best.model.terms[k] for k in kept), coefficients=best.model.coefficients[kept]
    )
    return fit_trajectories(model, best.problems, iterations=TRAJECTORY_ITERATIONS, enough=1e-3, cg=CG)
