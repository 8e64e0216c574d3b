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
from ..solve import tapes_reuse_memory
from .clock import hopeless, interrupted, time_is_over, time_limit
from .doubts import doubt_of_numbers, no_motion, out_of_time, reason_along, told_if_rough, warn_of_law, warn_of_terms
from .equation_fit import EXPLAINED_EXCESS, FittedEquation
from .euler_map import euler_map, found_map
from .form_choice import better, explains, leaves_nothing
from .inputs_or_not import with_inputs_if_needed
from .interaction import Interaction
from .known_law import KnownLaw, checked_law
from .library import formula_names, library, ranges_of
from .node_discovery import DifferingNodes, differing_nodes, found_law, may_differ
from .node_relations import attributes_of
from .nodes_or_not import not_told_apart
from .numbers import check_numbers
from .observations import (
    CLEAN_BELOW,
    NOISY_ABOVE,
    Observations,
    observed,
    roughness_of,
    rounding_of,
    signed,
    some_states,
)
from .other_couplings import CouplingForm, other_along, other_in_snapshots, with_form
from .posterior import POSTERIOR_SAMPLES, normal_samples, pseudo_inverse, residual_variance, standard_errors
from .residual_noise import residuals_are_noise, reweighted
from .result import Evidence, FoundLaw
from .search import Search
from .shooting_fit import ShotFit
from .spline_fit import fit_splines
from .stretches import doubt_in_noise
from .time_or_not import EarlyTime, with_time_if_needed
from .tolerances import tolerance_along
from .trajectory_fit import TrajectoryFit, posterior_samples
from .trajectory_search import NOTHING_LEFT_EXCESS, closed_form_along, plainest
from .trajectory_splines import free_form_along
from .trajectory_system import HUBER

# Warn above this misfit, as a share of how far states move. Free forms of docs/interaction.md, Measured, stay below 0.6 % of the states.
POOR_MISFIT = 0.05


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
    with limit, tapes_reuse_memory(), threads_for(max(t.graph.num_nodes for t in trajectories)):
        try:
            task = _Task(trajectories, what, seed)
            found = with_inputs_if_needed(
                trajectories,
                what,
                seed,
                lambda: with_time_if_needed(task, lambda early: _of_states(task, early), trial=trial),
            )
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
            found = out_of_time(found, None if interrupted() else what.seconds)
        over = time_is_over()
    return replace(found, seconds=time.monotonic() - began, out_of_time=over)


def _of_states(task: _Task, early: EarlyTime) -> FoundLaw | None:
    """The law without inputs; with time, where what the first formula leaves open looks like it, ``early`` in the search."""
    rough = max(roughness_of(t) for t in task.trajectories)
    found: FoundLaw | None = None
    complete = rough < NOISY_ABOVE and all(t.mask is None for t in task.trajectories)
    rounded = any(rounding_of(t).any() for t in task.trajectories)
    if rounded:  # shots start from states that are off: they tell the formula only
        return _from_trajectories(task, early, noisy=True, rounded=True, shots=complete)
    if complete:
        found = _from_snapshots(task, early, sure=rough < CLEAN_BELOW)
    return found or _from_trajectories(task, early, noisy=rough >= CLEAN_BELOW)


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
    asked = known is None and task.what.nodes != "same" and not evidence.explained
    if asked and (why := not_told_apart(data)) is not None:
        evidence = replace(evidence, reason=f"{evidence.reason}; whether nodes differ cannot be told: {why}")
        if task.what.nodes == "differ":
            warn(f"nodes are taken as alike, because whether they differ cannot be told: {why}")
    if known is not None:
        reason = f"with {type(known).__name__} as the known law, {evidence.reason}"
        if isinstance(model, Equation) and not model.terms:
            reason += "; nothing was left to correct"
        evidence = replace(evidence, reason=reason)
    names = formula_names(task.features) if isinstance(model, Equation) else task.features
    law = law_of(model, names, known)
    return FoundLaw(law, covariance, standard_errors(covariance), samples, *initial, evidence, some_states(data))


