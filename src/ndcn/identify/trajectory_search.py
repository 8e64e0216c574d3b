"""Closed forms along whole trajectories, with their initial states: for noise and gaps."""

from __future__ import annotations

import functools
import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from ..laws import Equation
from .clock import followed, in_time, noted, shown, time_is_over
from .observations import Observations
from .posterior import pseudo_inverse
from .search import Search
from .trajectory_fit import TrajectoryFit, fit_trajectories, objective
from .trajectory_problem import TrajectoryProblem, problems_for
from .trajectory_stages import begun_from, chi2_for, coarse, fit_horizon, freedom, score, with_exact_steps
from .variants import grown_from, likeliest_without, simpler, without_terms

logger = logging.getLogger(__name__)

# Shares of all motion through which a candidate follows the data in turn (docs/interaction.md, How it works, 9): from a poor guess a whole
# trajectory leads nowhere, and a wrong candidate is found out in the first fifth.
FORMULA_HORIZONS = (0.2, 0.45, 0.7, 1.0)
# Residuals below so many times the noise leave nothing for another law to explain: 1 is perfect, and 400 nodes at 80 snapshots tell it to
# 1 / sqrt(2 * 32000) = 0.4 %; what remains is for noise that a smooth path underestimates.
NOTHING_LEFT_EXCESS = 1.05
AS_GOOD = 1.05  # times the residuals of splines: a formula within 5 % of them explains as much, and says more
EXPLAINED = NOTHING_LEFT_EXCESS**2  # of chi^2, for each residual
NEAR_EXCESS = 2.0  # a candidate below it shows that good ones are among the first: fewer of the others are tried
TRIED_IF_NEAR = 8  # candidates of each kind in noise, once one is near, and of curved ones in any case
TRIED = 16  # else: those that come first may all be wrong
LED_TO_THE_END = 6  # candidates in gaps that explain the first horizon best
SETTLED = 2  # candidates of those that do not explain the data that are fitted further; one less where another does

# Iterations of Gauss-Newton, and by which share one must lower chi^2: bounds on time, loose while candidates are compared.
ENOUGH = 1e-3
SCREENING_ITERATIONS = 5
SETTLING_ITERATIONS = 10
PLAINER_ITERATIONS = 6
LAST_ITERATIONS = 30

# Of BIC, "very strong" evidence of Kass and Raftery (J. Am. Stat. Assoc. 90, 1995): of many rivals with one number more, one is better by chance.
FAR = 10.0
# Rivals that may come so near are fitted to the end: noise that depends on the states moves with them, which the linear model leaves out.
NEARLY = 1.01
SURE_RISE = 900.0  # of chi^2 by the linear model: beyond it BIC never welcomes the loss of a term, as 900 > log(count)

_fit = functools.partial(fit_trajectories, enough=ENOUGH)


def closed_form_along(search: Search, data: Sequence[Observations], tolerance: torch.Tensor) -> TrajectoryFit | None:
    """The closed form that follows the data best; None if all diverge.

    In gaps, candidates are integrated in few steps and compared by what they miss beyond the errors of these; one that misses
    nothing is fitted to the last digit.
    """
    gaps = any(one.gaps for one in data)
    if gaps:
        rough, coarse_data = coarse(data, tolerance)
        candidates = _through_gaps(search, coarse_data, rough)
    explained: list[TrajectoryFit] = []  # best last
    rivals: list[TrajectoryFit] = []  # that explain the data no better
    if not gaps:
        candidates = _through_noise(search, data, tolerance, explained, rivals)
    unexplained: list[TrajectoryFit] = []
    complete: list[TrajectoryFit | None] = []
    for fitted in in_time(candidates):
        assert isinstance(fitted.model, Equation)
        logger.debug("along trajectories %.3f %s", fitted.excess, fitted.model)
        (noted if gaps else followed)(fitted.excess)
        if fitted.excess >= NOTHING_LEFT_EXCESS:
            unexplained.append(fitted)
            continue
        near = _settled(fitted, explained)
        if explained and not _likelier(near, explained[-1]):
            if near.excess < NOTHING_LEFT_EXCESS:
                rivals.append(near)
            continue
        done = _completed(near, data, tolerance, search)
        if done is None or done.excess >= NOTHING_LEFT_EXCESS:
            complete.append(done)
        elif gaps:
            return done
        elif not explained or _likelier(done, explained[-1]):
            explained.append(done)
    settled = [
        _settled(fitted, explained) for fitted in in_time(sorted(unexplained, key=score)[: SETTLED - bool(explained)])
    ]
    settled = [one for one in settled if not explained or _likelier(one, explained[-1])]
    if settled:
        complete.append(_completed(min(settled, key=score), data, tolerance, search))
    best = explained[-1] if explained else None
    for done in complete:
        if done is not None and (best is None or _likelier(done, best)):
            best = done
    return best


