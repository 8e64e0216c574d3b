"""One unknown driver in common: y_i(t) = x0_i + int f + sum_j A_ij int g + b_i D(t), D the integral of the driver and b_i the loadings.

Law and driver are told apart by what the law leaves open, which must have rank one: its coefficients are those that leave the least beside the first
singular pair, D and the loadings. The integrals are taken along a smooth path at first, then along that of law and driver. The best few are fitted
along the whole trajectory (driver_refinement.py); on large networks the curve is the slope of a smoothing spline through D.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.interpolate import CubicSpline, make_smoothing_spline

from ..data import Driver, Inputs, Trajectory
from ..laws import DrivenForm, Equation, Formula, Term, term_values
from .candidates import LOW_PRICE, complexity, is_polynomial
from .clock import in_time
from .driven_discovery import LEAST_GAIN, NOISY_TOLERANCE, TRAJECTORY_ITERATIONS, DrivenTask, best_along, pruned_along
from .driven_law import CG, law_along
from .driven_problem import driven_problems
from .driver_refinement import MOST_NODES, Refined, refined
from .interaction import Interaction
from .lasting import lasts
from .library import formula_names, library, ranges_of
from .observations import CLEAN_BELOW, Observations, inside, integrals, largest, observed, roughness_of
from .residual_noise import UNDERESTIMATED_BY, residuals_are_noise
from .result import FoundLaw
from .trajectory_fit import TrajectoryFit, fit_trajectories
from .trajectory_stages import score

UNKNOWN = "unknown driver"
STEPS = 40  # of Gauss-Newton, and of its damping
# Each round takes its integrals along the path of law and driver of the round before, which is nearer to the truth than a smooth path.
ROUNDS = 3
STANDS_STILL = 1e-4  # of the largest state: how far that path still moves
FAMILIES = 6  # of couplings that are kept after the first round
COUPLINGS_TRIED = 3  # that are followed along the trajectory at last
# The first singular value of what a law leaves open, over that of noise: 21 to 35 at 1 % noise and 4 to 8 at 5 % in a first trial, 1.4 without a driver.
ABOVE_EDGE = 2.0
CLOSELY = 0.1  # of the noise or of ``LEAST_NOISE``: what is left may last, as it is too small to be part of the law
UNSEEN = 1e-6  # of the largest: directions of the law that the driver can take over entirely, as a constant beside equal loadings, are its own
FEWEST_NODES = (
    10  # with fewer, one curve in common is more than a tenth of all that was seen, and follows what any law lacks
)
POINTS = 4  # of the curve for each interval between snapshots: straight lines between them follow it closely
# Of the largest state: what a curve found from snapshots leaves open even where there is no noise.
LEAST_NOISE = 3e-3
TOLD = 0.05  # of its variance: what a function of the mean state leaves of a driver that is none
POWERS = 5  # of the mean state in that function
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
    x0: np.ndarray  # initial states, (n,)
    left: float  # squares of what both leave open, in units of the noise
    score: float
    along: Refined | None = None  # if it was fitted along the trajectory


def find_common_driver(trajectories: Sequence[Trajectory], what: Interaction, seed: int) -> FoundLaw | None:
    """A law with one unknown driver that explains a trajectory, with the driver as its input; None if there is none."""
    seen = trajectories[0]
    if len(trajectories) > 1 or seen.mask is not None or seen.num_features > 1 or seen.graph.num_nodes < FEWEST_NODES:
        return None
    noisy = roughness_of(seen) >= CLEAN_BELOW
    one = observed(seen, noisy=noisy)
    one = replace(one, measured=one.measured.at_least(LEAST_NOISE * largest([one])))
    if one.gaps:
        return None
    names = formula_names((*seen.features, "driver"))
    ranges = ranges_of(one.level.reshape(-1, 1))
    terms = [t for t in library(names[:1], ranges, what.terms, what.without) if t.coupling or is_polynomial(t)]
    path, kept = one, list(range(len(terms)))
    for _ in in_time(range(ROUNDS)):
        found = _ranked(path, terms, kept)
        if not found or found[0].over_edge < ABOVE_EDGE:
            return None
        kept = [k for each in found[:FAMILIES] for k in each.support]
        states = _followed(one, found[0], terms, names)
        if states is None:
            break
        moved = float((states - path.level).square().mean().sqrt()) / largest([one])
        path = _along_law(one, states)
        if moved < STANDS_STILL:
            break
    guesses = _ranked(path, terms, kept)[:COUPLINGS_TRIED]
    if one.network.n <= MOST_NODES:
        guesses = _refined(one, guesses, terms, names)
    fits = []
    for guess in in_time(guesses):
        driver = _as_input(one, guess)
        task = DrivenTask(trajectories, [driver], what, seed)
        fitted = best_along(task, [one], [_equation(guess, terms, names)], NOISY_TOLERANCE * largest([one]))
        if fitted is not None:
            fits.append((pruned_along(fitted), driver, guess))
    if not fits:
        return None
    best, inputs, chosen = min(fits, key=lambda each: score(each[0]))
    return _result(best, one, inputs, chosen, names, seed, trajectories) if _explained(best, chosen) else None


def _explained(best: TrajectoryFit, found: Found) -> bool:
    """Whether law and driver leave noise alone; steps between straight pieces of the curve would last, and are not looked at."""
    if found.along is None:
        return residuals_are_noise(best)
    (problem,) = best.problems
    rms = math.sqrt(found.along.chi2 / found.along.count)
    states = torch.from_numpy(found.along.states).unsqueeze(-1)
    return rms < CLOSELY or (rms < UNDERESTIMATED_BY and not lasts([(problem, states)]))


def _refined(one: Observations, guesses: list[Found], terms: Sequence[Term], names: tuple[str, ...]) -> list[Found]:
    """The best of some guesses, fitted along the whole trajectory.

    The first has all terms of nodes to begin with, as those that were left out may have been missed; the others have those that it kept.
    """
    best: Found | None = None
    alone = [k for k, term in enumerate(terms) if not term.coupling]
    values = None
    for guess in in_time(guesses):
        support = alone + [k for k in guess.support if terms[k].coupling]
        known = dict(zip(guess.support, guess.coefficients, strict=True))
        start = replace(guess, support=support, coefficients=np.array([known.get(k, 0.0) for k in support]))
        curve = _slope(one, guess)(one.times.numpy())
        found = refined(one, _equation(start, terms, names), curve, guess.loadings, guess.x0, values)
        if found is None:
            continue
        texts = [(term.formula.text, term.coupling) for term in found.equation.terms[:-1]]
        kept = [k for k in support if (terms[k].formula.text, terms[k].coupling) in texts]
        if best is None:
            alone, values = [k for k in kept if not terms[k].coupling], found.values
        price = LOW_PRICE * sum(complexity(terms[k]) for k in kept if terms[k].coupling)
        along = replace(
            guess,
            support=kept,
            coefficients=found.equation.coefficients.numpy()[:-1],
            loadings=found.loadings,
            errors=found.errors,
            x0=found.x0,
            score=found.bic / found.count + price,
            along=found,
        )
        best = along if best is None or along.score < best.score else best
    return [] if best is None else [best]


def _followed(one: Observations, found: Found, terms: Sequence[Term], names: tuple[str, ...]) -> torch.Tensor | None:
    """The path of law and driver, from the initial states that go with them; None if it explodes."""
    equation = _equation(found, terms, names)
    (problem,) = driven_problems([one], [_as_input(one, found)], equation, NOISY_TOLERANCE * largest([one]))
    x0 = torch.from_numpy(found.x0).reshape(problem.x0.shape)
    return problem.moved(x0 - problem.x0).followed(equation)


def _along_law(one: Observations, states: torch.Tensor) -> Observations:
    """With the path of a law in the place of a smooth one."""
    spline = CubicSpline(one.times.numpy(), states.flatten(1).numpy())
    inner = inside(lambda t: spline(t).reshape(len(t), *states.shape[1:]), one.times)
    return replace(one, level=states, inner=inner)


def _ranked(path: Observations, terms: Sequence[Term], kept: Sequence[int]) -> list[Found]:
    """For each family of couplings among the terms that are kept the best law with a driver beside it, best first."""
    apart = _Separation(path, terms, kept)
    base = [k for k in apart.places if not terms[k].coupling]
    best: dict[tuple, Found] = {}
    for coupling in [None, *(k for k in apart.places if terms[k].coupling)]:
        found = apart.found(base if coupling is None else [*base, coupling])
        family = () if coupling is None else terms[coupling].family
        if family not in best or found.score < best[family].score:
            best[family] = found
    ranked = sorted(best.values(), key=lambda each: each.score)
    fewer = [apart.with_fewer(each) for each in ranked[:FAMILIES]]
    return sorted(fewer, key=lambda each: each.score)


class _Separation:
    """Observations and integrals of terms along a path, in units of the noise, from which laws and drivers are separated."""

    def __init__(self, path: Observations, terms: Sequence[Term], kept: Sequence[int]) -> None:
        every = torch.arange(len(path.spans))
        inner = path.inner[every]
        flat, shape = inner.reshape(-1, *inner.shape[2:]), inner.shape[:3]
        cache: dict[str, torch.Tensor] = {}
        columns = []
        self.terms, self.places = terms, sorted(set(kept))
        for k in self.places:
            each = integrals(term_values(terms[k], flat, path.network, cache).reshape(shape), path.spans)
            total = torch.cat([torch.zeros_like(each[:1]), each.cumsum(0)]).numpy()
            columns.append(np.where(np.abs(total) < 1e100, total, 0.0))
        self.y = path.states[..., 0].numpy()
        self.size = np.sqrt(np.square(path.measured.at(path.level)[..., 0].numpy()).mean(0))
        self.totals = np.stack(columns, -1)
        self.Y, self.C = _centred(self.y) / self.size, _centred(self.totals) / self.size[:, None]

    def found(self, support: list[int], start: np.ndarray | None = None) -> Found:
        """Law and driver with these terms; from a first guess of the coefficients, or from two that need none."""
        T, n = self.Y.shape
        at = [self.places.index(k) for k in support]
        C = self.C[..., at]
        unit = np.maximum(np.linalg.norm(C, axis=(0, 1)), 1e-300)
        C = C / unit
        alone = np.linalg.lstsq(C.reshape(T * n, -1), self.Y.ravel(), rcond=UNSEEN)[0]
        starts = (alone, np.zeros_like(alone)) if start is None else (start * unit,)
        beta, D, b, left = min(
            (_rank_one_left(self.Y, C, each, 1 / self.size) for each in starts), key=lambda each: each[-1]
        )
        first = float(D @ (self.Y - C @ beta) @ b)
        sigma = max(math.sqrt(left / max((T - 1) * (n - 1), 1)), 1e-300)
        loadings = b * self.size
        unit_of_loadings = math.sqrt(float(np.mean(loadings**2)))
        scale = (1.0 if loadings.mean() >= 0 else -1.0) / unit_of_loadings
        over = abs(first) / (sigma * (math.sqrt(T) + math.sqrt(n)))
        errors = sigma * self.size / max(abs(first), 1e-300) / unit_of_loadings
        beta, D, b = beta / unit, first * D / scale, loadings * scale
        rest = self.y - self.totals[..., at] @ beta - np.outer(D, b)
        price = LOW_PRICE * sum(complexity(self.terms[k]) for k in support if self.terms[k].coupling)
        return Found(support, beta, D, b, over, errors, rest.mean(0) + D[0] * b, left, math.log(sigma) * 2 + price)

    def with_fewer(self, found: Found) -> Found:
        """Without the terms of nodes whose loss BIC welcomes, one by one."""
        worth = math.log(self.Y.size) * max(found.left / self.Y.size, 1.0)
        while True:
            alone = [k for k in found.support if not self.terms[k].coupling]
            tried = []
            for k in alone:
                at = found.support.index(k)
                support = [other for other in found.support if other != k]
                if support:
                    tried.append(self.found(support, np.delete(found.coefficients, at)))
            best = min(tried, key=lambda each: each.left, default=None)
            if best is None or best.left - found.left > worth:
                return found
            found = best


def _centred(values: np.ndarray) -> np.ndarray:
    """Less their mean in time: initial states are free."""
    return np.asarray(values - values.mean(0))


def _rank_one_left(
    Y: np.ndarray, C: np.ndarray, beta: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """beta, unit vectors D and b, and the least of ||Y - C beta - s D b'||^2 near a first guess: damped Gauss-Newton with D and b eliminated."""
    D, b, left = _first_pair(R := Y - C @ beta, b)
    damping = 1e-3
    for _ in range(STEPS):
        J = _apart(C, D, b).reshape(Y.size, -1)
        H, g = J.T @ J, J.T @ _apart(R, D, b).ravel()
        for _ in range(STEPS):
            guess = beta + np.linalg.lstsq(H + damping * np.diag(np.diag(H) + 1e-12), g, rcond=None)[0]
            tried = _first_pair(Y - C @ guess, b)
            if tried[-1] < left or damping > 1e6:
                break
            damping *= 5
        if not tried[-1] < left:
            break
        before, beta, R, (D, b, left) = left, guess, Y - C @ guess, tried
        damping /= 8
        if before - left < 1e-5 * before:
            break
    return beta, D, b, left


