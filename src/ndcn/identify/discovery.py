"""From trajectories to a law: the closed form if it explains them, else the free form, and the evidence for the choice."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch.linalg import LinAlgError

from .._support.threads import threads_for
from .._support.warn import warn
from ..data import Trajectory
from ..laws import Equation, FreeModel, law_of
from .clock import hopeless, interrupted, time_is_over, time_limit
from .doubts import doubt_of_numbers, no_motion, warn_of_terms
from .equation_fit import EXPLAINED_EXCESS, FittedEquation
from .interaction import Interaction
from .known_law import KnownLaw, checked_law
from .library import formula_names, library, ranges_of
from .numbers import check_numbers
from .observations import (
    CLEAN_BELOW,
    CLEAN_TOLERANCE,
    NOISY_ABOVE,
    Observations,
    largest,
    observed,
    roughness_of,
    signed,
    some_states,
)
from .posterior import POSTERIOR_SAMPLES, normal_samples, pseudo_inverse, residual_variance, standard_errors
from .residual_noise import residuals_are_noise, reweighted
from .result import Evidence, FoundLaw
from .search import Search
from .shooting_fit import ShotFit
from .spline_fit import fit_splines
from .trajectory_fit import TrajectoryFit, posterior_samples
from .trajectory_search import NOTHING_LEFT_EXCESS, as_good, closed_form_along
from .trajectory_splines import free_form_along
from .trajectory_system import HUBER

# Warn above this misfit, as a share of how far states move. Free forms of docs/interaction.md, Measured, stay below 0.6 % of the states.
POOR_MISFIT = 0.05
# Smaller residuals along trajectories without noise are explained. Ten times ``EXPLAINED_EXCESS``, as errors of integration add up along them.
EXPLAINED_ROUNDING = 50.0
# Of integration where there is noise, as a share of the largest state: well below that of ``NOISY_ABOVE``.
SEARCH_TOLERANCE = 1e-4


@dataclass(frozen=True)
class _Task:
    """What is to be found, and where."""

    trajectories: Sequence[Trajectory]
    what: Interaction
    seed: int

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(self.trajectories[0].features)


def discover(
    trajectories: Sequence[Trajectory],
    what: Interaction,
    seed: int = 0,
    *,
    trial: bool = False,
    progress: bool | None = None,
) -> FoundLaw:
    """The law behind the trajectories, or what a known one leaves open of it.

    On ``trial`` the search gives up early where no law comes near the data, and Ctrl-C ends everything at once. ``progress`` says
    whether to show progress lines; None shows them on a terminal.

    Raises:
        ValueError: none was found, or the known law does not fit the data.
    """
    began = time.monotonic()
    if not any(bool((t.states - t.first_state()).nan_to_num(0.0).any()) for t in trajectories):
        raise ValueError("no state ever changes: there is no law to be seen in these trajectories")
    if what.known is not None:
        what = replace(what, known=copy.deepcopy(what.known).double().requires_grad_(False))
    check_numbers(trajectories)
    limit = time_limit(what.seconds, trial=trial, progress=progress)
    with limit, threads_for(max(t.graph.num_nodes for t in trajectories)):
        try:
            found = _searched(_Task(trajectories, what, seed))
        except (LinAlgError, np.linalg.LinAlgError, ArithmeticError) as error:
            reason = str(error).partition("\n")[0]
            raise ValueError(
                f"no law could be computed from these data ({reason}): states that jump back and forth, or hardly move, do not tell one. "
                'See their range and gaps with `ndcn inspect`, or use model="ndcn", which assumes less'
            ) from error
        if found is None and interrupted():
            raise KeyboardInterrupt
        if found is None and time_is_over():
            raise ValueError(
                f"no law was found {'early on' if what.seconds is None else f'within {what.seconds:g} s'}: give the search more time, or fewer nodes or snapshots"
            )
        if found is None:
            raise ValueError(
                "no law of this form could be fitted to the data: all candidates diverge along the trajectories. Take more snapshots "
                'where the states change fastest, or use model="ndcn", which assumes less'
            )
        if time_is_over() and not trial:
            found = _out_of_time(found, None if interrupted() else what.seconds)
    return replace(found, seconds=time.monotonic() - began)


def _searched(task: _Task) -> FoundLaw | None:
    rough = max(roughness_of(t) for t in task.trajectories)
    found: FoundLaw | None = None
    if rough < NOISY_ABOVE and all(t.mask is None for t in task.trajectories):
        found = _from_snapshots(task, sure=rough < CLEAN_BELOW)
    return found or _from_trajectories(task, noisy=rough >= CLEAN_BELOW)


def _out_of_time(found: FoundLaw, seconds: float | None) -> FoundLaw:
    """A law that was found in time is as good as without a limit; of another, say that there may be a better one."""
    if found.evidence.explained:
        return found
    if seconds is None:
        reason = "Ctrl-C ended the search, and this is the best law so far"
        warn(reason)
    else:
        reason = f"the time limit of {seconds:g} s ended the search, and this is the best law so far"
        warn(f"{reason}: give it more time, seconds={10 * seconds:g}, or none")
    return replace(found, evidence=replace(found.evidence, reason=f"{found.evidence.reason}; {reason}"))


def _prepared(task: _Task, *, noisy: bool) -> tuple[list[Observations], KnownLaw | None]:
    """The trajectories as observed, and the known law as a model; ValueError if it is not defined at some of their states."""
    data = [observed(t, noisy=noisy) for t in task.trajectories]
    known = task.what.known
    if known is None:
        return data, None
    data = [signed(one) for one in data]
    base = checked_law(known, data[0].network, data[0].level)
    for one in data:
        if not base.rate(one.inner.flatten(0, 1), one.network).isfinite().all():
            raise ValueError(
                f"{type(known).__name__} is NaN or infinite at some of the states seen, so it cannot be part of their law: "
                "check its parameters and the range of states for which it is defined"
            )
    return data, base


def _search(task: _Task, data: Sequence[Observations], base: KnownLaw | None) -> Search:
    ranges = ranges_of(torch.cat([one.level.reshape(-1, one.level.shape[-1]) for one in data]))
    terms = library(formula_names(task.features), ranges, task.what.terms, task.what.without)
    warn_of_terms(task.what.terms, terms, data)
    return Search(data, terms, base)


def _found(
    task: _Task,
    data: Sequence[Observations],
    model: Equation | FreeModel,
    covariance: torch.Tensor,
    samples: torch.Tensor,
    initial: tuple[list[torch.Tensor], list[torch.Tensor] | None],
    evidence: Evidence,
    normal: torch.Tensor,
) -> FoundLaw:
    """The result; ``initial`` has the initial states and posterior samples of them, ``normal`` (P, P) the normal equations."""
    known = task.what.known
    doubt = doubt_of_numbers(task.trajectories, model, normal)
    if doubt is not None:
        evidence = replace(evidence, reason=f"{evidence.reason}; {doubt}", explained=False)
    if known is not None:
        reason = f"with {type(known).__name__} as the known law, {evidence.reason}"
        if isinstance(model, Equation) and not model.terms:
            reason += "; nothing was left to correct"
        evidence = replace(evidence, reason=reason)
    names = formula_names(task.features) if isinstance(model, Equation) else task.features
    law = law_of(model, names, known)
    return FoundLaw(law, covariance, standard_errors(covariance), samples, *initial, evidence, some_states(data))


def _warn(how: str) -> None:
    warn(
        f"the law that was found {how}: it does not explain the data, do not trust it far. More snapshots where the states change "
        "fastest would help; or these states do not move by f(x_i) + sum_j A_ij g(x_i, x_j) with the same f and g at every node: if "
        'nodes differ, give a law and estimate it with per_node; model="ndcn" assumes less'
    )


# Complete observations without noise --------------------------------------------------------------------------------


def _from_snapshots(task: _Task, *, sure: bool) -> FoundLaw | None:
    """By shots from snapshot to snapshot; None if what is left open may be noise.

    Data that are not surely free of noise may be coarsely sampled curves: what no closed form explains is judged along trajectories.
    """
    data, base = _prepared(task, noisy=False)
    closed: FittedEquation | None = None
    if task.what.form != "free":
        closed = _search(task, data, base).run()
        requested = task.what.form == "closed" and sure
        if closed is not None and (closed.explains() or requested or time_is_over()):
            return _closed_from_snapshots(task, data, closed)
    if not sure or task.what.form == "closed":
        return None
    free = fit_splines(data, base)
    return None if free is None else _free_from_snapshots(task, data, free, closed)


def _closed_from_snapshots(task: _Task, data: Sequence[Observations], closed: FittedEquation) -> FoundLaw:
    explained = closed.explains()
    missed = f"{closed.fit.excess:.2g} times the rounding"
    reason = f"the closed form explains every snapshot from the one before to {missed}"
    if not explained:
        reason = (
            f"{'a closed form was requested' if task.what.form == 'closed' else 'this is the best closed form'}; it misses snapshots by {missed}, so it is not the whole law: "
            'form="free" follows the data better'
        )
        warn(reason)
    noise = tuple(data[0].measured.share.tolist())
    evidence = Evidence("closed", reason, noise, closed.fit.excess, None, str(closed.equation), explained)
    return _of_shots(task, data, closed.fit, evidence)


def _free_from_snapshots(
    task: _Task, data: Sequence[Observations], free: ShotFit, closed: FittedEquation | None
) -> FoundLaw:
    reason = "the free form was requested"
    if task.what.form != "free":
        best = "" if closed is None else f" (the best misses them by {closed.fit.excess:.2g} times the rounding)"
        also = f"the free form misses them by {free.excess:.2g} times"
        reason = f"no closed form of the library explains the snapshots{best}; {also}"
    if free.misfit > POOR_MISFIT:
        _warn(f"misses typical snapshots by {100 * free.misfit:.2g} % of the way from the one before")
    noise = tuple(data[0].measured.share.tolist())
    formula = (None, None) if closed is None else (closed.fit.excess, str(closed.equation))
    explained = free.lost == 0 and free.excess < EXPLAINED_EXCESS
    evidence = Evidence("free", reason, noise, formula[0], free.excess, formula[1], explained)
    return _of_shots(task, data, free, evidence)


def _of_shots(task: _Task, data: Sequence[Observations], fit: ShotFit, evidence: Evidence) -> FoundLaw:
    """The initial states are the first snapshots, which are known."""
    assert isinstance(fit.model, (Equation, FreeModel))
    precision = fit.normal + (0 if fit.ridge is None else fit.ridge * fit.count)
    covariance = residual_variance(fit) * pseudo_inverse(precision)
    samples = normal_samples(fit.model.parameters, covariance, task.seed)
    initial = [one.states[0] for one in data]
    return _found(task, data, fit.model, covariance, samples, (initial, None), evidence, fit.normal)


# Noise and gaps -----------------------------------------------------------------------------------------------------


def _from_trajectories(task: _Task, *, noisy: bool) -> FoundLaw | None:
    """Along whole trajectories, with their initial states."""
    data, base = _prepared(task, noisy=noisy)
    form = task.what.form
    tolerance = (SEARCH_TOLERANCE if noisy else CLEAN_TOLERANCE) * largest(data)
    closed = None if form == "free" else closed_form_along(_search(task, data, base), data, tolerance)
    if hopeless():
        return None
    free: TrajectoryFit | None = None
    if form != "closed" and (closed is None or (closed.excess >= NOTHING_LEFT_EXCESS and not time_is_over())):
        free = free_form_along(data, tolerance, base)
    if free is None and closed is None:
        return None
    best, chosen = _better(closed, free, noisy)
    _warn_if_poor(best, noisy)
    explained = _explains(best, noisy)
    if noisy and chosen == "closed":
        best = reweighted(best)
    reason = _reason(closed, free, task.what, noisy)
    if noisy and no_motion(best):
        explained = False
        reason = (
            f"{reason}; a constant for each node explains the data as well, so there is no motion beyond their noise"
        )
        warn(f"do not trust this law: {reason}. Take snapshots of a time when the states move, or more exact ones")
    noise = tuple(best.problems[0].data.measured.share.tolist())
    formula = (None, None) if closed is None else (closed.excess, str(closed.model))
    splines = None if free is None else free.excess
    evidence = Evidence(chosen, reason, noise, formula[0], splines, formula[1], explained)
    return _of_trajectories(task, data, best, evidence)


def _better(closed: TrajectoryFit | None, free: TrajectoryFit | None, noisy: bool) -> tuple[TrajectoryFit, str]:
    """The formula if it is as good; one that does not explain the data must be nearer to them than splines."""
    if closed is None:
        assert free is not None
        return free, "free"
    if free is None or (as_good(closed, free) if _explains(closed, noisy) else closed.excess < free.excess):
        return closed, "closed"
    return free, "free"


def _explains(fitted: TrajectoryFit, noisy: bool) -> bool:
    return residuals_are_noise(fitted) if noisy else fitted.excess < EXPLAINED_ROUNDING


def _warn_if_poor(fitted: TrajectoryFit, noisy: bool) -> None:
    if _explains(fitted, noisy):
        return
    if noisy:
        _warn(f"leaves residuals of {fitted.excess:.3g} times the noise")
    elif (share := fitted.share()) > POOR_MISFIT:
        _warn(f"misses typical states by {100 * share:.2g} % of how far they are from their mean")


def _reason(closed: TrajectoryFit | None, free: TrajectoryFit | None, what: Interaction, noisy: bool) -> str:
    if what.form != "auto":
        return f"the {what.form} form was requested"
    unit = "the noise" if noisy else "the rounding"
    if free is None:
        assert closed is not None
        return f"the closed form leaves residuals of {closed.excess:.2f} times {unit}"
    if closed is None:
        return f"all closed forms diverge; the free form leaves residuals of {free.excess:.2f} times {unit}"
    best = f"the best closed form leaves residuals of {closed.excess:.2f} times {unit}"
    return f"{best}, the free form of {free.excess:.2f}"


def _of_trajectories(task: _Task, data: Sequence[Observations], fitted: TrajectoryFit, evidence: Evidence) -> FoundLaw:
    assert isinstance(fitted.model, (Equation, FreeModel))
    samples, initial_samples = posterior_samples(fitted, POSTERIOR_SAMPLES, task.seed)
    robust = fitted.excess > HUBER  # information that counts large residuals less does not tell their size
    covariance = torch.cov(samples.T) if evidence.form == "free" or robust else fitted.covariance()
    covariance = covariance.reshape(samples.shape[1], samples.shape[1])
    initial = [problem.x0 for problem in fitted.problems]
    return _found(task, data, fitted.model, covariance, samples, (initial, initial_samples), evidence, fitted.normal)
