"""From trajectories to a law: the closed form if it explains them, else the free form, and the evidence for the choice."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from torch.linalg import LinAlgError

from .._support.agreed import Agreed
from .._support.threads import threads_for
from ..data import Trajectory
from ..laws import Equation
from ..solve import tapes_reuse_memory
from .clock import hopeless, interrupted, time_is_over, time_limit
from .doubts import out_of_time, reason_along, warn_of_law, warn_of_terms
from .equation_fit import FittedEquation
from .euler_map import euler_map, found_map
from .form_choice import better, explains, judged, leaves_nothing
from .in_parts import observed_in_parts
from .inputs_or_not import with_inputs_if_needed
from .interaction import Interaction
from .known_law import KnownLaw, checked_law
from .library import formula_names, library, ranges_of
from .node_discovery import DifferingNodes, differing_nodes, found_law, may_differ
from .node_free import free_form_of_nodes
from .node_relations import attributes_of
from .numbers import check_motion, check_numbers
from .observations import CLEAN_BELOW, NOISY_ABOVE, Observations, extremes, observed, roughness_of, rounding_of, signed
from .other_couplings import CouplingForm, other_along, other_in_snapshots, with_form
from .residual_noise import residuals_are_noise, reweighted
from .result import Evidence, FoundLaw
from .search import Search
from .spline_fit import fit_splines
from .time_or_not import EarlyTime, with_time_if_needed
from .told_law import Task, closed_law, free_law, law_along
from .tolerances import tolerance_along
from .trajectory_fit import TrajectoryFit
from .trajectory_search import NOTHING_LEFT_EXCESS, closed_form_along, plainest
from .trajectory_splines import free_form_along

# In parts, of data that may be noisy or coarsely sampled: so many formulas are looked at, and clean data have one this near. Noise of 0.5 % left 0.2
# and more, clean data of 9 snapshots at most 0.0005 (heat, gene, mutualistic; 100 nodes of a random network, one run each).
LOOKED_AT = 8
PROMISING = 0.01
# Above this misfit of free forms without noise nodes may differ: it was 0.08 and more where they do (gene, heat, SIS; 40 nodes), 0.001 and less
# where they are alike (these, Kuramoto and mutualistic dynamics).
MISFIT_OF_NODES = 0.01


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
    world = trajectories[0].graph.world
    check_motion(trajectories)
    check_numbers(trajectories)
    if what.known is not None:
        what = replace(what, known=copy.deepcopy(what.known).double().requires_grad_(False))
    limit = time_limit(what.seconds, trial=trial, progress=progress if world.first else False, world=world)
    with limit, tapes_reuse_memory(), threads_for(max(t.graph.num_nodes for t in trajectories)):
        try:
            task = Task(trajectories, what, seed)
            found = _of_part(task) if trajectories[0].graph.in_parts else _of_whole(task, trial=trial)
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


def _of_whole(task: Task, *, trial: bool) -> FoundLaw | None:
    """The law of a network that this process holds, with inputs or time if they are needed."""
    of_states = lambda: with_time_if_needed(task, lambda early: _of_states(task, early), trial=trial)  # noqa: E731
    return with_inputs_if_needed(task.trajectories, task.what, task.seed, of_states)


def _of_part(task: Task) -> FoundLaw | None:
    """The law of a network of which this process holds a part."""
    data, doubt = observed_in_parts(task.trajectories, task.what)
    search = _search(task, data, None)
    hopeful = doubt is None or search.nearest(LOOKED_AT) < PROMISING
    closed = search.run() if hopeful else None
    if doubt is not None and (closed is None or not closed.explains()):
        raise Agreed(doubt)
    return None if closed is None else closed_law(task, data, closed)


def _of_states(task: Task, early: EarlyTime) -> FoundLaw | None:
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


def _prepared(task: Task, *, noisy: bool) -> tuple[list[Observations], KnownLaw | None]:
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


def _search(task: Task, data: Sequence[Observations], base: KnownLaw | None) -> Search:
    ranges = ranges_of(extremes(data))
    terms = library(formula_names(task.features), ranges, task.what.terms, task.what.without)
    warn_of_terms(task.what.terms, terms, data)
    return Search(data, terms, base)


def _differing(
    task: Task,
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


def _free_of_nodes(
    task: Task, data: Sequence[Observations], free: TrajectoryFit | None, *, noisy: bool
) -> FoundLaw | None:
    """The free form of nodes that differ, where the free form was asked for and they do."""
    if task.what.form != "free" or task.what.nodes == "same" or task.what.known is not None or time_is_over():
        return None
    return free_form_of_nodes(task.trajectories, data, free, task.seed, noisy=noisy, given=task.what.nodes == "differ")


def _as_map(task: Task, data: Sequence[Observations], search: Search) -> FoundLaw | None:
    """The law of a trajectory of Euler steps, if it is one."""
    if task.what.known is not None or time_is_over():
        return None
    names = formula_names(task.features)
    found = euler_map(data, search.terms, names, differ=task.what.nodes != "same")
    return None if found is None else found_map(found, data, names, task.trajectories[0].graph.nodes, task.seed)


def _of_nodes(task: Task, data: Sequence[Observations], different: DifferingNodes) -> FoundLaw:
    if different.doubt is not None:
        warn_of_law(different.doubt, alike=False)
    names = formula_names(task.features)
    return found_law(different, data, names, task.trajectories[0].graph.nodes, task.seed)


# Complete observations without noise --------------------------------------------------------------------------------


def _from_snapshots(task: Task, early: EarlyTime, *, sure: bool) -> FoundLaw | None:
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
                return with_form(closed_law(task, other_data, formula), form)
            if sure and (timed := early(None)) is not None:
                return timed
            different = _differing(task, data, search, None if closed is None else closed.equation, noisy=False)
            if different is not None and (different.explained or task.what.nodes == "differ"):
                return _of_nodes(task, data, different)
        requested = task.what.form == "closed" and sure
        if closed is not None and (closed.explains() or requested or time_is_over()):
            return closed_law(task, data, closed)
    if not sure or task.what.form == "closed":
        return None
    free = fit_splines(data, base)
    may = free is not None and (task.what.nodes == "differ" or free.misfit > MISFIT_OF_NODES)
    if may and (differ := _free_of_nodes(task, data, None, noisy=False)) is not None:
        return differ
    return None if free is None else free_law(task, data, free, closed)


# Noise and gaps -----------------------------------------------------------------------------------------------------


def _from_trajectories(
    task: Task, early: EarlyTime, *, noisy: bool, rounded: bool = False, shots: bool = False
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
            return closed_law(task, *lead)
        # Rounding errs alike at a node at rest, which looks like a node that differs.
        different = None if rounded and told else _differing(task, data, search, alike, noisy=True, explained=own_noise)
        if different is not None and (different.explained or form == "closed" or time_is_over()):
            return _of_nodes(task, data, different)
        if given and different is None:
            closed = closed_form_along(search, data, tolerance)
    nothing_left = closed is not None and (leaves_nothing(closed, noisy) or time_is_over())
    asked = form != "closed" and other_form is None and not nothing_left
    free = free_form_along(data, tolerance, base) if asked else None
    if different is not None and (free is None or not residuals_are_noise(free)):
        return _of_nodes(task, data, different)
    if noisy and free is not None and (differ := _free_of_nodes(task, data, free, noisy=True)):
        return differ
    if free is None and closed is None:
        return None
    best, chosen = better(closed, free, noisy)
    explained = explains(best, noisy)
    if noisy and chosen == "closed":
        best = reweighted(best) if own_noise is None else own_noise
    explained, reason = judged(best, explained, reason_along(closed, free, task.what.form, noisy), noisy)
    noise = tuple(best.problems[0].data.measured.share.tolist())
    formula = (None, None) if closed is None else (closed.excess, str(closed.model))
    splines = None if free is None else free.excess
    evidence = Evidence(chosen, reason, noise, formula[0], splines, formula[1], explained)
    found = law_along(task, data, best, evidence)
    return found if other_form is None else with_form(found, other_form)


def _lead(task: Task) -> tuple[list[Observations], FittedEquation] | None:
    """A formula that explains every snapshot from the one before to its rounding, if there is one."""
    data, base = _prepared(task, noisy=False)
    found = _search(task, data, base).run()
    return None if found is None or not found.explains() else (data, found)