def _first_pair(R: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The first singular vectors of R (T, n), by powers from b on, and the sum of squares that they leave."""
    first = 0.0
    for _ in range(100):
        D = R @ b
        D /= max(np.linalg.norm(D), 1e-300)
        b = R.T @ D
        before, first = first, float(np.linalg.norm(b))
        b /= max(first, 1e-300)
        if first - before < 1e-10 * first:
            break
    return D, b, float(np.square(R - first * np.outer(D, b)).sum())  # the difference of squares would be rounded off


def _apart(M: np.ndarray, D: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Without what is along D in time or along b among nodes, of (T, n) or (T, n, m)."""
    rest = M - np.tensordot(M, b, (1, 0))[:, None] * (b if M.ndim == 2 else b[:, None])
    return np.asarray(rest - D.reshape(-1, *[1] * (M.ndim - 1)) * np.tensordot(D, rest, (0, 0)))


def _as_input(one: Observations, found: Found) -> Inputs:
    """The driver of each node, b_i times the slope of a smooth curve through D; loadings that errors explain are taken as equal."""
    t = one.times.numpy()
    grid = np.unique(np.concatenate([np.linspace(a, b, POINTS + 1) for a, b in itertools.pairwise(t)]))
    curve = _slope(one, found)(grid)
    b = found.loadings
    mean = float(np.average(b, weights=np.maximum(found.errors, 1e-12) ** -2.0))
    equal = float((((b - mean) / np.maximum(found.errors, 1e-12)) ** 2).sum()) < len(b) + 3 * math.sqrt(2 * len(b))
    b = np.full(len(b), mean) if equal else b
    centre = float(b.mean())
    scale = centre if abs(centre) > 0.1 else 1.0  # loadings have a mean of 1, unless they have none
    values = np.outer(curve * scale, b / scale)
    return Inputs.of([Driver(UNKNOWN, torch.from_numpy(grid), torch.from_numpy(values), "linear")])


def _slope(one: Observations, found: Found) -> Callable[[np.ndarray], np.ndarray]:
    """The driver: as it was fitted, or the slope of a smooth curve through its integral."""
    return make_smoothing_spline(one.times.numpy(), found.D).derivative() if found.along is None else found.along.curve


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
    if not any(names[1] in term.formula.text for term in best.model.terms) or _told_by_states(one, found):
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


def _told_by_states(one: Observations, found: Found) -> bool:
    """Whether the driver is a smooth function of the mean state, so that it may stand for a part of the law that is not in the library."""
    curve = _slope(one, found)(one.times.numpy())
    mean = one.level[..., 0].numpy() @ found.loadings
    powers = np.vander((mean - mean.mean()) / max(mean.std(), 1e-300), POWERS)
    rest = curve - powers @ np.linalg.lstsq(powers, curve, rcond=None)[0]
    return bool(rest.var() < TOLD * curve.var())


def _bare(best: TrajectoryFit, one: Observations, names: tuple[str, ...]) -> TrajectoryFit | None:
    """The law without the driver, fitted again."""
    assert isinstance(best.model, Equation)
    kept = [k for k, term in enumerate(best.model.terms) if names[1] not in term.formula.text]
    model = replace(
        best.model, terms=tuple(best.model.terms[k] for k in kept), coefficients=best.model.coefficients[kept]
    )
    return fit_trajectories(model, best.problems, iterations=TRAJECTORY_ITERATIONS, enough=1e-3, cg=CG)
