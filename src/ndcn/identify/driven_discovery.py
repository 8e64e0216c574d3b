"""From trajectories with inputs to a law with input terms: the autonomous law first, then one input term after the other."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from ..data import Inputs, Trajectory
from ..laws import DrivenForm, Equation, Formula, Term
from .clock import in_time, shown, time_is_over
from .driven_law import CG, law_along, law_of_shots
from .driven_problem import STRAIGHT, driven_problems
from .driven_shots import DrivenFit, DrivenShots, fine_enough, fit_shots
from .equation_fit import EXPLAINED_EXCESS
from .input_quadrature import pieces_of
from .input_search import MOST_INPUT_TERMS, InputSearch, InputTerm
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
from .result import FoundLaw
from .shooting_fit import shots_of
from .trajectory_fit import TrajectoryFit, fit_trajectories
from .trajectory_stages import score
from .trajectory_system import normal_equations, recorded
from .variants import without_terms

logger = logging.getLogger(__name__)

# BIC must fall by so much for each input term: odds of 150 to 1, beyond what BIC calls very strong. In a first trial, by the weak form alone, no
# input of 40 fits was claimed falsely with it; here it is measured on the few fits of docs/interaction.md, Inputs.
LEAST_GAIN = 10.0
# Data rougher than this are taken for noisy. Ten times ``NOISY_ABOVE``, as jumps of the rate make curves without noise rougher; not measured.
SURELY_NOISY = 0.03
NOISY_TOLERANCE = 1e-4  # of integration, as a share of the largest state: well below the noise that is seen
NOISY_INTERVALS = 24
SHOT_INTERVALS = 12  # each has as many rows as there are nodes
SCREENING_ITERATIONS = 12
SCREENING_ENOUGH = 0.03  # a step of first fits must lower the misfit by 3 %
PROMISING_MISFIT = 0.1  # of first fits, with one step a piece, which may itself miss by some percent: one above it is not worth finer ones
RIVAL_ITERATIONS = 8
PRUNING_ITERATIONS = 4  # from values that are exact, but for those of terms that act alike
LAST_ITERATIONS = 8
TRAJECTORY_ITERATIONS = 12
NEAR = 1.02  # times the misfit of the best: those that shots cannot tell from it
TRIED_AT_ONCE = 2  # input terms that are fitted: those that are best to first order
MOST_PIECES = 64  # of an interval between snapshots: a law that needs more has gone astray
FOLLOWED = 2  # candidates of each number of input terms that are followed along whole trajectories
SURE_Z = 30.0  # terms beyond so many standard errors are not tried without: BIC never welcomes their loss


@dataclass(frozen=True)
class DrivenTask:
    """What is to be found, and where."""

    trajectories: Sequence[Trajectory]
    inputs: list[Inputs]  # those that vary, of each trajectory
    what: Interaction
    seed: int

    @property
    def names(self) -> tuple[str, ...]:
        """Of features and inputs in formulas."""
        return formula_names((*self.trajectories[0].features, *self.inputs[0].names))

    @property
    def d(self) -> int:
        """Features."""
        return self.trajectories[0].num_features


def driven_task(trajectories: Sequence[Trajectory], what: Interaction, seed: int) -> DrivenTask | None:
    """What is to be found, with the inputs that vary; None where there are none."""
    driven = [one.inputs for one in trajectories if one.inputs is not None]
    if len(driven) < len(trajectories):
        return None
    varying = [name for name in driven[0].names if not all(one[name].constant for one in driven)]
    return DrivenTask(trajectories, [one.only(varying) for one in driven], what, seed) if varying else None


def find_driven(trajectories: Sequence[Trajectory], what: Interaction, seed: int) -> FoundLaw | None:
    """A law in which inputs act, or None where none of them is needed to explain the data or none varies."""
    task = driven_task(trajectories, what, seed)
    if task is None:
        return None
    rough = max(roughness_of(one) for one in trajectories)
    if rough < SURELY_NOISY and all(one.mask is None for one in trajectories):
        settled, found = _from_snapshots(task, sure=rough < NOISY_ABOVE)
        if settled or rough < CLEAN_BELOW:
            return found
    return _along(task)


def _search(task: DrivenTask, data: Sequence[Observations]) -> InputSearch:
    names = task.names[: task.d]
    ranges = ranges_of(torch.cat([one.level.reshape(-1, task.d) for one in data]))
    terms = library(names, ranges, task.what.terms, task.what.without)
    return InputSearch(data, task.inputs, terms, task.names)


def batches_of(
    task: DrivenTask, data: Sequence[Observations], count: int | None, straight: float = 0.0
) -> list[DrivenShots]:
    """Shots of each trajectory over about so many intervals in all, or over all of them."""
    out = []
    for one, inputs in zip(data, task.inputs, strict=True):
        every = torch.arange(len(one.spans))
        which = every if count is None else spread_intervals(one, max(3, count // len(data)))
        out.append(DrivenShots(shots_of(one, which), pieces_of(inputs, one.times, straight=straight)[which]))
    return out


def used_inputs(task: DrivenTask, terms: Sequence[Term]) -> list[int]:
    """Which inputs are in some terms."""
    words = {word for term in terms for word in re.findall(r"[A-Za-z_]\w*", term.formula.text)}
    return [k for k in range(len(task.inputs[0].drivers)) if task.names[task.d + k] in words]


def _law(task: DrivenTask, equation: Equation) -> DrivenForm | None:
    """The law with the inputs that are in it; None if there are none."""
    names, used = task.names, used_inputs(task, equation.terms)
    if not used:
        return None
    kept = (*names[: task.d], *(names[task.d + k] for k in used))
    drivers = [task.inputs[0].drivers[k] for k in used]
    terms = tuple(replace(term, formula=Formula(term.formula.text, kept)) for term in equation.terms)
    plain = Equation(terms, equation.coefficients, len(kept))
    inputs = {one.name: names[task.d + k] for one, k in zip(drivers, used, strict=True)}
    return DrivenForm(plain, names[: task.d], inputs, [one.name for one in drivers if one.per_node])


# Without noise: shots from snapshot to snapshot ---------------------------------------------------------------------


def _from_snapshots(task: DrivenTask, *, sure: bool) -> tuple[bool, FoundLaw | None]:
    """Whether some equation explains the snapshots to their rounding, and the law if it needs inputs.

    Of data that are not ``sure`` to be free of noise, only the best guess with each number of input terms is tried.
    """
    data = [observed(one, noisy=False) for one in task.trajectories]
    tolerance = CLEAN_TOLERANCE * largest(data)
    for stage in shown(_search(task, data).guesses(), "trying inputs"):
        for guess in in_time(stage if sure else stage[:1]):
            found = fitted_shots(
                guess.equation, batches_of(task, data, SHOT_INTERVALS), tolerance, SCREENING_ITERATIONS
            )
            if found is None:
                continue
            logger.debug("%d inputs %.2e %.2e %s", len(guess.taken), found.misfit, found.excess, found.equation)
            if found.excess >= EXPLAINED_EXCESS:
                continue
            plain = plainest(found, task, data, tolerance)
            whole = fitted_shots(plain.equation, batches_of(task, data, None), tolerance, LAST_ITERATIONS)
            if whole is not None and whole.excess < EXPLAINED_EXCESS:
                return True, _of_shots(task, data, whole)
    return False, None


def fitted_shots(
    equation: Equation, batches: list[DrivenShots], tolerance: torch.Tensor, iterations: int
) -> DrivenFit | None:
    """First with pieces as they are, then with pieces as fine as the law needs."""
    rough = fit_shots(equation, batches, iterations=iterations, enough=SCREENING_ENOUGH)
    if rough is None or rough.misfit > PROMISING_MISFIT:
        return rough
    fine = [fine_enough(rough.equation, one, tolerance) for one in batches]
    return fit_shots(rough.equation, fine, iterations=iterations)


def plainest(found: DrivenFit, task: DrivenTask, data: Sequence[Observations], tolerance: torch.Tensor) -> DrivenFit:
    """Without the terms that are not needed to explain the snapshots, the smallest first."""
    batches = [fine_enough(found.equation, one, tolerance) for one in batches_of(task, data, SHOT_INTERVALS)]
    kept = True
    while kept and len(found.equation.terms) > 1:
        kept = False
        z = found.equation.coefficients.abs() * found.normal.diagonal()[: len(found.equation.terms)].sqrt()
        for k in torch.argsort(z).tolist()[:3]:
            trial = fit_shots(without_terms(found.equation, [k]), batches, iterations=PRUNING_ITERATIONS)
            if trial is not None and trial.excess < max(EXPLAINED_EXCESS / 2, found.excess):
                found, kept = trial, True
                break
    return found


def _of_shots(task: DrivenTask, data: Sequence[Observations], found: DrivenFit) -> FoundLaw | None:
    law = _law(task, found.equation)
    if law is None:
        return None
    reason = (
        f"the closed form with {_listed(law)} explains every snapshot from the one before to {found.excess:.2g} times the rounding; "
        "no closed form without inputs does"
    )
    return law_of_shots(law, data, found, reason, task.seed)


def _listed(law: DrivenForm) -> str:
    return f"the input{'s' * (len(law.inputs) > 1)} {' and '.join(law.inputs)}"


# With noise: along whole trajectories -------------------------------------------------------------------------------


def _along(task: DrivenTask) -> FoundLaw | None:
    """The autonomous law, then one input term at a time while BIC falls, couplings being ranked again with each."""
    data = [observed(one, noisy=True) for one in task.trajectories]
    tolerance = NOISY_TOLERANCE * largest(data)
    search = _search(task, data)
    bare = best_along(task, data, [guess.equation for guess in search.ranked([])], tolerance)
    if bare is None:
        return None
    best = bare = pruned_along(bare)
    taken: list[InputTerm] = []
    while len(taken) < MOST_INPUT_TERMS and not time_is_over():
        found: list[tuple[TrajectoryFit, InputTerm]] = []
        for new in _promising(search, best, taken):
            wider = fit_trajectories(
                search.tied(search.extended(_equation(best), new)),
                best.problems,
                iterations=TRAJECTORY_ITERATIONS,
                enough=1e-3,
                cg=CG,
            )
            guesses = [search.tied(guess.equation) for guess in search.ranked([*taken, new])]
            others = best_along(task, data, guesses, tolerance)
            found += [(fitted, new) for fitted in (wider, others) if fitted is not None]
        if not found:
            break
        better, added = min(found, key=lambda pair: score(pair[0]))
        better = pruned_along(better)
        logger.debug("%s: score %.1f, excess %.3f: %s", added, score(better), better.excess, better.model)
        if score(better) + LEAST_GAIN >= score(best):
            break
        best, taken = better, [*taken, added]
    best = best if best is bare else _plainer(search, best)
    law = _law(task, _equation(best))
    return None if law is None else _of_trajectories(task, data, best, law, score(bare) - score(best))


def _plainer(search: InputSearch, best: TrajectoryFit) -> TrajectoryFit:
    """With others in the place of couplings with parameters, those without any first, where BIC welcomes it.

    Shots of a few intervals, by which couplings were ranked, hardly tell x_j^3/(K^3 + x_j^3) from x_j^2/(K^2 + x_j^2).
    """
    for k, term in enumerate(_equation(best).terms):
        for other in search.nearly(term):
            equation = _equation(best)
            swapped = replace(equation, terms=(*equation.terms[:k], other, *equation.terms[k + 1 :]))
            trial = fit_trajectories(swapped, best.problems, iterations=RIVAL_ITERATIONS, enough=1e-3, cg=CG)
            price = LEAST_GAIN * (len(other.values) > len(_equation(best).terms[k].values))
            if trial is not None and score(trial) + price < score(best):
                best = trial
    return best


def _equation(fitted: TrajectoryFit) -> Equation:
    assert isinstance(fitted.model, Equation)
    return fitted.model


def _promising(search: InputSearch, best: TrajectoryFit, taken: Sequence[InputTerm]) -> list[InputTerm]:
    """The input terms that would lower chi^2 most, to first order: one tape tells it of all of them."""
    equation, places = _equation(best), []
    for new in search.input_terms():
        wider = search.extended(equation, new)
        if new not in taken and len(wider.terms) > len(equation.terms):
            places.append((new, len(wider.terms) - 1))
            equation = wider
    inner = sum(len(t.values) for t in equation.terms)
    tapes = recorded(equation, best.problems)
    if tapes is None or not places:
        return []
    normal = normal_equations(equation, tapes, best.problems, move_initial=True, cg=CG, unit=1.0)
    first = list(range(len(_equation(best).terms)))
    own = len(equation.terms) + sum(len(t.values) for t in _equation(best).terms)
    first += range(len(equation.terms), min(own, len(equation.terms) + inner))
    gains = []
    for new, k in places:
        index = [*first, k]
        A, b = normal.normal[index][:, index], normal.gradient[index, 0]
        gains.append((float(b @ pseudo_inverse(A) @ b), new))
    gains.sort(key=lambda pair: -pair[0])
    logger.debug("gains to first order: %s", [(round(gain), new.kind, new.input) for gain, new in gains[:4]])
    return [new for gain, new in gains[:TRIED_AT_ONCE] if gain > LEAST_GAIN]


def best_along(
    task: DrivenTask, data: list[Observations], equations: Sequence[Equation], tolerance: torch.Tensor
) -> TrajectoryFit | None:
    """The best of some equations along whole trajectories, without the terms whose loss BIC welcomes."""
    batches = batches_of(task, data, NOISY_INTERVALS, STRAIGHT)
    fits = [fit_shots(one, batches, iterations=SCREENING_ITERATIONS, enough=1e-3) for one in equations]
    ranked = sorted((one for one in fits if one is not None), key=lambda one: one.misfit)
    near = [one for one in ranked[:FOLLOWED] if one.misfit < NEAR * ranked[0].misfit]
    best: TrajectoryFit | None = None
    for one in in_time(near):
        problems = driven_problems(data, task.inputs, one.equation, tolerance)
        if any(p.pieces is None or p.pieces.count > MOST_PIECES for p in problems):
            continue
        found = fit_trajectories(one.equation, problems, iterations=TRAJECTORY_ITERATIONS, enough=1e-3, cg=CG)
        if found is not None and (best is None or score(found) < score(best)):
            best = found
    return best


def pruned_along(fitted: TrajectoryFit) -> TrajectoryFit:
    """Without the terms whose loss BIC welcomes, one by one."""
    dropped = True
    while dropped and not time_is_over():
        dropped = False
        model = fitted.model
        assert isinstance(model, Equation)
        if len(model.terms) < 2:
            break
        z = model.coefficients.abs() / fitted.covariance().diagonal()[: len(model.terms)].clamp(min=1e-300).sqrt()
        for k in torch.argsort(z).tolist()[:2]:
            if z[k] > SURE_Z:
                break
            trial = fit_trajectories(
                without_terms(model, [k]), fitted.problems, iterations=PRUNING_ITERATIONS, enough=1e-3, cg=CG
            )
            if trial is not None and score(trial) < score(fitted):
                fitted, dropped = trial, True
                break
    return fitted


def _of_trajectories(
    task: DrivenTask, data: list[Observations], best: TrajectoryFit, law: DrivenForm, gain: float | None
) -> FoundLaw:
    than = (
        "no law without inputs could be followed" if gain is None else f"BIC is lower by {gain:.0f} than without inputs"
    )

    def named(equation: Equation) -> DrivenForm:
        return _law(task, equation) or law

    return law_along(best, data, named, f"the closed form with {_listed(law)}", than, task.seed)
