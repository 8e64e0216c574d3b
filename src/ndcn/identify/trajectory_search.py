"""Closed and free forms along whole trajectories, with their first states: for noise and gaps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch

from ..laws import Equation, FreeModel, Model
from .known_law import KnownLaw
from .observations import Observations, largest
from .posterior import pseudo_inverse
from .search import FittedEquation, Search
from .spline_fit import fit_splines, rate_prior, smooth_guesses, splines_by_weak_form
from .spline_penalties import fit_with_penalties
from .trajectory_fit import (
    Prior,
    TrajectoryFit,
    TrajectoryProblem,
    fit_trajectories,
    problem_of,
    problems_for,
    steps_along,
)
from .variants import simpler, without_terms

COARSE_TOLERANCE = 1e-4  # of the largest state: laws that miss more than this are told apart in few steps
FORMULA_HORIZONS = (
    0.2,
    0.45,
    0.7,
    1.0,
)  # shares of what happens in the data through which a candidate is followed in turn
SPLINE_HORIZONS = (
    0.35,
    0.5,
    0.6,
    0.7,
    0.8,
    0.9,
    1.0,
)  # splines go more slowly: they are lost where they were not fitted yet
MOST_MEAN_STEPS = 24  # steps for each interval: a model that needs more has gone astray
DOUBTFUL_Z = 3.0  # terms with coefficients below so many standard errors
DROPPED_SINGLY = 4  # doubtful ones: more are dropped together
ASTRAY_EXCESS = 100.0  # times the noise: a trajectory that misses so much has lost its way
ROUGHER_WORTH = 0.95  # a rougher start must miss this much less of noisy data
NOTHING_LEFT_EXCESS = 1.05  # residuals of so many times the noise leave nothing for another law to explain


def closed_form_along(
    search: Search, data: Sequence[Observations], tolerance: torch.Tensor, say: Callable[[str], None]
) -> TrajectoryFit | None:
    """The closed form that follows the data best; None if none can be followed.

    In gaps, candidates are followed in few steps and compared by what they miss beyond the errors of these; one that misses
    nothing is tried to the last digit.
    """
    if any(one.gaps for one in data):
        eased, rough = _eased(data, tolerance)
        paths = _through_gaps(search, rough, eased, say)
    else:
        paths = _through_noise(search, data, tolerance)
    first: list[TrajectoryFit] = []
    whole: list[TrajectoryFit] = []
    for path in paths:
        say(f"course {path.excess:.3f} {FittedEquation.text_of(path.model)}")
        if path.excess < NOTHING_LEFT_EXCESS:
            done = _completed(_settled(path, say), data, tolerance, search)
            if done is not None and done.excess < NOTHING_LEFT_EXCESS:  # nothing is left for another to explain
                return done
            whole += [] if done is None else [done]
        else:
            first.append(path)
    best: TrajectoryFit | None = None
    for path in sorted(first, key=_score)[:2]:
        settled = _settled(path, say)
        if best is None or _score(settled) < _score(best):
            best = settled
    done = None if best is None else _completed(best, data, tolerance, search)
    whole += [] if done is None else [done]
    return min(whole, key=_score, default=None)


def _through_noise(search: Search, data: Sequence[Observations], tolerance: torch.Tensor) -> Iterator[TrajectoryFit]:
    """Candidates that a few intervals speak for, followed along the data."""
    known = all(bool(one.seen[0].all()) for one in data)  # good enough to compare models; moved only for the best
    tried: list[bool] = []
    near = False
    for equation in _in_turn(search, [found.equation for found in search.shortlist()]):
        curved = _curved(equation)
        if tried.count(curved) >= (8 if near or curved else 16):  # those that come first may all be wrong
            continue
        tried.append(curved)
        problems = problems_for(data, equation, tolerance)
        if problems is None:
            continue
        path = fit_trajectories(equation, problems, iterations=5, enough=1e-3, move_initial=not known)
        if path is not None:
            near = near or path.excess < 2
            yield path


def _through_gaps(
    search: Search, data: Sequence[Observations], tolerance: torch.Tensor, say: Callable[[str], None]
) -> Iterator[TrajectoryFit]:
    """Candidates of the weak form (shots would start from states that are not known), best first.

    They are followed for as long as it takes to see them fail: through the beginning of the data, and those that do best
    there ever further. From a poor guess a whole trajectory leads nowhere.
    """
    begun: list[TrajectoryFit] = []
    for equation in _in_turn(search, search.guesses()):
        path = _further(equation, None, data, FORMULA_HORIZONS[0], tolerance)
        if path is None:
            continue
        say(f"begun {path.excess:.3f} {FittedEquation.text_of(path.model)}")
        if path.excess < NOTHING_LEFT_EXCESS:
            whole = _to_the_end(path, data, tolerance)
            if whole is not None:
                yield whole
        else:
            begun.append(path)
    for path in sorted(begun, key=_score)[:6]:
        whole = _to_the_end(path, data, tolerance)
        if whole is not None:
            yield whole


def _to_the_end(path: TrajectoryFit, data: Sequence[Observations], tolerance: torch.Tensor) -> TrajectoryFit | None:
    """A path through the beginning of the data, led through all of them."""
    further: TrajectoryFit | None = path
    for share in FORMULA_HORIZONS[1:]:
        further = None if further is None else _further(further.model, further, data, share, tolerance)
    return further


def _further(
    model: Model,
    before: TrajectoryFit | None,
    data: Sequence[Observations],
    share: float,
    tolerance: torch.Tensor,
    prior: Prior | None = None,
) -> TrajectoryFit | None:
    """Fitted until a share of what happens has happened."""
    parts = [one.until(_moment(one, share)) for one in data]
    problems = problems_for(parts, model, tolerance)
    if problems is None or any(sum(c.steps) > MOST_MEAN_STEPS * len(c.steps) for c in problems):
        return None
    if before is not None:
        problems = [replace(c, x0=old.x0) for c, old in zip(problems, before.problems, strict=True)]
    return fit_trajectories(model, problems, iterations=15 if prior is None else 5, enough=1e-2, prior=prior)


def _moment(one: Observations, share: float) -> int:
    """Snapshots until this share of all motion, 8 at least; all of them if all of it."""
    if share >= 1:
        return len(one.times)
    motion = torch.asinh(one.level / one.unit).diff(dim=0).abs().mean(dim=(1, 2)).cumsum(0)
    return max(8, 2 + int((motion < share * motion[-1]).sum()))


def _in_turn(search: Search, equations: Sequence[Equation]) -> list[Equation]:
    """One of each kind, the base alone first, which may be the whole law, and those with curved self terms last."""
    bare = search.bare()
    distinct: dict[tuple[tuple[str, bool, int], ...], Equation] = {}
    for equation in [*([] if bare is None else [bare]), *equations]:
        distinct.setdefault(equation.families, equation)
    return sorted(distinct.values(), key=_curved)


def _curved(equation: Equation) -> bool:
    """Whether a self term has parameters inside: it can bend to whatever a path through noise or gaps does."""
    return any(term.values and not term.coupling for term in equation.terms)


def _settled(path: TrajectoryFit, say: Callable[[str], None]) -> TrajectoryFit:
    """Fitted further, without the terms it does not need."""
    path = _pruned(fit_trajectories(path.model, path.problems, iterations=10, enough=1e-3) or path)
    say(f"then {path.excess:.3f} {FittedEquation.text_of(path.model)}")
    return path


def _completed(
    path: TrajectoryFit, data: Sequence[Observations], tolerance: torch.Tensor, search: Search
) -> TrajectoryFit | None:
    """As plain as can be, and fitted to the data themselves, with all steps that takes; None if they lead nowhere."""
    assert isinstance(path.model, Equation)
    for equation in simpler(path.model, data, search.terms):
        plainer = fit_trajectories(equation, path.problems, iterations=6, enough=1e-3)
        if plainer is not None and _score(plainer) < _score(path):
            path = _pruned(plainer)
    whole = fit_trajectories(path.model, _with_steps(path, data, tolerance), iterations=30)
    if whole is None:
        return None
    plain = _pruned(whole)  # with all steps it may turn out that a term was there for their errors
    return whole if plain is whole else fit_trajectories(plain.model, plain.problems, iterations=30) or plain


def _with_steps(path: TrajectoryFit, data: Sequence[Observations], tolerance: torch.Tensor) -> list[TrajectoryProblem]:
    """Courses of these observations with the steps that the model needs along them."""
    out = []
    for one, rough in zip(data, path.problems, strict=True):
        problem = problem_of(one, rough.steps)
        problem = replace(problem, x0=torch.where(one.seen[0], problem.guess, rough.x0) if one.gaps else rough.x0)
        states = problem.followed(path.model)
        if states is not None:
            steps = steps_along(path.model, one, states, tolerance, 256)
            if bool((steps > 0).all()):
                problem = replace(problem, steps=tuple(steps.tolist()))
        out.append(problem)
    return out


def as_good(closed: TrajectoryFit, free: TrajectoryFit) -> bool:
    """Whether what splines explain beyond a formula is little, or no more than so many of them explain of noise."""
    return closed.excess < 1.05 * free.excess or _score(closed) < _score(free)


def _score(path: TrajectoryFit) -> float:
    """BIC: chi^2, and the number of parameters; noise that was underestimated makes chi^2 count less."""
    unit = max(1.0, path.excess) ** 2
    return path.chi2 / unit + _degrees(path) * math.log(path.count) + path.count * math.log(unit)


def _degrees(path: TrajectoryFit) -> float:
    """Parameters; those that a penalty holds count less."""
    if path.prior is None:
        return len(path.model.parameters)
    information = path.normal / max(1.0, path.excess) ** 2
    return float((pseudo_inverse(information + path.prior.precision) * information.T).sum())


def _pruned(path: TrajectoryFit) -> TrajectoryFit:
    """Without the terms whose loss BIC welcomes: many at once while many are doubtful, then one by one."""
    while True:
        model = path.model
        assert isinstance(model, Equation)
        needed = int(model.base is None)  # without a base a law has at least one term
        if len(model.terms) <= needed:
            return path
        covariance = pseudo_inverse(path.normal) * max(1.0, path.excess) ** 2
        z = model.coefficients.abs() / covariance.diagonal()[: len(model.terms)].clamp(min=1e-300).sqrt()
        order = torch.argsort(z).tolist()
        doubtful = [k for k in order if z[k] < DOUBTFUL_Z][: len(order) - needed]
        drops = []
        while len(doubtful) > DROPPED_SINGLY:
            drops += [doubtful] if _by_chance(model.coefficients[doubtful], covariance[doubtful][:, doubtful]) else []
            doubtful = doubtful[: len(doubtful) // 2]
        for drop in [*drops, *([k] for k in order[:2] if z[k] <= 30)]:
            trial = fit_trajectories(without_terms(model, drop), path.problems, iterations=5, enough=1e-3)
            if trial is not None and _score(trial) < _score(path):
                path = trial
                break
        else:
            return path


def _by_chance(values: torch.Tensor, covariance: torch.Tensor) -> bool:
    """Whether these are no larger together than zeros that are known so well: terms may be needed that alone are not."""
    count = len(values)
    return float(values @ pseudo_inverse(covariance) @ values) < count + 3 * (2 * count) ** 0.5


def free_form_along(
    data: Sequence[Observations], tolerance: torch.Tensor, say: Callable[[str], None], base: KnownLaw | None
) -> TrajectoryFit | None:
    """Splines along the data; None if they cannot be followed."""
    if any(one.gaps for one in data):
        return _free_through_gaps(data, tolerance, say, base)
    for model, ridge in _starts(data, say, base):
        problems = problems_for(data, model, tolerance)
        first = None if problems is None else fit_trajectories(model, problems, iterations=0)
        if first is not None and first.excess < ASTRAY_EXCESS:
            return fit_with_penalties(model, first, ridge, rate_prior(model.basis, data, base), say)
    return None


def _starts(
    data: Sequence[Observations], say: Callable[[str], None], base: KnownLaw | None
) -> Iterator[tuple[FreeModel, torch.Tensor]]:
    """Splines, and a first penalty: the best from snapshot to snapshot, which may not lead all the way, then smooth ones."""
    fit = fit_splines(data, say, base, worth=ROUGHER_WORTH)
    if fit is not None and fit.ridge is not None:
        assert isinstance(fit.model, FreeModel)
        yield fit.model, fit.ridge * sum(int(one.seen[1:].sum()) for one in data)
    yield from smooth_guesses(data, base)


def _free_through_gaps(
    data: Sequence[Observations], tolerance: torch.Tensor, say: Callable[[str], None], base: KnownLaw | None
) -> TrajectoryFit | None:
    guess = splines_by_weak_form(data, say, base)
    if guess is None:
        return None
    model, precision = guess
    both = precision + rate_prior(model.basis, data, base)
    prior = Prior(pseudo_inverse(both) @ precision @ model.parameters, both)
    eased, rough = _eased(data, tolerance)
    path: TrajectoryFit | None = None
    for share in SPLINE_HORIZONS:
        path = _further(model if path is None else path.model, path, rough, share, eased, prior)
        if path is None:
            return None
    assert path is not None
    whole = fit_trajectories(path.model, _with_steps(path, data, tolerance), iterations=0)
    return None if whole is None else replace(whole, normal=path.normal, prior=prior)


def _eased(data: Sequence[Observations], tolerance: torch.Tensor) -> tuple[torch.Tensor, list[Observations]]:
    """A tolerance of few steps, and the data with as much noise as not to see them."""
    eased = torch.maximum(tolerance, COARSE_TOLERANCE * largest(data))
    return eased, [replace(one, measured=one.measured.at_least(5 * eased)) for one in data]
