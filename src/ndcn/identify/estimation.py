"""Estimating what is unknown of a law, by shots from snapshot to snapshot or along whole trajectories."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import replace

import torch

from .._support.threads import threads_for
from .._support.warn import warn
from ..data import Trajectory
from ..laws import Law
from .doubts import doubt_of_fit
from .equation_fit import EXPLAINED_EXCESS
from .known_law import KnownLaw, checked_law
from .node_values import NODE_VALUE_CG, fit_nodes
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
from .shooting_fit import ShotFit, Shots, fit, grouped_by_steps, misfit_of, shots_of, undamped_gauss_newton
from .trajectory_fit import COMMON_CG, TrajectoryFit, fit_trajectories, posterior_samples
from .trajectory_problem import problems_for

FIRST_SCALES = (0.1, 1.0, 10.0)  # of first values: users write laws in units in which parameters are about 1
BY_COMBINATION = 3  # parameters at most whose scales are combined: 27 trials; of more, all have the same scale
APART = 0.1  # by so much first values differ, lest parameters that act alike stay alike
BEST_STARTS = 3  # first values that are fitted
TRIAL_SHOTS = 12  # by which first values are judged
TRIAL_COARSER = 1e3  # times the tolerance: first values are far off, so that 1e-5 of the states is exact enough
TRIAL_STEPS = 64  # of the first look at values, at most; fits may take twice as many
TRIAL_ITERATIONS = 8
TRIAL_ENOUGH = 1e-3
SHOT_ITERATIONS = 30
TRAJECTORY_ITERATIONS = 20
GOOD_MISFIT = 1e-3  # of how far states move: with it, other first values need not be tried
NOISY_TOLERANCE = 1e-5  # of integration, as a share of the largest state: below the least noise, ``CLEAN_BELOW``


def estimate(law: Law, trajectories: Sequence[Trajectory], seed: int = 0) -> FoundLaw:
    """The unknown parameters of a law from trajectories.

    Observations that are complete and free of noise are fitted by shots from snapshot to snapshot, others, and parameters
    of nodes, along whole trajectories together with their initial states.

    Raises:
        ValueError: the law diverges along the data, or does not fit them in form.

    Example:
        >>> import ndcn
        >>> graph = ndcn.networks.grid(25)
        >>> data = ndcn.simulate(ndcn.laws.Heat(0.7), graph, ndcn.laws.initial_state(graph), [0.0, 0.1, 0.2, 0.3])
        >>> estimate(ndcn.laws.Heat(None), [data]).law
        Heat(k=0.7)
    """
    began = time.monotonic()
    _check(law, trajectories)
    with threads_for(max(t.graph.num_nodes for t in trajectories)):
        found = _estimated(law, trajectories, seed)
    if not found.evidence.explained:
        warn(found.evidence.reason)
    return replace(found, seconds=time.monotonic() - began)


def _estimated(law: Law, trajectories: Sequence[Trajectory], seed: int) -> FoundLaw:
    rough = max(roughness_of(t) for t in trajectories)
    noisy = rough >= CLEAN_BELOW
    if rough < NOISY_ABOVE and all(t.mask is None for t in trajectories) and not law.unknown_per_node:
        data = [signed(observed(t, noisy=False)) for t in trajectories]
        found = _by_shots(law, data, seed, sure=not noisy)
        if found is not None:
            return found
    return _by_trajectories(law, [signed(observed(t, noisy=noisy)) for t in trajectories], seed, noisy=noisy)


def _check(law: Law, trajectories: Sequence[Trajectory]) -> None:
    name = type(law).__name__
    check_numbers(trajectories)
    if law.features is not None and trajectories[0].num_features != len(law.features):
        raise ValueError(
            f"{name} has {len(law.features)} features ({', '.join(law.features)}), but the data have "
            f"{trajectories[0].num_features} ({', '.join(trajectories[0].features)})"
        )
    if law.unknown_per_node and len(trajectories) > 1:
        raise ValueError(
            f"{name}: values of {', '.join(law.unknown_per_node)} for each node are estimated from one trajectory, got "
            f"{len(trajectories)}: fit the longest, or give {', '.join(law.unknown_per_node)} as None for one value in common"
        )


def _described(law: Law) -> str:
    return f"{type(law).__name__} with {', '.join(law.unknown)} estimated"


# One value for all nodes ----------------------------------------------------------------------------------------------


def _fitted(law: Law, data: Sequence[Observations]) -> ShotFit:
    """All that is unknown with one value for all nodes, by shots from snapshot to snapshot."""
    model = checked_law(law, data[0].network, data[0].level)
    model = replace(model, names=law.unknown, values=torch.ones(len(law.unknown), dtype=torch.float64), per_node=())
    tolerance = CLEAN_TOLERANCE * largest(data)
    parts = [(one, part) for one in data for part in torch.arange(len(one.spans)).split(one.network.together())]
    shots = [shots_of(one, part) for one, part in parts]
    best: ShotFit | None = None
    for first in _first_fits(model, data, TRIAL_COARSER * tolerance):
        found = fit(first.model, shots, iterations=SHOT_ITERATIONS, tolerance=tolerance)
        if found is not None and (best is None or found.misfit < best.misfit):
            best = found
        if best is not None and best.excess < EXPLAINED_EXCESS:
            break
    if best is None:
        raise ValueError(_lost(law))
    return best


def _lost(law: Law) -> str:
    return (
        f"{type(law).__name__} with {', '.join(law.unknown)} unknown diverges along the data from every first value "
        'that was tried: give some of them a number, take more snapshots, or see what model="interaction" finds'
    )


def _first_fits(model: KnownLaw, data: Sequence[Observations], tolerance: torch.Tensor) -> list[ShotFit]:
    """Fits to a few shots from several first values, best first."""
    few = [shots_of(one, torch.linspace(0, len(one.spans) - 1, TRIAL_SHOTS).round().long().unique()) for one in data]
    most = 2 * TRIAL_STEPS
    tried: list[ShotFit] = []
    for trial in _first_models(model, few, tolerance):
        bold = undamped_gauss_newton(trial, few, TRIAL_ITERATIONS, tolerance, most)
        found = fit(bold, few, iterations=TRIAL_ITERATIONS, tolerance=tolerance, enough=TRIAL_ENOUGH, most_steps=most)
        if found is not None:
            tried.append(found)
            if found.misfit < GOOD_MISFIT:
                break
    return sorted(tried, key=lambda one: one.misfit)


def _first_models(model: KnownLaw, few: Sequence[Shots], tolerance: torch.Tensor) -> list[KnownLaw]:
    """First values, the best of several scales."""
    count = len(model.names)
    combined = count <= BY_COMBINATION
    every = itertools.product(FIRST_SCALES, repeat=count) if combined else [(s,) * count for s in FIRST_SCALES]
    apart = 1 + APART * torch.arange(count, dtype=torch.float64)
    tried = []
    for scales in every:
        trial = model.with_parameters(torch.tensor(scales, dtype=torch.float64) * apart)
        grouped = grouped_by_steps(trial, few, tolerance, TRIAL_STEPS)
        if grouped is not None:
            tried.append((misfit_of(*grouped), trial))
    best = sorted(tried, key=lambda one: one[0])[:BEST_STARTS]
    return [trial for misfit, trial in best if misfit < float("inf")]


def _by_shots(law: Law, data: Sequence[Observations], seed: int, *, sure: bool) -> FoundLaw | None:
    """None if what is left open may be noise."""
    found = _fitted(law, data)
    explained = found.excess < EXPLAINED_EXCESS
    if not (explained or sure):
        return None
    assert isinstance(found.model, KnownLaw)
    reason = (
        f"{_described(law)} explains every snapshot from the one before to {found.excess:.2g} times the rounding"
        if explained
        else f"{_described(law)} misses snapshots by {found.excess:.2g} times the rounding, so it is not the whole law, or "
        'better values were not found: give some of them a number, or let model="interaction" look for a law that fits'
    )
    if explained and (doubt := doubt_of_fit(found.count, found.normal)) is not None:
        reason, explained = f"{reason}, but {doubt}", False
    noise = tuple(data[0].measured.share.tolist())
    evidence = Evidence("known", reason, noise, closed=found.excess, explained=explained)
    covariance = residual_variance(found) * pseudo_inverse(found.normal)
    errors = standard_errors(covariance)
    samples = normal_samples(found.model.values, covariance, seed)
    initial = [one.states[0] for one in data]
    names = (law.unknown, ())
    estimated = found.model.with_numbers()
    return FoundLaw(estimated, covariance, errors, samples, initial, None, evidence, some_states(data), names)


# Along whole trajectories ---------------------------------------------------------------------------------------------


def _by_trajectories(law: Law, data: Sequence[Observations], seed: int, *, noisy: bool) -> FoundLaw:
    first = _fitted(law, data).model
    assert isinstance(first, KnownLaw)
    tolerance = (NOISY_TOLERANCE if noisy else CLEAN_TOLERANCE) * largest(data)
    fitted: TrajectoryFit | None = None
    if law.unknown_per_node:
        fitted = fit_nodes(law, first, data[0], tolerance, seed)
    elif (problems := problems_for(data, first, tolerance)) is not None:
        fitted = fit_trajectories(first, problems, iterations=TRAJECTORY_ITERATIONS)
    if fitted is None:
        raise ValueError(_lost(law))
    excess = fitted.excess
    explained = residuals_are_noise(fitted) if noisy else excess < EXPLAINED_EXCESS
    reason = f"{_described(law)} leaves residuals of {excess:.2f} times {'the noise' if noisy else 'the rounding'}"
    if not explained:
        reason += ', so it is not the whole law: model="interaction" looks for one that is'
    if noisy:
        fitted = reweighted(fitted, cg=NODE_VALUE_CG if law.unknown_per_node else COMMON_CG)
    noise = tuple(fitted.problems[0].data.measured.share.tolist())
    evidence = Evidence("known", reason, noise, closed=excess, explained=explained)
    return _of_trajectories(data, fitted, seed, evidence)


def _of_trajectories(data: Sequence[Observations], fitted: TrajectoryFit, seed: int, evidence: Evidence) -> FoundLaw:
    """Values of nodes are the last features of the states: see ``KnownLaw``."""
    model = fitted.model
    assert isinstance(model, KnownLaw)
    count = len(model.names)
    d = fitted.problems[0].x0.shape[1] - len(model.per_node)
    samples, initial_samples = posterior_samples(fitted, POSTERIOR_SAMPLES, seed, cg=NODE_VALUE_CG)
    samples = samples[:, :count]
    covariance = fitted.covariance() if count else torch.zeros(0, 0, dtype=torch.float64)
    errors = standard_errors(covariance)
    if model.per_node:
        of_nodes = initial_samples[0][..., d:].mT.reshape(len(samples), -1)
        samples = torch.cat([samples, of_nodes], dim=1)
        errors = torch.cat([errors, samples[:, count:].std(0)])
    law = model.with_numbers(fitted.problems[0].x0[:, d:])
    initial = ([problem.x0[:, :d] for problem in fitted.problems], [some[..., :d] for some in initial_samples])
    names = (model.names, model.per_node)
    return FoundLaw(law, covariance, errors, samples, *initial, evidence, some_states(data), names)