def _likelier(one: TrajectoryFit, than: TrajectoryFit) -> bool:
    """Whether BIC prefers it, and by far if it has more numbers."""
    return score(one) < score(than) - FAR * (freedom(one) > freedom(than))


def _through_noise(
    search: Search,
    data: Sequence[Observations],
    tolerance: torch.Tensor,
    explained: Sequence[TrajectoryFit],
    rivals: Sequence[TrajectoryFit],
) -> Iterator[TrajectoryFit]:
    """Candidates that a few intervals speak for, followed along the data, as far as they may be better than those that ``explained`` it."""
    known = all(bool(one.seen[0].all()) for one in data)  # good enough to compare models; moved only for the best
    tried: list[bool] = []
    near = False
    scores: list[float] = []
    listed = [*search.leads, *_in_turn(search, [found.equation for found in search.shortlist()])]
    for equation in shown(list(listed), "following trajectories"):
        curved = _curved(equation)
        if tried.count(curved) >= (TRIED_IF_NEAR if near or curved else TRIED):
            continue
        tried.append(curved)
        begun = _begun(equation, [*explained[-1:], *rivals])
        if begun is not None:
            yield from _richer(*begun, explained[-1])
            continue
        problems = problems_for(data, equation, tolerance)
        if problems is None:
            continue
        if explained:
            problems = begun_from(explained[-1], problems)
        count = sum(int(problem.data.seen[1:].sum()) for problem in problems)
        best = sorted(scores)[SETTLED - 1] if len(scores) >= SETTLED else math.inf  # others are not fitted further
        least = NEARLY * chi2_for(best, len(equation.parameters), count) if math.isfinite(best) else math.inf
        least = max(least, EXPLAINED * count)
        if explained:
            least = _may_win(explained[-1], len(equation.parameters))
        fitted = _fit(equation, problems, iterations=SCREENING_ITERATIONS, move_initial=not known, least=least)
        if fitted is not None:
            if fitted.excess >= NOTHING_LEFT_EXCESS:
                scores.append(score(fitted))
            near = near or fitted.excess < NEAR_EXCESS
            yield fitted


def _begun(equation: Equation, known: Sequence[TrajectoryFit]) -> tuple[Equation, TrajectoryFit] | None:
    """The equation as a known fit with further terms, still 0, and that fit; None if it is no such thing."""
    for plain in known:
        grown = grown_from(plain.model, equation)
        if grown is not None:
            return grown, plain
    return None


def _richer(equation: Equation, plain: TrajectoryFit, best: TrajectoryFit) -> Iterator[TrajectoryFit]:
    """An equation that begins where a plainer one ended, if it gets so near to the data that it may be better than the best."""
    numbers = len(plain.model.parameters) + 1
    least = chi2_for(score(best) - FAR * (numbers > freedom(best)), numbers, best.count)
    fitted = _fit(equation, plain.problems, iterations=SCREENING_ITERATIONS, least=least)
    if fitted is not None and fitted.chi2 < least:
        yield fitted


def _through_gaps(search: Search, data: Sequence[Observations], tolerance: torch.Tensor) -> Iterator[TrajectoryFit]:
    """Candidates of the weak form (shots would start from states that are not known), best first.

    They are followed for as long as it takes to see them fail: through the beginning of the data, and those that do best
    there ever further.
    """
    begun: list[tuple[Equation, TrajectoryFit]] = []
    for equation in _in_turn(search, search.guesses()):
        fitted = fit_horizon(equation, None, data, FORMULA_HORIZONS[0], tolerance)
        if fitted is None:
            continue
        logger.debug("first horizon %.3f %s", fitted.excess, fitted.model)
        if fitted.excess < NOTHING_LEFT_EXCESS:
            yield from _to_the_end(fitted, data, tolerance)
        else:
            begun.append((equation, fitted))
    for fitted in _from_other_starts(search, [equation for equation, _ in begun], data, tolerance):
        yield from _to_the_end(fitted, data, tolerance)
    for fitted in sorted((one for _, one in begun), key=score)[:LED_TO_THE_END]:
        yield from _to_the_end(fitted, data, tolerance)


