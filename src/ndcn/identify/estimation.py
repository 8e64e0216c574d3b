"""Estimating what is unknown of a law, by shots from snapshot to snapshot or along whole trajectories."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from .._support.threads import threads_for
from ..data import Trajectory
from ..laws import Law
from .discovery import Evidence
from .known_law import KnownLaw, checked_law
from .node_values import NODE_VALUE_CG, fit_nodes
from .observations import CLEAN_BELOW, NOISY_ABOVE, Observations, largest, observed, roughness_of, signed, some_states
from .posterior import POSTERIOR_SAMPLES, normal_samples, pseudo_inverse, residual_variance
from .residual_noise import residuals_are_noise, reweighted
from .search import EXPLAINED_EXCESS
from .shooting_fit import ShotFit, Shots, fit, misfit_of, residuals, shots_of, undamped_gauss_newton
from .trajectory_fit import TrajectoryFit, fit_trajectories, posterior_samples, problems_for

FIRST_SCALES = (0.1, 1.0, 10.0)  # of first values
INTEGRATION_PRECISION = 1e-8  # of integration, as a share of the states' size
TRIAL_SHOTS = 12  # shots by which first values are judged
GOOD_MISFIT = 1e-3  # a misfit of shots with which other first values need not be tried


@dataclass(frozen=True)
class Estimation:
    """What was estimated.

    Attributes:
        law: with numbers.
        names: of parameters with one value, then of those with one for each node.
        values: of all of them in one vector, (P + n q,): n values in turn for each of q parameters of nodes.
        errors: their standard errors.
        covariance: of the P values that are common to all nodes, (P, P).
        draws: other values that are as likely, (draws, P + n q).
        starts: first state of each trajectory, (n, d).
        start_draws: first states that belong to ``draws``, or None where they are known.
        evidence: whether the law explains the data.
        states: some of those seen, (N, d).
        seconds: it took.
    """

    law: Law
    names: tuple[tuple[str, ...], tuple[str, ...]]
    values: torch.Tensor
    errors: torch.Tensor
    covariance: torch.Tensor
    draws: torch.Tensor
    starts: list[torch.Tensor]
    start_draws: list[torch.Tensor] | None
    evidence: Evidence
    states: torch.Tensor
    seconds: float = 0.0


def estimate(law: Law, trajectories: Sequence[Trajectory], seed: int = 0) -> Estimation:
    """The unknown parameters of a law from trajectories.

    Observations that are complete and free of noise are fitted by shots from snapshot to snapshot, others, and parameters
    of nodes, along whole trajectories together with their first states.

    Raises:
        ValueError: the law cannot be followed along the data, or does not fit them in form.

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
        warnings.warn(found.evidence.reason, stacklevel=4)
    return replace(found, seconds=time.monotonic() - began)


def _estimated(law: Law, trajectories: Sequence[Trajectory], seed: int) -> Estimation:
    rough = max(roughness_of(t) for t in trajectories)
    found: Estimation | None = None
    if rough < NOISY_ABOVE and all(t.mask is None for t in trajectories) and not law.unknown_per_node:
        found = _by_shots(law, [signed(observed(t, noisy=False)) for t in trajectories], seed, sure=rough < CLEAN_BELOW)
    if found is None:
        noisy = rough >= CLEAN_BELOW
        found = _by_trajectories(law, [signed(observed(t, noisy=noisy)) for t in trajectories], seed, noisy)
    return found


def _check(law: Law, trajectories: Sequence[Trajectory]) -> None:
    name = type(law).__name__
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


# One value for all nodes ----------------------------------------------------------------------------------------------


def _fitted(law: Law, data: Sequence[Observations]) -> ShotFit:
    """All that is unknown with one value for all nodes, by shots from snapshot to snapshot."""
    model = checked_law(law, data[0].network, data[0].level)
    model = replace(model, names=law.unknown, values=torch.ones(len(law.unknown), dtype=torch.float64), per_node=())
    tolerance = INTEGRATION_PRECISION * largest(data)
    few = [shots_of(one, torch.linspace(0, len(one.spans) - 1, TRIAL_SHOTS).round().long().unique()) for one in data]
    tried = []
    for trial in _first_models(model, few, 1e3 * tolerance):
        found = fit(
            undamped_gauss_newton(trial, few, 8, 1e3 * tolerance, 128),
            few,
            iterations=8,
            tolerance=1e3 * tolerance,
            enough=1e-3,
            most_steps=128,
        )
        if found is not None:
            tried.append(found)
            if found.misfit < GOOD_MISFIT:
                break
    best: ShotFit | None = None
    for first in sorted(tried, key=lambda one: one.misfit):
        found = fit(first.model, [b for one in data for b in _batches(one)], iterations=30, tolerance=tolerance)
        if found is not None and (best is None or found.misfit < best.misfit):
            best = found
        if best is not None and best.excess < EXPLAINED_EXCESS:
            break
    if best is None:
        raise ValueError(_lost(law))
    return best


