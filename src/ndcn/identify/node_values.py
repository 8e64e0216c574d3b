"""Unknown values of a law for each node, shrunk towards their common mean (empirical Bayes)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.linalg import lsmr

from ..laws import Law, Network
from .data_smoothing import Noise
from .known_law import KnownLaw
from .observations import Observations, integrals
from .posterior import POSTERIOR_SAMPLES
from .trajectory_fit import TrajectoryFit, fit_trajectories, posterior_samples
from .trajectory_problem import TrajectoryProblem, problems_for

# Steps of conjugate gradients: values of nodes act through all times, far from diagonal equations. With fewer their errors are too small.
NODE_VALUE_CG = 200
WIDE = 3.0  # standard deviations of first estimates, and their mean: a prior that decides nothing
ITERATIONS = 20  # of Gauss-Newton
WEAK_ITERATIONS = 6  # of Gauss-Newton on the weak form, which is a start only
STEP_SHARE = 0.05  # of an increment that the path through the data may be off by, beside its noise
LEAST_INCREMENT = 1e-3  # of the largest increment: those below it do not count for more
GRID = 200  # spreads at which the likelihood is compared, by a few percent over three decades


def fit_nodes(law: Law, first: KnownLaw, one: Observations, tolerance: torch.Tensor, seed: int) -> TrajectoryFit | None:
    """Values of nodes as features of the state that do not change, their mean and spread as what is known before.

    How much they spread is found from a fit in which they may spread widely.
    """
    common = tuple(name for name in law.unknown if name not in law.unknown_per_node)
    start = dict(zip(first.names, first.values, strict=True))
    values = torch.tensor([float(start[name]) for name in common], dtype=torch.float64)
    model = replace(first, names=common, values=values, per_node=law.unknown_per_node)
    p = torch.stack([start[name].expand(one.network.n) for name in model.per_node], dim=1)
    model, p = _weak_values(model, p, one)
    spread = p.std(0) if len(p) > 1 else torch.zeros(p.shape[1], dtype=torch.float64)
    wide = WIDE * spread + p.mean(0).abs() + 1e-3
    q = len(model.per_node)
    problems = problems_for([_augmented(one, p)], model, torch.cat([tolerance, torch.full((q,), torch.inf).double()]))
    if problems is None:
        return None
    (problem,) = problems
    free = fit_trajectories(model, [_towards(problem, p.mean(0), wide)], iterations=ITERATIONS, cg=NODE_VALUE_CG)
    if free is None:
        return None
    samples = posterior_samples(free, 2 * POSTERIOR_SAMPLES, seed, cg=NODE_VALUE_CG)[1][0][..., -q:]
    (problem,) = free.problems
    both = [shrinkage(problem.x0[:, k - q], samples[..., k].std(0)) for k in range(q)]
    mean, spread = (torch.tensor(part, dtype=torch.float64) for part in zip(*both, strict=True))
    shrunk = [_towards(problem, mean, spread)]
    return fit_trajectories(free.model, shrunk, iterations=ITERATIONS, cg=NODE_VALUE_CG) or free


def _augmented(one: Observations, p: torch.Tensor) -> Observations:
    """The trajectory with the values of nodes as features that are never seen."""
    T = len(one.times)
    q = p.shape[1]
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


def _towards(problem: TrajectoryProblem, mean: torch.Tensor, spread: torch.Tensor) -> TrajectoryProblem:
    """With values of nodes that are known before to within mean +- spread."""
    q = len(mean)
    guess = problem.guess.clone()
    error = problem.error.clone()
    guess[:, -q:] = mean
    error[:, -q:] = spread
    low, high = (bound.clone() for bound in problem.bounds)
    low[-q:] = -torch.inf
    high[-q:] = torch.inf
    return replace(problem, guess=guess, error=error, bounds=(low, high))


def shrinkage(values: torch.Tensor, errors: torch.Tensor) -> tuple[float, float]:
    """Mean and spread of the population from which values with these errors come, the likeliest: empirical Bayes.

    Example:
        >>> mean, spread = shrinkage(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.full((4,), 10.0))
        >>> mean, spread < 0.1
        (2.5, True)
    """
    p = values.double()
    s = errors.double().clamp(min=1e-12)
    high = float(p.std() if len(p) > 1 else 0.0) + float(s.median())
    low = 1e-3 * min(float(s.median()), high)
    best = (-float("inf"), 0.0, 0.0)
    for tau in np.geomspace(max(low, 1e-12), 2 * max(high, 1e-11), GRID).tolist():
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
    weight = 1 / (noise + STEP_SHARE * target.abs() + LEAST_INCREMENT * target.abs().amax(dim=(0, 1)).clamp(min=1e-300))
    best = (float("inf"), model, p)
    for _ in range(WEAK_ITERATIONS):
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
        unit = size + (1e-6 * size.max() + 1e-300)
        step = lsmr(both @ sparse.diags_array(1 / unit), r.numpy(), damp=1e-3, maxiter=300)[0] / unit
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
    rate, own, edges, columns = map(torch.cat, zip(*parts, strict=True))
    return rate, own, edges, columns


def _sparse(network: Network, own: torch.Tensor, edges: torch.Tensor) -> sparse.csr_array:
    """Derivatives (K, n, d, q) by a node's own values and (K, E, d, q) by those of neighbours as (K n d, n q)."""
    K, n, d, q = own.shape
    a, b = np.meshgrid(np.arange(d), np.arange(q), indexing="ij")
    block = np.arange(K)[:, None, None, None] * n * d
    rows = []
    cols = []
    for i, j in ((np.arange(n), np.arange(n)), (network.i.numpy(), network.j.numpy())):
        rows.append((block + i[:, None, None] * d + a).ravel())
        cols.append(np.broadcast_to(j[:, None, None] * q + b, (K, len(j), d, q)).ravel())
    data = np.concatenate([own.numpy().ravel(), (edges * network.weights[:, None, None]).numpy().ravel()])
    return sparse.coo_array((data, (np.concatenate(rows), np.concatenate(cols))), shape=(K * n * d, n * q)).tocsr()
