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
from .trajectory_fit import Course, Path, course_of, fit_path, roll
from .variants import simpler, without_terms

EXPLAINED = 1.05  # residuals of so many times the noise leave nothing for another law to explain


def closed_course(
    search: Search, data: Sequence[Observations], tolerance: torch.Tensor, say: Callable[[str], None]
) -> Path | None:
    """The closed form that follows the data best: candidates of the search in turn, pruned; None if none can be followed."""
    tried: dict[tuple[tuple[str, bool, int], ...], bool] = {}
    first: list[Path] = []
    if (bare := search.bare()) is not None:  # it may be the whole law
        alone = _followed(bare, data, tolerance, 5)
        first += [] if alone is None else [alone]
    for found in search.shortlist():
        key, curved = found.equation.families, found.curved
        near = min((path.excess for path in first), default=math.inf) < 2
        enough = 8 if near or curved else 16  # those that come first may all be wrong
        if key in tried or sum(same == curved for same in tried.values()) >= enough:
            continue
        tried[key] = curved
        path = _followed(found.equation, data, tolerance, 5)
        if path is not None:
            first.append(path)
            say(f"course {path.excess:.3f} {Found.text_of(path.model)}")
            if path.excess < EXPLAINED:  # nothing is left for another to explain
                break
    best: Path | None = None
    for path in sorted(first, key=_score)[:2]:
        if best is not None and best.excess < EXPLAINED:
            break
        refined = fit_path(path.model, path.courses, iterations=10, enough=1e-3) or path
        refined = _pruned(refined)
        say(f"then {refined.excess:.3f} {Found.text_of(refined.model)}")
        if best is None or _score(refined) < _score(best):
            best = refined
    if best is None:
        return None
    assert isinstance(best.model, Equation)
    for equation in simpler(best.model, data, search.terms):
        plainer = fit_path(equation, best.courses, iterations=6, enough=1e-3)
        if plainer is not None and _score(plainer) < _score(best):
            best = _pruned(plainer)
    whole = fit_path(best.model, _with_steps(best, tolerance), iterations=30, cg=40) or best
    plain = _pruned(whole)  # with all steps it may turn out that a term was there for their errors
    return whole if plain is whole else fit_path(plain.model, plain.courses, iterations=30, cg=40) or plain


def _with_steps(path: Path, tolerance: torch.Tensor) -> list[Course]:
    """The courses with the steps that this model needs along them."""
    out = []
    for course in path.courses:
        one = course.data
        states = roll(path.model, one.network, course.x0, one.spans, course.steps)
        if states is not None:
            steps = steps_needed(path.model, one.network, states[:-1], one.spans, tolerance, 256, RK4)
            if bool((steps > 0).all()):
                course = replace(course, steps=tuple(steps.tolist()))
        out.append(course)
    return out


def _followed(model: Model, data: Sequence[Observations], tolerance: torch.Tensor, iterations: int) -> Path | None:
    courses: list[Course] = []
    for one in data:
        course = course_of(one, model, tolerance)
        if course is None:
            return None
        courses.append(course)
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
    courses = [course_of(one, fit.model, tolerance) for one in data]
    ready = [course for course in courses if course is not None]
    if len(ready) < len(courses):
        return None
    first = fit_path(fit.model, ready, iterations=0)
    if first is None:
        return None
    ridge = fit.ridge * first.count
    done = fit_path(fit.model, ready, iterations=4, ridge=ridge, enough=1e-2)
    return replace(first, ridge=ridge) if done is None or done.chi2 > first.chi2 else done