def _from_other_starts(
    search: Search, equations: Sequence[Equation], data: Sequence[Observations], tolerance: torch.Tensor
) -> Iterator[TrajectoryFit]:
    """Couplings of two parameters from all their starting values: those that explain the first horizon.

    The weak form chose the values by a path through gaps; from them a fit may not find the way.
    """
    tried = set()
    for equation in in_time(equations):
        hard = [k for k, term in enumerate(equation.terms) if term.coupling and len(term.values) > 1]
        if len(hard) != 1 or _curved(equation) or equation.terms[hard[0]].family in tried:
            continue
        chosen = equation.terms[hard[0]]
        tried.add(chosen.family)
        for start in in_time([one for one in search.terms if one.family == chosen.family and one != chosen]):
            terms = (*equation.terms[: hard[0]], start, *equation.terms[hard[0] + 1 :])
            fitted = fit_horizon(replace(equation, terms=terms), None, data, FORMULA_HORIZONS[0], tolerance)
            if fitted is not None and fitted.excess < NOTHING_LEFT_EXCESS:
                logger.debug("from another start %.3f %s", fitted.excess, fitted.model)
                yield fitted
                break


def _to_the_end(
    fitted: TrajectoryFit, data: Sequence[Observations], tolerance: torch.Tensor
) -> Iterator[TrajectoryFit]:
    """A fit through the first horizon, led through all of the data if it can be."""
    for share in FORMULA_HORIZONS[1:]:
        further = fit_horizon(fitted.model, fitted, data, share, tolerance)
        if further is None:
            return
        fitted = further
    yield fitted


def _in_turn(search: Search, equations: Sequence[Equation]) -> list[Equation]:
    """One of each kind, the base alone first, which may be the whole law, and those with curved self terms last."""
    bare = search.bare()
    distinct: dict[tuple[tuple[str, bool, int], ...], Equation] = {}
    for equation in (bare, *equations):
        if equation is not None:
            distinct.setdefault(equation.families, equation)
    return sorted(distinct.values(), key=_curved)


def _curved(equation: Equation) -> bool:
    """Whether a self term has parameters inside: it can bend to whatever a path through noise or gaps does."""
    return any(term.values and not term.coupling for term in equation.terms)


def _settled(fitted: TrajectoryFit, explained: Sequence[TrajectoryFit]) -> TrajectoryFit:
    """Fitted further, as far as it may be better than those that explain the data, without the terms it does not need."""
    if time_is_over():
        return fitted
    least = _may_win(explained[-1], 1) if explained else math.inf
    settled = _fit(fitted.model, fitted.problems, iterations=SETTLING_ITERATIONS, least=least) or fitted
    if settled.chi2 < least:
        settled = _pruned(settled)
    logger.debug("then %.3f %s", settled.excess, settled.model)
    return settled


def _completed(
    fitted: TrajectoryFit, data: Sequence[Observations], tolerance: torch.Tensor, search: Search
) -> TrajectoryFit | None:
    """As plain as can be, and fitted to the data themselves, with all steps that takes; None if they lead nowhere."""
    if time_is_over():
        return fitted
    fitted = _plainer(fitted, data, search)
    problems = with_exact_steps(fitted, data, tolerance)
    whole = fit_trajectories(fitted.model, problems, iterations=LAST_ITERATIONS)
    if whole is None:
        return None
    plain = _pruned(whole)  # with all steps it may turn out that a term was there for their errors
    if plain is whole:
        return whole
    return fit_trajectories(plain.model, plain.problems, iterations=LAST_ITERATIONS) or plain


def _plainer(fitted: TrajectoryFit, data: Sequence[Observations], search: Search) -> TrajectoryFit:
    """With plainer terms in place of those with parameters inside, as far as BIC prefers them."""
    assert isinstance(fitted.model, Equation)
    nearest = {one.families: one for one in reversed(simpler(fitted.model, data, search.terms))}
    for equation in nearest.values():
        plainer = _rival(equation, fitted.problems, fitted, PLAINER_ITERATIONS)
        if plainer is not None and score(plainer) < score(fitted):
            fitted = _pruned(plainer)
    return fitted


