"""Explicit time: a season, a trend, or one step at an unknown time, each judged against the others and against a law without time."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from ..data import Inputs, Trajectory, clock_inputs
from ..laws import ClosedForm, Equation, Formula, Law, Term, TimedForm, kind_of
from .clock import in_time, shown, time_is_over
from .driven_discovery import (
    LAST_ITERATIONS,
    LEAST_GAIN,
    NOISY_INTERVALS,
    NOISY_TOLERANCE,
    PRUNING_ITERATIONS,
    SCREENING_ITERATIONS,
    SHOT_INTERVALS,
    SURELY_NOISY,
    TRAJECTORY_ITERATIONS,
    DrivenTask,
    batches_of,
    best_along,
    fitted_shots,
    plainest,
    pruned_along,
)
from .driven_law import CG, law_along, law_of_shots
from .driven_problem import driven_problems
from .driven_shots import DrivenShots, fine_enough, fit_shots
from .equation_fit import EXPLAINED_EXCESS
from .input_quadrature import pieces_of
from .interaction import Interaction
from .library import formula_names, library, ranges_of
from .observations import (
    CLEAN_BELOW,
    CLEAN_TOLERANCE,
    NOISY_ABOVE,
    Observations,
    largest,
    observed,
    roughness_of,
    spread_intervals,
)
from .posterior import pseudo_inverse
from .residual_noise import UNDERESTIMATED_BY, residuals_are_noise
from .result import FoundLaw
from .shooting_fit import shots_of
from .step_time import Step, moved_step
from .time_scan import KINDS, TURN, TimeGuess, TimeScan
from .trajectory_fit import TrajectoryFit, fit_trajectories
from .trajectory_stages import begun_from, score

logger = logging.getLogger(__name__)

GUESSES = 6  # of each kind that are fitted: ways to act and couplings that the weak form can hardly tell apart
RECOUPLED = 14  # of the best kind that are fitted to shots in the end
RECOUPLED_FOLLOWED = 6  # of these that are followed along whole trajectories
LONGEST = 1.1  # windows: a season of which less than about one period was seen is not told from other curves
ARTICLES = {"season": "a season", "trend": "a linear trend", "step": "a step"}


@dataclass(frozen=True)
class _TimeTask:
    """Trajectories, and the names in formulas."""

    trajectories: Sequence[Trajectory]
    what: Interaction
    seed: int

    @property
    def names(self) -> tuple[str, ...]:
        """Of features, time and a step."""
        return formula_names((*self.trajectories[0].features, "t", "step"))

    def with_inputs(self, inputs: Inputs) -> DrivenTask:
        """With functions of time as inputs of every trajectory."""
        return DrivenTask(self.trajectories, [inputs] * len(self.trajectories), self.what, self.seed)


@dataclass(frozen=True)
class _Judged:
    """The best law of one kind along noisy trajectories."""

    kind: str
    fit: TrajectoryFit
    bic: float
    clock: dict[str, float | None]
    step_error: float = math.nan


def find_timed(trajectories: Sequence[Trajectory], what: Interaction, seed: int, alone: Law | None) -> FoundLaw | None:
    """A law with a season, a trend or a step that explains the data, or None; ``alone`` is the best one without time."""
    task = _TimeTask(trajectories, what, seed)
    rough = max(roughness_of(one) for one in trajectories)
    complete = all(one.mask is None for one in trajectories)
    if rough < SURELY_NOISY and complete:
        found = _from_snapshots(task, GUESSES if rough < NOISY_ABOVE else 1)
        if found is not None or rough < CLEAN_BELOW:
            return found
    return None if rough < NOISY_ABOVE and not complete else _along(task, alone)


def _scan(task: _TimeTask, data: Sequence[Observations]) -> TimeScan:
    d, names = task.trajectories[0].num_features, task.names
    ranges = ranges_of(torch.cat([one.level.reshape(-1, d) for one in data]))
    return TimeScan(data, library(names[:d], ranges, task.what.terms, task.what.without), names[:d], *names[d:])


def _clock(scan: TimeScan, guess: TimeGuess) -> dict[str, float | None]:
    return {scan.clock_name(guess.kind): guess.number if guess.kind == "step" else None}


def _seen(equation: Equation, scan: TimeScan, kind: str) -> bool:
    """Whether the function of time is still in an equation, and its period was seen."""
    clock = {scan.time: None, scan.step: 0.0}
    terms = [term for term in equation.terms if kind_of(term.formula.text, clock) == kind]
    longest = LONGEST * (scan.window[1] - scan.window[0])
    return bool(terms) and (kind != "season" or all(TURN / abs(_omega(term)) < longest for term in terms))


def _omega(term: Term) -> float:
    return dict(zip(term.formula.parameters, term.values, strict=True))["omega"]


# Without noise ------------------------------------------------------------------------------------------------------


def _from_snapshots(task: _TimeTask, most: int) -> FoundLaw | None:
    """The first guess with time, of so many of each kind, that explains every snapshot from the one before to its rounding."""
    data = [observed(one, noisy=False) for one in task.trajectories]
    if any(one.gaps for one in data):
        return None
    tolerance = CLEAN_TOLERANCE * largest(data)
    scan = _scan(task, data)
    guesses = [guess for kind in KINDS for guess in scan.guesses(kind, most)]
    guesses.sort(key=lambda one: one.log_rest)
    for guess in in_time(shown(guesses, "trying time")):
        found = _shot(task, data, scan, guess, tolerance)
        if found is not None:
            return found
    return None


def _shot(
    task: _TimeTask, data: list[Observations], scan: TimeScan, guess: TimeGuess, tolerance: torch.Tensor
) -> FoundLaw | None:
    clock = _clock(scan, guess)
    driven = task.with_inputs(clock_inputs(clock))
    step_time = guess.number if guess.kind == "step" else None
    first = _shots(data, clock_inputs(clock), away_from=step_time)
    found = fitted_shots(guess.equation, first, tolerance, SCREENING_ITERATIONS)
    if found is None:
        return None
    logger.debug("%s %.5g: %.2e %.2e %s", guess.kind, guess.number, found.misfit, found.excess, found.equation)
    error = math.nan
    if found.excess >= EXPLAINED_EXCESS:
        return None
    if guess.kind == "step":
        step = _step_of_shots(data, scan, found.equation, guess.number, tolerance)
        if step is None:
            return None
        clock, error = {scan.step: step.at}, step.error
        driven = task.with_inputs(clock_inputs(clock))
        found = replace(found, equation=step.equation)
    plain = plainest(found, driven, data, tolerance)
    whole = fitted_shots(plain.equation, batches_of(driven, data, None), tolerance, LAST_ITERATIONS)
    if whole is None or whole.excess >= EXPLAINED_EXCESS or not _seen(whole.equation, scan, guess.kind):
        return None
    law = TimedForm(whole.equation, scan.names, clock, error)
    reason = (
        f"the closed form with {_words(law)} explains every snapshot from the one before to {whole.excess:.2g} times the rounding; "
        "no closed form without time does"
    )
    return law_of_shots(law, data, whole, reason, task.seed)


def _shots(
    data: Sequence[Observations],
    inputs: Inputs,
    *,
    near: float | None = None,
    away_from: float | None = None,
    count: int = SHOT_INTERVALS,
) -> list[DrivenShots]:
    """Shots over some intervals of each trajectory: also those around a time, or none of these."""
    out = []
    for one in data:
        which = spread_intervals(one, max(3, count // len(data)))
        for time, wanted in ((near, True), (away_from, False)):
            if time is not None:
                k = int(torch.searchsorted(one.times, time)) - 1
                around = torch.arange(max(0, k - 1), min(len(one.spans), k + 2))
                which = which[~torch.isin(which, around)]
                which = torch.cat([which, around]).sort().values if wanted else which
        out.append(DrivenShots(shots_of(one, which), pieces_of(inputs, one.times)[which]))
    return out


def _step_of_shots(
    data: list[Observations], scan: TimeScan, equation: Equation, at: float, tolerance: torch.Tensor
) -> Step | None:
    def fit(wide: Equation, inputs: Inputs) -> tuple[Equation, float] | None:
        batches = [fine_enough(wide, one, tolerance) for one in _shots(data, inputs, near=at)]
        found = fit_shots(wide, batches, iterations=PRUNING_ITERATIONS)
        if found is None:
            return None
        last = len(wide.terms) - 1
        return (found.equation, found.misfit * float(pseudo_inverse(found.normal)[last, last]) ** 0.5)

    return moved_step(equation, scan.step, at, scan.window, _width(data), fit)


def _width(data: Sequence[Observations]) -> float:
    return float(torch.cat([one.spans for one in data]).median())


# With noise ---------------------------------------------------------------------------------------------------------


def _along(task: _TimeTask, alone: Law | None) -> FoundLaw | None:
    data = [observed(one, noisy=True) for one in task.trajectories]
    if any(one.gaps for one in data):
        return None
    tolerance = NOISY_TOLERANCE * largest(data)
    scan = _scan(task, data)
    bare = _bare(task, data, scan, alone, tolerance)
    judged = [one for kind in shown(KINDS, "trying time") if (one := _judged(task, data, scan, kind, tolerance))]
    if not judged or time_is_over():
        return None
    judged.sort(key=lambda one: one.bic)
    if judged[0].fit.excess > UNDERESTIMATED_BY:
        return None
    best = judged[0] = _recoupled(judged[0], data, scan, tolerance)
    gain = math.inf if bare is None else score(bare) - best.bic
    logger.debug(
        "without time %s; %s",
        bare and score(bare),
        [(one.kind, round(one.bic), round(one.fit.excess, 3)) for one in judged],
    )
    if gain < LEAST_GAIN or not residuals_are_noise(best.fit):
        return None

    def named(equation: Equation) -> TimedForm:
        return TimedForm(equation, scan.names, best.clock, best.step_error)

    assert isinstance(best.fit.model, Equation)
    found = law_along(
        best.fit, data, named, f"the closed form with {_words(named(best.fit.model))}", _than(gain, judged), task.seed
    )
    assert isinstance(found.law, TimedForm)
    return found if _seen(found.law.equation, scan, best.kind) and found.evidence.explained else None


def _than(gain: float, judged: Sequence[_Judged]) -> str:
    """By how much the best is better than without time and than the other kinds, in words."""
    bare = (
        "no law without time could be followed" if gain == math.inf else f"BIC is lower by {gain:.0f} than without time"
    )
    others = [f"by {one.bic - judged[0].bic:.0f} than with {ARTICLES[one.kind]}" for one in judged[1:]]
    lost = [kind for kind in KINDS if kind not in {one.kind for one in judged}]
    others += [f"and it is better than with {ARTICLES[kind]}, where no law could be followed" for kind in lost]
    said = ", ".join([bare, *others])
    alike = [ARTICLES[one.kind] for one in judged[1:] if one.bic - judged[0].bic < LEAST_GAIN]
    return f"{said}; {' and '.join(alike)} cannot be told apart from it" if alike else said


def _bare(
    task: _TimeTask, data: list[Observations], scan: TimeScan, alone: Law | None, tolerance: torch.Tensor
) -> TrajectoryFit | None:
    """The best law without time, fitted in the same way."""
    names = (*scan.names, scan.time)
    options = [scan.bare()]
    if type(alone) is ClosedForm and alone.divided_by is None and alone.map_step is None:
        options.append(alone.equation)
    equations = [
        replace(
            one, terms=tuple(replace(t, formula=Formula(t.formula.text, names)) for t in one.terms), features=len(names)
        )
        for one in options
    ]
    found = best_along(task.with_inputs(clock_inputs({scan.time: None})), data, equations, tolerance)
    return None if found is None else pruned_along(found)


def _judged(
    task: _TimeTask, data: list[Observations], scan: TimeScan, kind: str, tolerance: torch.Tensor
) -> _Judged | None:
    """The best law with one kind of function of time, at the price of its parameters and of the scan."""
    if time_is_over():
        return None
    best: TrajectoryFit | None = None
    clock: dict[str, float | None] = {}
    for guess_clock, equations in _by_clock(scan, kind):
        found = best_along(task.with_inputs(clock_inputs(guess_clock)), data, equations, tolerance)
        if found is not None and (best is None or score(found) < score(best)):
            best, clock = found, guess_clock
    if best is None:
        return None
    step: Step | None = None
    if kind == "step":
        assert isinstance(best.model, Equation)
        step = _step_along(data, scan, best, clock[scan.step] or 0.0, tolerance)
        if step is None:
            return None
        clock = {scan.step: step.at}
        best = _again(data, step.equation, clock_inputs(clock), best, tolerance)
        if best is None:
            return None
    best = pruned_along(best)
    assert isinstance(best.model, Equation)
    if not _seen(best.model, scan, kind):
        return None
    more = math.log(best.count) if step is not None else 0.0
    bic = score(best) + more + 2 * math.log(len(scan.numbers(kind)))
    return _Judged(kind, best, bic, clock, math.nan if step is None else step.error)


def _recoupled(best: _Judged, data: list[Observations], scan: TimeScan, tolerance: torch.Tensor) -> _Judged:
    """With another coupling, or the function of time acting in another way, where BIC is lower: all that the scan ranks high are followed."""
    inputs = clock_inputs(best.clock)
    batches = _shots(data, inputs, count=NOISY_INTERVALS)
    fits = []
    for guess in in_time(scan.guesses(best.kind, RECOUPLED)):
        found = fit_shots(guess.equation, batches, iterations=SCREENING_ITERATIONS, enough=1e-3)
        if found is not None:
            fits.append(found)
    for one in in_time(sorted(fits, key=lambda one: one.misfit)[:RECOUPLED_FOLLOWED]):
        assert isinstance(best.fit.model, Equation)
        if set(one.equation.families) >= set(best.fit.model.families):
            continue
        trial = _again(data, one.equation, inputs, best.fit, tolerance, iterations=TRAJECTORY_ITERATIONS)
        if trial is None:
            continue
        trial = pruned_along(trial)
        assert isinstance(trial.model, Equation)
        bic = best.bic - score(best.fit) + score(trial)
        logger.debug("coupling %.1f beside %.1f: %s", bic, best.bic, trial.model)
        if bic < best.bic and _seen(trial.model, scan, best.kind):
            best = replace(best, fit=trial, bic=bic)
    return best


def _by_clock(scan: TimeScan, kind: str) -> list[tuple[dict[str, float | None], list[Equation]]]:
    """Guesses that can be fitted side by side: those with the same step time."""
    guesses = scan.guesses(kind, GUESSES)
    if kind != "step":
        return [({scan.time: None}, [one.equation for one in guesses])] if guesses else []
    near = [one for one in guesses if abs(one.number - guesses[0].number) < 2 * _width(scan.data)]
    return [({scan.step: guesses[0].number}, [one.equation for one in near])] if near else []


def _again(
    data: list[Observations],
    equation: Equation,
    inputs: Inputs,
    before: TrajectoryFit,
    tolerance: torch.Tensor,
    iterations: int = PRUNING_ITERATIONS,
) -> TrajectoryFit | None:
    """A few more iterations with other inputs, from the initial states of the fit before."""
    problems = begun_from(before, driven_problems(data, [inputs] * len(data), equation, tolerance))
    return fit_trajectories(equation, problems, iterations=iterations, enough=1e-3, cg=CG)


def _step_along(
    data: list[Observations], scan: TimeScan, best: TrajectoryFit, at: float, tolerance: torch.Tensor
) -> Step | None:
    def fit(wide: Equation, inputs: Inputs) -> tuple[Equation, float] | None:
        found = _again(data, wide, inputs, best, tolerance)
        if found is None or not isinstance(found.model, Equation):
            return None
        place = len(wide.terms) - 1
        return found.model, float(found.covariance()[place, place]) ** 0.5

    assert isinstance(best.model, Equation)
    return moved_step(best.model, scan.step, at, scan.window, _width(data), fit)


def _words(law: TimedForm) -> str:
    """What of time is in a law: "a season of period 2.5", "a step at t = 3"."""
    numbers = {"season": f" of period {law.period:.4g}", "step": f" at t = {law.step_time:.4g}", "trend": ""}
    return " and ".join(ARTICLES[kind] + numbers[kind] for kind in law.kinds)