def _differing(
    task: _Task,
    data: Sequence[Observations],
    search: Search,
    closed: Equation | None,
    *,
    noisy: bool,
    explained: TrajectoryFit | None = None,
) -> DifferingNodes | None:
    """The law of nodes that differ, if it may be looked for and they do."""
    if task.what.nodes == "same" or task.what.known is not None:
        return None
    tolerance = tolerance_along(task.trajectories, data, noisy=noisy)
    names = formula_names(task.features)
    known = attributes_of(task.trajectories)
    return differing_nodes(data, search.terms, tolerance, names, closed, known, noisy=noisy, explained=explained)


def _as_map(task: _Task, data: Sequence[Observations], search: Search) -> FoundLaw | None:
    """The law of a trajectory of Euler steps, if it is one."""
    if task.what.known is not None or time_is_over():
        return None
    names = formula_names(task.features)
    found = euler_map(data, search.terms, names, differ=task.what.nodes != "same")
    return None if found is None else found_map(found, data, names, task.trajectories[0].graph.nodes, task.seed)


def _of_nodes(task: _Task, data: Sequence[Observations], different: DifferingNodes) -> FoundLaw:
    if different.doubt is not None:
        warn_of_law(different.doubt, alike=False)
    names = formula_names(task.features)
    return found_law(different, data, names, task.trajectories[0].graph.nodes, task.seed)


# Complete observations without noise --------------------------------------------------------------------------------


def _from_snapshots(task: _Task, early: EarlyTime, *, sure: bool) -> FoundLaw | None:
    """By shots from snapshot to snapshot; None if what is left open may be noise.

    Data that are not surely free of noise may be coarsely sampled curves: what no closed form explains is judged along trajectories.
    """
    data, base = _prepared(task, noisy=False)
    closed: FittedEquation | None = None
    if task.what.form != "free":
        search = _search(task, data, base)
        if task.what.nodes != "differ" or not may_differ(data):
            closed = search.run()
        if closed is None or not closed.explains():
            if (as_map := _as_map(task, data, search)) is not None:
                return as_map
            if task.what.known is None and (other := other_in_snapshots(data, lambda some: _search(task, some, None))):
                form, other_data, formula = other
                return with_form(_closed_from_snapshots(task, other_data, formula), form)
            if sure and (timed := early(None)) is not None:
                return timed
            different = _differing(task, data, search, None if closed is None else closed.equation, noisy=False)
            if different is not None and (different.explained or task.what.nodes == "differ"):
                return _of_nodes(task, data, different)
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
        warn_of_law(f"misses typical snapshots by {100 * free.misfit:.2g} % of the way from the one before")
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


