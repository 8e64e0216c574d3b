"""Estimating what is unknown of a law: one value for all nodes, or one for each, drawn towards their common mean."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.linalg import lsmr

from ..laws import Law
from ..threads import threads_for
from ..trajectory import Trajectory
from .discovery import Evidence
from .gauss_newton import Batch, Fit, batch_of, dared, fit, misfit_of, residuals
from .known_law import KnownLaw, checked_law
from .network import Network
from .observations import QUIET, SILENT, Observations, integrals, observed, roughness_of, signed, some_states
from .posterior import DRAWS, drawn, inverse, variance_of
from .reweighting import reweighted
from .search import ENOUGH
from .smoothing import Noise
from .trajectory_fit import Course, Path, fit_path, followable, samples

SCALES = (0.1, 1.0, 10.0)  # of first values
PRECISION = 1e-8  # of integration, as a share of the states' size
TRIES = 12  # shots by which first values are judged
GOOD = 1e-3  # a misfit of shots with which other first values need not be tried
EXPLAINED = 2.0  # residuals of so many times the noise, which is itself estimated, are explained
CG = 200  # steps of conjugate gradients: values of nodes act through all times, and are far from diagonal


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
    if "not the whole law" in found.evidence.reason:
        warnings.warn(found.evidence.reason, stacklevel=4)
    return replace(found, seconds=time.monotonic() - began)


def _estimated(law: Law, trajectories: Sequence[Trajectory], seed: int) -> Estimation:
    rough = max(roughness_of(t) for t in trajectories)
    found: Estimation | None = None
    if rough < QUIET and all(t.mask is None for t in trajectories) and not law.unknown_per_node:
        found = _by_shots(law, [signed(observed(t, noisy=False)) for t in trajectories], seed, sure=rough < SILENT)
    if found is None:
        noisy = rough >= SILENT
        found = _by_courses(law, [signed(observed(t, noisy=noisy)) for t in trajectories], seed, noisy)
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


def _fitted(law: Law, data: Sequence[Observations]) -> Fit:
    """All that is unknown with one value for all nodes, by shots from snapshot to snapshot."""
    model = checked_law(law, data[0].network, data[0].level)
    model = replace(model, names=law.unknown, values=torch.ones(len(law.unknown), dtype=torch.float64), per_node=())
    scale = torch.stack([one.level.abs().amax(dim=(0, 1)) for one in data]).amax(0).clamp(min=1e-300)
    tolerance = PRECISION * scale
    few = [batch_of(one, torch.linspace(0, len(one.spans) - 1, TRIES).round().long().unique()) for one in data]
    tried = []
    for trial in _first_models(model, few, 1e3 * tolerance):
        found = fit(
            dared(trial, few, 8, 1e3 * tolerance, 128),
            few,
            iterations=8,
            tolerance=1e3 * tolerance,
            enough=1e-3,
            most_steps=128,
        )
        if found is not None:
            tried.append(found)
            if found.misfit < GOOD:
                break
    best: Fit | None = None
    for first in sorted(tried, key=lambda one: one.misfit):
        found = fit(first.model, [b for one in data for b in _batches(one)], iterations=30, tolerance=tolerance)
        if found is not None and (best is None or found.misfit < best.misfit):
            best = found
        if best is not None and best.excess < ENOUGH:
            break
    if best is None:
        raise ValueError(_lost(law))
    return best


def _lost(law: Law) -> str:
    return (
        f"{type(law).__name__} with {', '.join(law.unknown)} unknown cannot be followed along the data from any first value "
        'that was tried: give some of them a number, take more snapshots, or see what model="interaction" finds'
    )


def _first_models(model: KnownLaw, few: Sequence[Batch], tolerance: torch.Tensor) -> list[KnownLaw]:
    """First values, the three best of several scales; no two parameters have the same, lest they stay the same."""
    count = len(model.names)
    every = itertools.product(SCALES, repeat=count) if count <= 3 else [(s,) * count for s in SCALES]
    apart = 1 + 0.1 * torch.arange(count, dtype=torch.float64)
    tried = []
    for scales in every:
        trial = model.with_parameters(torch.tensor(scales, dtype=torch.float64) * apart)
        groups = residuals(trial, few, tolerance, 64)
        if groups:
            tried.append((misfit_of(trial, groups), trial))
    return [trial for value, trial in sorted(tried, key=lambda one: one[0])[:3] if value < float("inf")]


def _batches(one: Observations) -> list[Batch]:
    """All shots of a trajectory, in parts that fit into memory."""
    each = one.network.together()
    return [batch_of(one, part) for part in torch.arange(len(one.spans)).split(each)]


def _by_shots(law: Law, data: Sequence[Observations], seed: int, *, sure: bool) -> Estimation | None:
    """None if what is left open may be noise."""
    found = _fitted(law, data)
    explained = found.excess < ENOUGH
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
    values, covariance = found.model.values, variance_of(found) * inverse(found.normal)
    return Estimation(
        found.model.with_numbers(),
        (law.unknown, ()),
        values,
        covariance.diagonal().clamp(min=0).sqrt(),
        covariance,
        drawn(values, covariance, seed),
        [one.states[0] for one in data],
        None,
        Evidence("known", reason, tuple(data[0].measured.share.tolist()), closed=found.excess),
        some_states(data),
    )


# Along whole trajectories ---------------------------------------------------------------------------------------------


def _by_courses(law: Law, data: Sequence[Observations], seed: int, noisy: bool) -> Estimation:
    first = _fitted(law, data).model
    assert isinstance(first, KnownLaw)
    scale = torch.stack([one.level.abs().amax(dim=(0, 1)) for one in data]).amax(0).clamp(min=1e-300)
    tolerance = (1e-5 if noisy else PRECISION) * scale
    if law.unknown_per_node:
        path = _nodes_fitted(law, first, data[0], tolerance, seed)
    else:
        courses = followable(data, first, tolerance)
        path = None if courses is None else fit_path(first, courses, iterations=20)
    if path is None:
        raise ValueError(_lost(law))
    return _of_path(law, data, path, seed, noisy)


def _of_path(law: Law, data: Sequence[Observations], path: Path, seed: int, noisy: bool) -> Estimation:
    excess = path.excess
    if noisy:
        path = reweighted(path, cg=CG if law.unknown_per_node else 40)
    model = path.model
    assert isinstance(model, KnownLaw)
    unit, q = max(1.0, path.excess), len(model.per_node)
    d = path.courses[0].x0.shape[1] - q
    parameters, starts = samples(path, DRAWS, seed, cg=CG)
    parameters = parameters[:, : len(model.names)]
    p = path.courses[0].x0[:, d:]
    values, draws = torch.cat([model.values, p.T.reshape(-1)]), parameters
    if q:
        draws = torch.cat([parameters, starts[0][..., d:].mT.reshape(len(parameters), -1)], dim=1)
    covariance = unit**2 * inverse(path.normal) if len(model.names) else torch.zeros(0, 0, dtype=torch.float64)
    errors = covariance.diagonal().clamp(min=0).sqrt()
    if q:
        errors = torch.cat([errors, draws[:, len(model.names) :].std(0)])
    measure = "the noise" if noisy else "the rounding"
    enough = EXPLAINED if noisy else ENOUGH
    reason = (
        f"{type(law).__name__} with {', '.join(law.unknown)} estimated leaves residuals of {excess:.2f} times {measure}"
    )
    if excess > enough:
        reason += ', so it is not the whole law: model="interaction" looks for one that is'
    return Estimation(
        model.with_numbers(p),
        (model.names, model.per_node),
        values,
        errors,
        covariance,
        draws,
        [course.x0[:, :d] for course in path.courses],
        [some[..., :d] for some in starts],
        Evidence("known", reason, tuple(data[0].measured.share.tolist()), closed=excess),
        some_states(data),
    )


# A value for each node ------------------------------------------------------------------------------------------------


def _nodes_fitted(law: Law, first: KnownLaw, one: Observations, tolerance: torch.Tensor, seed: int) -> Path | None:
    """Values of nodes as features of the state that do not change, their mean and spread as what is known before.

    How much they spread is found from a fit in which they may spread widely.
    """
    common = tuple(name for name in law.unknown if name not in law.unknown_per_node)
    start = dict(zip(first.names, first.values, strict=True))
    model = replace(
        first,
        names=common,
        values=torch.tensor([float(start[name]) for name in common], dtype=torch.float64),
        per_node=law.unknown_per_node,
    )
    p = torch.stack([start[name].expand(one.network.n) for name in model.per_node], dim=1)
    model, p = _weak_values(model, p, one)
    spread = p.std(0) if len(p) > 1 else torch.zeros(p.shape[1], dtype=torch.float64)
    wide = 3 * spread + p.mean(0).abs() + 1e-3
    q = len(model.per_node)
    courses = followable([_augmented(one, p)], model, torch.cat([tolerance, torch.full((q,), torch.inf).double()]))
    if courses is None:
        return None
    (course,) = courses
    free = fit_path(model, [_towards(course, p.mean(0), wide)], iterations=20, cg=CG)
    if free is None:
        return None
    assert isinstance(free.model, KnownLaw)
    draws = samples(free, 2 * DRAWS, seed, cg=CG)[1][0][..., -q:]
    both = [_shrinkage(free.courses[0].x0[:, k - q], draws[..., k].std(0)) for k in range(q)]
    mean, spread = (torch.tensor(part, dtype=torch.float64) for part in zip(*both, strict=True))
    done = fit_path(free.model, [_towards(free.courses[0], mean, spread)], iterations=20, cg=CG)
    return free if done is None else done


def _augmented(one: Observations, p: torch.Tensor) -> Observations:
    """The trajectory with the values of nodes as features that are never seen."""
    T, q = len(one.times), p.shape[1]
    nothing = torch.full((T, *p.shape), torch.nan, dtype=torch.float64)
    unit = torch.ones(q, dtype=torch.float64)
    return replace(
        one,
        states=torch.cat([one.states, nothing], dim=-1),
        seen=torch.cat([one.seen, torch.zeros_like(nothing, dtype=torch.bool)], dim=-1),
        level=torch.cat([one.level, p.expand(T, *p.shape)], dim=-1),
        noise=torch.cat([one.noise, torch.ones_like(nothing)], dim=-1),
        unit=torch.cat([one.unit, unit]),
        measured=Noise(torch.cat([one.measured.additive, unit]), torch.cat([one.measured.share, 0 * unit])),
    )


def _towards(course: Course, mean: torch.Tensor, spread: torch.Tensor) -> Course:
    """With values of nodes that are known before to within mean +- spread."""
    q = len(mean)
    guess, error = course.guess.clone(), course.error.clone()
    guess[:, -q:], error[:, -q:] = mean, spread
    low, high = (bound.clone() for bound in course.bounds)
    low[-q:], high[-q:] = -torch.inf, torch.inf
    return replace(course, guess=guess, error=error, bounds=(low, high))


def _shrinkage(values: torch.Tensor, errors: torch.Tensor) -> tuple[float, float]:
    """Mean and spread of the population from which values with these errors come, the likeliest: empirical Bayes.

    Example:
        >>> mean, spread = _shrinkage(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.full((4,), 10.0))
        >>> mean, spread < 0.1
        (2.5, True)
    """
    p, s = values.double(), errors.double().clamp(min=1e-12)
    high = float(p.std() if len(p) > 1 else 0.0) + float(s.median())
    low = 1e-3 * min(float(s.median()), high)
    best = (-float("inf"), 0.0, 0.0)
    for tau in np.geomspace(max(low, 1e-12), 2 * max(high, 1e-11), 200).tolist():
        w = 1 / (tau**2 + s.square())
        mean = float((w * p).sum() / w.sum())
        likelihood = 0.5 * float(w.log().sum() - w.sum().log() - (w * (p - mean).square()).sum())
        best = max(best, (likelihood, mean, tau))
    return best[1], best[2]


def _weak_values(model: KnownLaw, p: torch.Tensor, one: Observations) -> tuple[KnownLaw, torch.Tensor]:
    """Values with which increments are integrals of rates along the path through the data: sparse least squares."""
    P = len(model.values)
    target = one.level.diff(dim=0)
    noise = (one.noise[1:].square() + one.noise[:-1].square()).sqrt()
    weight = 1 / (noise + 0.05 * target.abs() + 1e-3 * target.abs().amax(dim=(0, 1)).clamp(min=1e-300))
    best = (float("inf"), model, p)
    for _ in range(6):
        rate, own, edges, columns = _weak_parts(model, p, one)
        r = ((target - rate) * weight).reshape(-1)
        misfit = float(r.square().mean())
        if not misfit < 0.999 * best[0]:
            break
        best = (misfit, model, p)
        rows = (columns[..., :P] * weight.unsqueeze(-1)).flatten(0, 2)
        M = _sparse(one.network, own * weight.unsqueeze(-1), edges * weight[:, one.network.i].unsqueeze(-1))
        both = sparse.hstack([sparse.csr_array(rows.numpy()), M]).tocsr() if P else M
        size = np.sqrt(np.asarray(both.multiply(both).sum(0)).ravel())
        floor = 1e-6 * size.max() + 1e-300
        step = lsmr(both @ sparse.diags_array(1 / (size + floor)), r.numpy(), damp=1e-3, maxiter=300)[0] / (
            size + floor
        )
        model = model.with_parameters(model.values + torch.from_numpy(step[:P]))
        p = p + torch.from_numpy(step[P:]).reshape(p.shape)
    return best[1], best[2]


def _weak_parts(
    model: KnownLaw, p: torch.Tensor, one: Observations
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Integrals over each interval of the rate and of its derivatives by the values of nodes and those in common."""
    d = one.level.shape[-1]
    each = one.network.together(4)
    parts: list[list[torch.Tensor]] = []
    for inner, spans in zip(one.inner.split(each), one.spans.split(each), strict=True):
        x = torch.cat([inner, p.expand(*inner.shape[:2], *p.shape)], dim=-1).flatten(0, 1)
        s = model.slopes(x, one.network)
        wanted = (s.rate[..., :d], s.own[:, :, :d, d:], s.edges[:, :, :d, d:], s.columns[:, :, :d])
        parts.append([integrals(part.unflatten(0, inner.shape[:2]), spans) for part in wanted])
    rate, own, edges, columns = (torch.cat(part) for part in zip(*parts, strict=True))
    return rate, own, edges, columns


def _sparse(network: Network, own: torch.Tensor, edges: torch.Tensor) -> sparse.csr_array:
    """Derivatives (K, n, d, q) by a node's own values and (K, E, d, q) by those of neighbours as (K n d, n q)."""
    K, n, d, q = own.shape
    a, b = np.meshgrid(np.arange(d), np.arange(q), indexing="ij")
    block = np.arange(K)[:, None, None, None] * n * d
    rows, cols = [], []
    nodes = np.arange(n)
    for i, j in ((nodes, nodes), (network.i.numpy(), network.j.numpy())):
        rows.append((block + i[:, None, None] * d + a).ravel())
        cols.append(np.broadcast_to(j[:, None, None] * q + b, (K, len(j), d, q)).ravel())
    data = np.concatenate([own.numpy().ravel(), (edges * network.weights[:, None, None]).numpy().ravel()])
    return sparse.coo_array((data, (np.concatenate(rows), np.concatenate(cols))), shape=(K * n * d, n * q)).tocsr()
