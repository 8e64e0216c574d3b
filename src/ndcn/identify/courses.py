"""Closed and free forms along whole trajectories, with their first states: for noise and gaps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from ..integrators.tableau import RK4
from .equation import Equation, Model
from .free_fit import fit_free
from .known_law import KnownLaw
from .observations import Observations
from .posterior import inverse
from .search import Found, Search
from .shooting import steps_needed
from .trajectory_fit import Course, Path, course_of, fit_path, followable, roll
from .variants import simpler, without_terms

EASED = 1e-4  # of the largest state: laws that miss more than this are told apart in few steps
EXPLAINED = 1.05  # residuals of so many times the noise leave nothing for another law to explain


def closed_course(
    search: Search, data: Sequence[Observations], tolerance: torch.Tensor, say: Callable[[str], None]
) -> Path | None:
    """The closed form that follows the data best; None if none can be followed.

    Candidates are followed in turn, in few steps, and compared by what they miss of ``EASED`` of the largest state; one
    that misses nothing of that is tried to the last digit.
    """
    eased = torch.maximum(tolerance, EASED * search.scale)
    rough = [replace(one, measured=one.measured.at_least(eased)) if one.gaps else one for one in data]
    tried: dict[tuple[tuple[str, bool, int], ...], bool] = {}
    first: list[Path] = []
    whole: list[Path] = []
    for equation in _in_turn(search):
        key, curved = equation.families, _curved(equation)
        near = min((path.excess for path in first), default=math.inf) < 2
        enough = 8 if near or curved else 16  # those that come first may all be wrong
        if key in tried or sum(same == curved for same in tried.values()) >= enough:
            continue
        tried[key] = curved
        path = _followed(equation, rough, eased, 5)
        if path is None:
            continue
        if all(path.excess < other.excess for other in first):  # it may only have stopped too early
            path = fit_path(path.model, path.courses, iterations=10, enough=1e-2) or path
        first.append(path)
        say(f"course {path.excess:.3f} {Found.text_of(path.model)}")
        if path.excess < EXPLAINED:
            whole.append(_completed(_settled(path, say), data, tolerance, search))
            if whole[-1].excess < EXPLAINED:  # nothing is left for another to explain
                return whole[-1]
            first.pop()
    best: Path | None = None
    for path in sorted(first, key=_score)[:2]:
        settled = _settled(path, say)
        if best is None or _score(settled) < _score(best):
            best = settled
    if best is not None:
        whole.append(_completed(best, data, tolerance, search))
    return min(whole, key=_score, default=None)


def _in_turn(search: Search) -> list[Equation]:
    """Candidates, those with curved self terms last. Shots start from states that are known, which they are not in gaps."""
    equations = [] if (bare := search.bare()) is None else [bare]  # it may be the whole law
    gaps = any(one.gaps for one in search.data)
    equations += search.guesses() if gaps else [found.equation for found in search.shortlist()]
    return sorted(equations, key=_curved)


def _curved(equation: Equation) -> bool:
    """Whether a self term has parameters inside: it can bend to whatever a path through noise or gaps does."""
    return any(term.values and not term.coupling for term in equation.terms)


def _settled(path: Path, say: Callable[[str], None]) -> Path:
    """Fitted further, without the terms it does not need."""
    path = _pruned(fit_path(path.model, path.courses, iterations=10, enough=1e-3) or path)
    say(f"then {path.excess:.3f} {Found.text_of(path.model)}")
    return path


def _completed(path: Path, data: Sequence[Observations], tolerance: torch.Tensor, search: Search) -> Path:
    """As plain as can be, and fitted to the data themselves, with all steps that takes."""
    assert isinstance(path.model, Equation)
    for equation in simpler(path.model, data, search.terms):
        plainer = fit_path(equation, path.courses, iterations=6, enough=1e-3)
        if plainer is not None and _score(plainer) < _score(path):
            path = _pruned(plainer)
    whole = fit_path(path.model, _with_steps(path, data, tolerance), iterations=30, cg=40) or path
    plain = _pruned(whole)  # with all steps it may turn out that a term was there for their errors
    return whole if plain is whole else fit_path(plain.model, plain.courses, iterations=30, cg=40) or plain


def _with_steps(path: Path, data: Sequence[Observations], tolerance: torch.Tensor) -> list[Course]:
    """Courses of these observations with the steps that the model needs along them."""
    out = []
    for one, rough in zip(data, path.courses, strict=True):
        course = course_of(one, rough.steps)
        course = replace(course, x0=torch.where(one.seen[0], course.guess, rough.x0) if one.gaps else rough.x0)
        states = roll(path.model, one.network, course.x0, one.spans, course.steps)
        if states is not None:
            steps = steps_needed(path.model, one.network, states[:-1], one.spans, tolerance, 256, RK4)
            if bool((steps > 0).all()):
                course = replace(course, steps=tuple(steps.tolist()))
        out.append(course)
    return out


def _followed(model: Model, data: Sequence[Observations], tolerance: torch.Tensor, iterations: int) -> Path | None:
    courses = followable(data, model, tolerance)
    if courses is None:
        return None
    known = all(bool(one.seen[0].all()) for one in data)  # good enough to compare models; moved only for the best
    return fit_path(model, courses, iterations=iterations, enough=1e-3, move_start=not known)


def as_good(closed: Path, free: Path) -> bool:
    """Whether what splines explain beyond a formula is little, or no more than so many of them explain of noise."""
    return closed.excess < 1.05 * free.excess or _score(closed) < _score(free)


def _score(path: Path) -> float:
    """BIC: chi^2, and the number of parameters; noise that was underestimated makes chi^2 count less."""
    unit = max(1.0, path.excess) ** 2
    return path.chi2 / unit + _degrees(path) * math.log(path.count) + path.count * math.log(unit)


def _degrees(path: Path) -> float:
    """Parameters; those that a penalty holds count less."""
    if path.ridge is None:
        return len(path.model.parameters)
    return float((inverse(path.normal + path.ridge) * path.normal.T).sum())


def _pruned(path: Path) -> Path:
    """Without the terms whose loss BIC welcomes."""
    while True:
        model = path.model
        assert isinstance(model, Equation)
        if len(model.terms) <= (model.base is None):  # without a base a law has at least one term
            return path
        errors = inverse(path.normal).diagonal().clamp(min=0).sqrt() * max(1.0, path.excess)
        z = model.coefficients.abs() / errors[: len(model.terms)].clamp(min=1e-300)
        for k in torch.argsort(z).tolist()[:2]:
            if z[k] > 30:
                continue
            trial = fit_path(without_terms(model, [k]), path.courses, iterations=5, enough=1e-3)
            if trial is not None and _score(trial) < _score(path):
                path = trial
                break
        else:
            return path


def free_course(
    data: Sequence[Observations], tolerance: torch.Tensor, say: Callable[[str], None], base: KnownLaw | None
) -> Path | None:
    """Splines along the data; None if they cannot be followed."""
    fit = fit_free(data, say, base)
    if fit is None or fit.ridge is None:
        return None
    courses = followable(data, fit.model, tolerance)
    first = None if courses is None else fit_path(fit.model, courses, iterations=0)
    if first is None:
        return None
    ridge = fit.ridge * first.count
    done = fit_path(fit.model, first.courses, iterations=4, ridge=ridge, enough=1e-2)
    return replace(first, ridge=ridge) if done is None or done.chi2 > first.chi2 else done