def _from_trajectories(
    task: _Task, early: EarlyTime, *, noisy: bool, rounded: bool = False, shots: bool = False
) -> FoundLaw | None:
    """Along whole trajectories, with their initial states; ``shots`` from snapshot to snapshot may tell the formula before."""
    data, base = _prepared(task, noisy=noisy)
    form = task.what.form
    tolerance = tolerance_along(task.trajectories, data, noisy=noisy)
    search = _search(task, data, base) if form != "free" else None
    given = task.what.nodes == "differ" and noisy and may_differ(data)
    lead = _lead(task) if shots and search is not None else None
    if search is not None and lead is not None:
        search.leads = [lead[1].equation]
    closed = None if search is None or given else closed_form_along(search, data, tolerance)
    if hopeless():
        return None
    if noisy and closed is not None and lead is None and (timed := early(closed)) is not None:
        return timed
    other_form: CouplingForm | None = None
    unexplained = closed is None or closed.excess >= NOTHING_LEFT_EXCESS
    if noisy and search is not None and not given and unexplained and task.what.known is None:
        other = other_along(data, lambda some: _search(task, some, None), closed, tolerance)
        if other is not None:
            other_form, data, closed = other[0], list(other[1]), other[2]
    different, own_noise = None, None  # nodes that differ, and the formula fitted with the noise that it shows itself
    if noisy and search is not None and other_form is None:
        told = closed is not None and residuals_are_noise(closed)
        own_noise = plainest(reweighted(closed), data, search) if closed is not None and told else None
        likely = own_noise or closed
        alike = likely.model if likely is not None and isinstance(likely.model, Equation) else None
        if lead is not None and not told:
            return _closed_from_snapshots(task, *lead)
        # Rounding errs alike at a node at rest, which looks like a node that differs.
        different = None if rounded and told else _differing(task, data, search, alike, noisy=True, explained=own_noise)
        if different is not None and (different.explained or form == "closed" or time_is_over()):
            return _of_nodes(task, data, different)
        if given and different is None:
            closed = closed_form_along(search, data, tolerance)
    free: TrajectoryFit | None = None
    asked = form != "closed" and other_form is None
    if asked and (closed is None or (not leaves_nothing(closed, noisy) and not time_is_over())):
        free = free_form_along(data, tolerance, base)
    if different is not None and (free is None or not residuals_are_noise(free)):
        return _of_nodes(task, data, different)
    if free is None and closed is None:
        return None
    best, chosen = better(closed, free, noisy)
    explained = explains(best, noisy)
    if noisy and chosen == "closed":
        best = reweighted(best) if own_noise is None else own_noise
    reason = reason_along(closed, free, task.what.form, noisy)
    if noisy and no_motion(best):
        explained = False
        reason = f"{reason}; a constant for each node explains the data as well, so there is no motion beyond their noise (no dynamics found)"
        warn(f"do not trust this law: {reason}. Take snapshots of a time when the states move, or more exact ones")
    elif noisy and (doubt := doubt_in_noise(best)) is not None:
        explained, reason = False, f"{reason}; it {doubt}"
        warn_of_law(doubt)
    elif not explained:
        _warn_if_poor(best, noisy)
    noise = tuple(best.problems[0].data.measured.share.tolist())
    formula = (None, None) if closed is None else (closed.excess, str(closed.model))
    evidence = Evidence(chosen, reason, noise, formula[0], None if free is None else free.excess, formula[1], explained)
    found = _of_trajectories(task, data, best, evidence)
    return found if other_form is None else with_form(found, other_form)


def _lead(task: _Task) -> tuple[list[Observations], FittedEquation] | None:
    """A formula that explains every snapshot from the one before to its rounding, if there is one."""
    data, base = _prepared(task, noisy=False)
    found = _search(task, data, base).run()
    return None if found is None or not found.explains() else (data, found)


def _warn_if_poor(fitted: TrajectoryFit, noisy: bool) -> None:
    if noisy:
        warn_of_law(f"leaves residuals of {fitted.excess:.3g} times the noise")
    elif (share := fitted.share()) > POOR_MISFIT:
        warn_of_law(f"misses typical states by {100 * share:.2g} % of how far they are from their mean")


def _of_trajectories(task: _Task, data: Sequence[Observations], fitted: TrajectoryFit, evidence: Evidence) -> FoundLaw:
    assert isinstance(fitted.model, (Equation, FreeModel))
    samples, initial_samples = posterior_samples(fitted, POSTERIOR_SAMPLES, task.seed)
    evidence = told_if_rough(evidence, data, fitted.model, samples)
    robust = fitted.excess > HUBER  # information that counts large residuals less does not tell their size
    covariance = torch.cov(samples.T) if evidence.form == "free" or robust else fitted.covariance()
    covariance = covariance.reshape(samples.shape[1], samples.shape[1])
    initial = [problem.x0 for problem in fitted.problems]
    return _found(task, data, fitted.model, covariance, samples, (initial, initial_samples), evidence, fitted.normal)