def _lost(law: Law) -> str:
    return (
        f"{type(law).__name__} with {', '.join(law.unknown)} unknown cannot be followed along the data from any first value "
        'that was tried: give some of them a number, take more snapshots, or see what model="interaction" finds'
    )


def _first_models(model: KnownLaw, few: Sequence[Shots], tolerance: torch.Tensor) -> list[KnownLaw]:
    """First values, the three best of several scales; no two parameters have the same, lest they stay the same."""
    count = len(model.names)
    every = itertools.product(FIRST_SCALES, repeat=count) if count <= 3 else [(s,) * count for s in FIRST_SCALES]
    apart = 1 + 0.1 * torch.arange(count, dtype=torch.float64)
    tried = []
    for scales in every:
        trial = model.with_parameters(torch.tensor(scales, dtype=torch.float64) * apart)
        groups = residuals(trial, few, tolerance, 64)
        if groups:
            tried.append((misfit_of(trial, groups), trial))
    return [trial for value, trial in sorted(tried, key=lambda one: one[0])[:3] if value < float("inf")]


def _batches(one: Observations) -> list[Shots]:
    """All shots of a trajectory, in parts that fit into memory."""
    each = one.network.together()
    return [shots_of(one, part) for part in torch.arange(len(one.spans)).split(each)]


def _by_shots(law: Law, data: Sequence[Observations], seed: int, *, sure: bool) -> Estimation | None:
    """None if what is left open may be noise."""
    found = _fitted(law, data)
    explained = found.excess < EXPLAINED_EXCESS
    if not (explained or sure):
        return None
    assert isinstance(found.model, KnownLaw)
    what = f"{type(law).__name__} with {', '.join(law.unknown)} estimated"
    reason = (
        f"{what} explains every snapshot from the one before to {found.excess:.2g} times the rounding"
        if explained
        else f"{what} misses snapshots by {found.excess:.2g} times the rounding, so it is not the whole law, or "
        'better values were not found: give some of them a number, or let model="interaction" look for a law that fits'
    )
    values, covariance = found.model.values, residual_variance(found) * pseudo_inverse(found.normal)
    return Estimation(
        found.model.with_numbers(),
        (law.unknown, ()),
        values,
        covariance.diagonal().clamp(min=0).sqrt(),
        covariance,
        normal_samples(values, covariance, seed),
        [one.states[0] for one in data],
        None,
        Evidence("known", reason, tuple(data[0].measured.share.tolist()), closed=found.excess, explained=explained),
        some_states(data),
    )


# Along whole trajectories ---------------------------------------------------------------------------------------------


def _by_trajectories(law: Law, data: Sequence[Observations], seed: int, noisy: bool) -> Estimation:
    first = _fitted(law, data).model
    assert isinstance(first, KnownLaw)
    tolerance = (1e-5 if noisy else INTEGRATION_PRECISION) * largest(data)
    if law.unknown_per_node:
        path = fit_nodes(law, first, data[0], tolerance, seed)
    else:
        problems = problems_for(data, first, tolerance)
        path = None if problems is None else fit_trajectories(first, problems, iterations=20)
    if path is None:
        raise ValueError(_lost(law))
    return _of_path(law, data, path, seed, noisy)


def _of_path(law: Law, data: Sequence[Observations], path: TrajectoryFit, seed: int, noisy: bool) -> Estimation:
    excess = path.excess
    explained = residuals_are_noise(path) if noisy else excess < EXPLAINED_EXCESS
    if noisy:
        path = reweighted(path, cg=NODE_VALUE_CG if law.unknown_per_node else 40)
    model = path.model
    assert isinstance(model, KnownLaw)
    unit, q = max(1.0, path.excess), len(model.per_node)
    d = path.problems[0].x0.shape[1] - q
    parameters, starts = posterior_samples(path, POSTERIOR_SAMPLES, seed, cg=NODE_VALUE_CG)
    parameters = parameters[:, : len(model.names)]
    p = path.problems[0].x0[:, d:]
    values, draws = torch.cat([model.values, p.T.reshape(-1)]), parameters
    if q:
        draws = torch.cat([parameters, starts[0][..., d:].mT.reshape(len(parameters), -1)], dim=1)
    covariance = unit**2 * pseudo_inverse(path.normal) if len(model.names) else torch.zeros(0, 0, dtype=torch.float64)
    errors = covariance.diagonal().clamp(min=0).sqrt()
    if q:
        errors = torch.cat([errors, draws[:, len(model.names) :].std(0)])
    measure = "the noise" if noisy else "the rounding"
    reason = (
        f"{type(law).__name__} with {', '.join(law.unknown)} estimated leaves residuals of {excess:.2f} times {measure}"
    )
    if not explained:
        reason += ', so it is not the whole law: model="interaction" looks for one that is'
    return Estimation(
        model.with_numbers(p),
        (model.names, model.per_node),
        values,
        errors,
        covariance,
        draws,
        [problem.x0[:, :d] for problem in path.problems],
        [some[..., :d] for some in starts],
        Evidence(
            "known",
            reason,
            tuple(path.problems[0].data.measured.share.tolist()),
            closed=excess,
            explained=explained,
        ),
        some_states(data),
    )
