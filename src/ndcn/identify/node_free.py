"""Free forms of nodes that differ: splines f and g of one shape, and offsets and scales of nodes, fitted along whole trajectories.

The start is the free form of nodes that are alike. What varies is decided by BIC of the likelihood with deviations and splines integrated
out to first order; penalties of the splines follow Fellner and Schall, as where nodes are alike.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch

from .._support.warn import warn
from ..data import Trajectory
from ..laws import (
    COUPLING,
    NODE_MEANS,
    OFFSET,
    SCALE,
    Basis,
    FreeForm,
    FreeModel,
    NodeEquation,
    NodeFreeForm,
    NodeFreeModel,
    Splines,
    knots_for,
)
from .clock import in_time, noted
from .node_discovery import EVIDENCE, may_differ, samples_of
from .node_fit import NodeFit, fit_nodes_along, node_problems
from .node_noise import with_own_noise
from .observations import Observations, integrals, largest, some_states
from .posterior import pseudo_inverse
from .residual_noise import residuals_are_noise
from .result import Evidence, FoundLaw
from .spline_fit import rate_prior
from .stretches import doubt_in_noise
from .tolerances import tolerance_along
from .trajectory_fit import Prior, TrajectoryFit
from .trajectory_splines import free_form_along

logger = logging.getLogger(__name__)

# Knots of f and of what g has of one state, of products, and on each side of differences, which sines need as many of as where nodes are
# alike; of the others half as many, as derivatives by all coefficients are kept for all stages.
KNOTS = (10, 4, 10)
MOST_NODES = 150  # whose derivatives by the coefficients take 0.3 GB
FIRST_SPREAD = 0.2  # of scales, and of offsets as a share of typical rates: where fits begin
FIRST_SHARE = 0.3  # of the information that data have on a part of the splines, with which its penalty begins: rough starts explode
TURNS = 8  # of Gauss-Newton in the weak form
WIDE = 5.0  # times ``FIRST_SPREAD``: a spread in the weak form that decides nothing
SCREENING_ITERATIONS = 8
ROUNDS = 5  # of penalties
ROUND_ITERATIONS = 3
EXTRAPOLATION = (
    2.0  # the power to which a factor is raised while a penalty goes the same way, as Fellner-Schall converges slowly
)
LARGEST_FACTOR = 30.0  # by which a round changes a penalty at most
SETTLED = 0.5  # degrees of freedom by which all parts together change when penalties are found
PRETENDED = 1e-3  # noise, as a share, with which data without noise are followed: splines leave more open than rounding


@dataclass(frozen=True)
class FreeNodes:
    """A free form whose nodes differ, and by how much BIC is larger if they are alike."""

    fit: NodeFit
    gain: float
    doubt: str | None
    noisy: bool

    @property
    def model(self) -> NodeFreeModel:
        """f, g and what varies."""
        return cast(NodeFreeModel, self.fit.model)

    @property
    def explained(self) -> bool:
        """Whether it leaves nothing to explain."""
        return self.doubt is None


def free_form_of_nodes(
    trajectories: Sequence[Trajectory],
    data: Sequence[Observations],
    free: TrajectoryFit | None,
    seed: int,
    *,
    noisy: bool,
    given: bool,
) -> FoundLaw | None:
    """The law, where the free form of nodes that are alike, ``free``, leaves something open and nodes differ; ``given`` that they do, in any case."""
    data = data if noisy else softened(data)
    tolerance = tolerance_along(trajectories, data, noisy=True)
    free = free or free_form_along(data, tolerance, None)
    if free is None or (not given and residuals_are_noise(free)):
        return None
    found = free_nodes(data, free, tolerance, noisy=noisy)
    if found is None or not (found.explained or given):
        return None
    return found_free(found, data, tuple(trajectories[0].features), trajectories[0].graph.nodes, seed)


def free_nodes(
    data: Sequence[Observations], free: TrajectoryFit, tolerance: torch.Tensor, *, noisy: bool
) -> FreeNodes | None:
    """The free form of nodes that differ, if they do; ``free`` is that of nodes that are alike."""
    n, d = data[0].level.shape[1:]
    if d != 1 or n > MOST_NODES or not may_differ(data):
        return None
    assert isinstance(free.model, FreeModel)
    splines = _smaller(free.model, data)
    prior = _first_prior(splines, data)
    best: NodeFit | None = None
    for parts in in_time(((OFFSET,), (SCALE,), (COUPLING,))):
        best = _better(best, _fitted(data, NodeFreeModel(splines, parts), prior, tolerance))
    if best is None:
        return None
    (first,) = cast(NodeFreeModel, best.model).parts
    for part in in_time([part for part in NODE_MEANS if part != first]):
        both = tuple(one for one in NODE_MEANS if one in (first, part))
        best = _better(best, _fitted(data, NodeFreeModel(splines, both), prior, tolerance))
    assert best is not None
    best = _with_penalties(best)
    if noisy:
        best = with_own_noise(best, rounds=1, iterations=ROUND_ITERATIONS)
    same = _with_parts(best, ())
    gain = float("inf") if same is None else same.score - best.score
    if gain < EVIDENCE:
        return None
    return FreeNodes(best, gain, doubt_in_noise(best), noisy)


def _better(best: NodeFit | None, other: NodeFit | None) -> NodeFit | None:
    if other is None:
        return best
    noted(other.excess)
    parts = cast(NodeFreeModel, other.model).parts
    logger.debug("free form, %s: %.1f %.3f, spread %s", " and ".join(parts), other.score, other.excess, other.spread)
    return other if best is None or other.score < best.score else best


def softened(data: Sequence[Observations]) -> list[Observations]:
    """Data without noise as if they had a little."""
    size = largest(data)
    noise = replace(data[0].measured, additive=PRETENDED / 10 * size, share=torch.full_like(size, PRETENDED))
    return [replace(one, measured=noise) for one in data]


def _smaller(free: FreeModel, data: Sequence[Observations]) -> FreeModel:
    """Nearly the same f and g on fewer knots."""
    states = torch.cat([one.level.reshape(-1) for one in data]).numpy()
    single, few, sides = KNOTS
    widest = max(float((one.level[:, one.network.j] - one.level[:, one.network.i]).abs().max()) for one in data)
    gaps = (torch.arange(-sides, sides + 1) * (max(widest, 1e-12) / sides)).tolist()
    basis = Basis((Splines(knots_for(states, single)),), (Splines(knots_for(states, few)),), (Splines(gaps),))
    rows, wanted = [], []
    where = basis.blocks["f0"]
    for one in data:
        x = one.level
        columns = basis.columns(x, one.network).flatten(0, 1)
        old = free.basis.columns(x, one.network).flatten(0, 1) * free.coefficients[0]
        f = old[:, free.basis.blocks["f0"]].sum(1)
        both = torch.zeros_like(columns)
        both[:, where] = columns[:, where]
        rows += [both, columns - both]
        wanted += [f, old.sum(1) - f]
    M, y = torch.cat(rows), torch.cat(wanted)
    penalty = basis.penalty()
    A = M.T @ M
    weight = FIRST_SHARE * float(A.trace() / penalty.trace().clamp(min=1e-300))
    c = pseudo_inverse(A + weight * penalty) @ (M.T @ y)
    return FreeModel(basis, c.unsqueeze(0))


def _first_prior(splines: FreeModel, data: Sequence[Observations]) -> Prior:
    """Penalties that are weak beside what smooth data tell of the splines, and what is known of rates before."""
    basis = splines.basis
    information = torch.zeros(basis.size, basis.size, dtype=torch.float64)
    for one in data:
        W = basis.columns(one.level[:-1], one.network) * one.spans[:, None, None]
        sigma = one.measured.at(one.level[1:]).clamp(min=1e-12)
        rows = (W / sigma).flatten(0, 1)
        information += rows.T @ rows
    precision = rate_prior(basis, data, None).clone()
    for where, S in _parts(basis):
        share = float(information[where, where].trace() / S.trace())
        precision[where, where] += FIRST_SHARE * share * S
    return Prior(torch.zeros(basis.size, dtype=torch.float64), precision)


def _parts(basis: Basis) -> list[tuple[slice, torch.Tensor]]:
    whole = basis.penalty()
    return [(where, whole[where, where]) for where in basis.blocks.values()]


def _fitted(
    data: Sequence[Observations], model: NodeFreeModel, prior: Prior, tolerance: torch.Tensor
) -> NodeFit | None:
    model, u = _weak_start(data, model, prior)
    law = cast(NodeEquation, model)  # of an equation a fit needs what every model has
    problems = node_problems(data, law, u, tolerance)
    if problems is None:
        return None
    spread = np.maximum(u.numpy().std(0), _first_spread(data, model) / 10)
    return fit_nodes_along(law, u, problems, spread, iterations=SCREENING_ITERATIONS, prior=prior)


def _first_spread(data: Sequence[Observations], model: NodeFreeModel) -> np.ndarray:
    speeds = torch.cat([(one.level.diff(dim=0) / one.spans[:, None, None]).abs().flatten() for one in data])
    return np.array([FIRST_SPREAD * (float(speeds.mean()) if part == OFFSET else 1.0) for part in model.parts])


def _weak_start(data: Sequence[Observations], model: NodeFreeModel, prior: Prior) -> tuple[NodeFreeModel, torch.Tensor]:
    """Splines and deviations together by the weak form along the path through the data, which is linear in each of them."""
    basis, n = model.splines.basis, data[0].level.shape[1]
    rows, targets, spans = [], [], []
    for one in data:
        inner = one.inner[:]
        columns = basis.columns(inner.flatten(0, 1), one.network).unflatten(0, inner.shape[:2])
        weight = 1 / (one.noise[1:].square() + one.noise[:-1].square()).sqrt().clamp(min=1e-12)
        rows.append(integrals(columns, one.spans) * weight)
        targets.append((one.level.diff(dim=0) * weight)[..., 0])
        spans.append((one.spans[:, None, None] * weight)[..., 0])
    W, y, o = torch.cat(rows), torch.cat(targets), torch.cat(spans)  # (K, n, size), (K, n), (K, n)
    own = torch.zeros(basis.size, dtype=torch.float64)
    own[basis.blocks["f0"]] = 1.0
    c, u = model.splines.coefficients[0].clone(), torch.zeros(n, len(model.parts), dtype=torch.float64)
    held = torch.diag(torch.from_numpy((WIDE * _first_spread(data, model)) ** -2.0))
    offset = torch.tensor([part == OFFSET for part in model.parts], dtype=torch.float64)
    for _ in range(TURNS):
        by = {part: u[:, k] for k, part in enumerate(model.parts)}
        nothing = torch.zeros(n, dtype=torch.float64)
        factors = 1 + by.get(SCALE, nothing)[:, None] * own + by.get(COUPLING, nothing)[:, None] * (1 - own)
        M = (W * factors).transpose(0, 1)  # (n, K, size)
        every = {OFFSET: o, SCALE: W @ (c * own), COUPLING: W @ (c * (1 - own))}
        V = torch.stack([every[part] for part in model.parts], -1).transpose(0, 1)  # (n, K, q)
        goal = y.T + (V * (u * (1 - offset)).unsqueeze(1)).sum(-1)  # rates are bilinear: what was counted twice
        B, A = M.mT @ V, V.mT @ V + held  # (n, size, q), (n, q, q)
        top, low = torch.einsum("nkp,nk->p", M, goal), torch.einsum("nkq,nk->nq", V, goal)
        inner = torch.linalg.solve(A, B.mT)  # deviations are eliminated
        whole = torch.einsum("nkp,nkr->pr", M, M) - torch.einsum("npq,nqr->pr", B, inner) + prior.precision
        right = top - torch.einsum("npq,nq->p", B, torch.linalg.solve(A, low.unsqueeze(-1))[..., 0])
        c = torch.linalg.solve(whole, right + prior.precision @ prior.mean)
        u = torch.linalg.solve(A, (low - (B.mT @ c)).unsqueeze(-1))[..., 0]
    return replace(model, splines=model.splines.with_parameters(c)), u


def _with_parts(fitted: NodeFit, parts: tuple[str, ...]) -> NodeFit | None:
    """The same with other numbers varying."""
    old = cast(NodeFreeModel, fitted.model)
    model = replace(old, parts=parts)
    kept = [old.parts.index(part) for part in parts]
    u, spread = fitted.deviations[:, kept], fitted.spread[kept]
    law = cast(NodeEquation, model)
    return fit_nodes_along(law, u, fitted.problems, spread, iterations=SCREENING_ITERATIONS, prior=fitted.prior)


def _with_penalties(fitted: NodeFit) -> NodeFit:
    """Each part of the splines as rough as makes the data likeliest (Fellner-Schall)."""
    assert fitted.prior is not None
    basis = cast(NodeFreeModel, fitted.model).splines.basis
    parts = _parts(basis)
    before, last = float("inf"), [1.0] * len(parts)
    for _ in in_time(range(ROUNDS)):
        prior = fitted.prior
        assert prior is not None
        nq, P = fitted.deviations.numel(), basis.size
        held = torch.from_numpy(fitted.covariance[nq : nq + P, nq : nq + P].copy())
        free = pseudo_inverse(prior.precision)
        precision = prior.precision.clone()
        for k, (where, S) in enumerate(parts):
            c = fitted.model.parameters[where]
            factor = max(float(((free - held)[where, where] * S).sum()), 0.0) / max(float(c @ S @ c), 1e-300)
            factor = min(max(factor, 1 / LARGEST_FACTOR), LARGEST_FACTOR)
            same = (factor > 1) == (last[k] > 1)
            last[k], factor = factor, factor ** (EXTRAPOLATION if same else 1.0)
            precision[where, where] += (factor - 1) * _penalty_of(prior.precision[where, where], S) * S
        again = fit_nodes_along(
            fitted.model,
            fitted.deviations,
            fitted.problems,
            fitted.spread,
            iterations=ROUND_ITERATIONS,
            prior=Prior(prior.mean, precision),
        )
        if again is None:
            break
        fitted = again
        logger.debug("  free form of nodes %.4f, %.1f degrees of freedom", fitted.excess, fitted.common)
        if abs(fitted.common - before) < SETTLED:
            break
        before = fitted.common
    return fitted


def _penalty_of(precision: torch.Tensor, S: torch.Tensor) -> float:
    """The weight with which a penalty is in a precision, the rest of which is diagonal and of no direction of its own."""
    off = ~torch.eye(len(S), dtype=torch.bool)
    return float((precision[off] * S[off]).sum() / S[off].square().sum().clamp(min=1e-300))


def found_free(
    found: FreeNodes, data: Sequence[Observations], features: tuple[str, ...], nodes: Sequence[Hashable], seed: int
) -> FoundLaw:
    """The law with its errors, posterior samples and evidence."""
    fit, model = found.fit, found.model
    n, q = fit.deviations.shape
    P = len(fit.model.parameters)
    samples, initial_samples = samples_of(fit, np.zeros(0), seed)
    means = torch.tensor([NODE_MEANS[part] for part in model.parts], dtype=torch.float64)
    folded = [
        _folded(model, numbers[:P], numbers[P:].reshape(q, n).T + means)
        for numbers in torch.cat(
            [torch.cat([fit.model.parameters, fit.deviations.T.reshape(-1)]).unsqueeze(0), samples]
        )
    ]
    coefficients, values = folded[0]
    mean = FreeForm(model.splines.basis, coefficients.reshape(1, -1), features)
    wide = values.std(0) if n > 1 else torch.zeros(q, dtype=torch.float64)
    law = NodeFreeForm(mean, model.parts, values, wide, nodes)
    drawn = torch.stack([torch.cat([c, v.T.reshape(-1)]) for c, v in folded[1:]])
    covariance = torch.cov(drawn[:, :P].T)
    own = drawn[:, P:].std(0)
    errors = torch.cat([covariance.diagonal().clamp(min=0).sqrt(), own])
    what = " and ".join(model.parts)
    left = "the noise" if found.noisy else f"a noise of {100 * PRETENDED:g} %"
    reason = (
        f"free form of one shape: {what} {'varies' if q == 1 else 'vary'} among nodes: if nodes are alike BIC is {found.gain:.3g} "
        f"higher; it leaves residuals of {fit.excess:.2f} times {left}"
    )
    if found.doubt is not None:
        reason = f"{reason}; it {found.doubt}"
        warn(f"do not trust this law: it {found.doubt}")
    noise = tuple(fit.problems[0].data.measured.share.tolist()) if found.noisy else (0.0,) * len(features)
    evidence = Evidence("free", reason, noise, None, fit.excess, None, found.explained)
    initial = [problem.x0 for problem in fit.problems]
    return FoundLaw(law, covariance, errors, drawn, initial, initial_samples, evidence, some_states(data))


def _folded(
    model: NodeFreeModel, coefficients: torch.Tensor, values: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Coefficients and values whose means are 0 for offsets and 1 for scales, of the same rates."""
    basis = model.splines.basis
    own = torch.zeros(basis.size, dtype=torch.bool)
    own[basis.blocks["f0"]] = True
    c, by = coefficients.clone(), dict(zip(model.parts, values.T.clone(), strict=True))
    for part, where in ((SCALE, own), (COUPLING, ~own)):
        if part in by:
            middle = by[part].mean()
            c[where] *= middle
            by[part] = by[part] / middle
    if OFFSET in by:  # splines add up to 1
        middle = by[OFFSET].mean()
        c[own] += middle
        by[OFFSET] = by[OFFSET] - middle * by.get(SCALE, torch.ones_like(by[OFFSET]))
    return c, torch.stack([by[part] for part in model.parts], 1)