def plainest(fitted: TrajectoryFit, data: Sequence[Observations], search: Search) -> TrajectoryFit:
    """As plain as can be by the noise that it has now: a term, or a parameter inside one, may have been there for noise that was misjudged."""
    if time_is_over():
        return fitted
    plain = _plainer(_pruned(fitted), data, search)
    if plain is fitted:
        return plain
    return fit_trajectories(plain.model, plain.problems, iterations=LAST_ITERATIONS) or plain


def as_good(closed: TrajectoryFit, free: TrajectoryFit) -> bool:
    """Whether what splines explain beyond a formula is little, or no more than so many of them explain of noise."""
    return closed.excess < AS_GOOD * free.excess or score(closed) < score(free)


def _pruned(fitted: TrajectoryFit) -> TrajectoryFit:
    """Without the terms whose loss BIC welcomes: many at once while many are doubtful, then one by one."""
    while (shorter := _without_some(fitted)) is not None:
        fitted = shorter
    return fitted


def _without_some(fitted: TrajectoryFit) -> TrajectoryFit | None:
    """Without one or several terms; None if all are needed."""
    model = fitted.model
    assert isinstance(model, Equation)
    for drop in _droppable(fitted, model):
        trial = _rival(*_shorter(fitted, model, drop), fitted, SCREENING_ITERATIONS)
        if trial is not None and score(trial) < score(fitted):
            return trial
    return None


def _shorter(
    fitted: TrajectoryFit, model: Equation, drop: Sequence[int]
) -> tuple[Equation, Sequence[TrajectoryProblem]]:
    """Without these terms, all else moved to where the linear model has it then, if that is nearer to the data."""
    moved = likeliest_without(model, drop, fitted.covariance())
    options = [
        (without_terms(model.with_parameters(moved), drop), fitted.following(moved)),
        (without_terms(model, drop), fitted.problems),
    ]
    chi2s = [(objective(*one) or (math.inf,))[0] for one in options]
    return options[int(chi2s[1] < chi2s[0])]


def _rival(
    equation: Equation, problems: Sequence[TrajectoryProblem], fitted: TrajectoryFit, iterations: int
) -> TrajectoryFit | None:
    """Another equation, fitted to the same, as far as it may be better."""
    least = _may_win(fitted, len(equation.parameters))
    return _fit(equation, problems, iterations=iterations, least=least)


def _may_win(against: TrajectoryFit, numbers: int) -> float:
    """The chi^2 to which an equation of so many numbers must come to be worth fitting to the end."""
    return NEARLY * chi2_for(score(against), numbers, against.count)


def _droppable(fitted: TrajectoryFit, model: Equation) -> list[list[int]]:
    """Sets of terms that may be needless, in the order to try them."""
    needed = int(model.base is None)  # without a base a law has at least one term
    if len(model.terms) <= needed:
        return []
    needless = _needless(fitted, model)[: len(model.terms) - needed]
    drops: list[list[int]] = []
    while len(needless) > 1:
        drops.append(needless)
        needless = needless[: len(needless) // 2]
    alone = sorted((_rise(fitted, model, [k]), k) for k in range(len(model.terms)))
    return [*drops, *([k] for rise, k in alone[:2] if rise <= SURE_RISE)]


def _needless(fitted: TrajectoryFit, model: Equation) -> list[int]:
    """Terms, one after the other, whose loss BIC welcomes by the linear model."""
    dropped: list[int] = []
    before = 0.0
    while len(dropped) < len(model.terms):
        after = []
        for k in (k for k in range(len(model.terms)) if k not in dropped):
            some = [*dropped, k]
            numbers = sum(1 + len(model.terms[m].values) for m in some)
            after.append((_rise(fitted, model, some) - numbers * math.log(fitted.count), k))
        least, k = min(after)
        if not least < before:
            break
        before = least
        dropped.append(k)
    return dropped


def _rise(fitted: TrajectoryFit, model: Equation, some: list[int]) -> float:
    """By how much chi^2 rises without these terms, by the linear model, in which the parameters inside of them stay."""
    inside = [range(0)]
    for term in model.terms:
        begun = inside[-1].stop or len(model.terms)
        inside.append(range(begun, begun + len(term.values)))
    gone = {*some, *(k for m in some for k in inside[m + 1])}
    kept = [k for k in range(len(fitted.normal)) if k not in gone]
    known = fitted.information
    shared = known[kept][:, some]
    left = known[some][:, some] - shared.T @ pseudo_inverse(known[kept][:, kept]) @ shared
    c = model.coefficients[some]
    return float(c @ left @ c)
