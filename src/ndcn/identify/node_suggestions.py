"""Which numbers of a law seem to vary among nodes: a linear model at a fit, in which what a node's numbers do to other nodes is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import torch

from ..laws import NodeEquation
from .mixed_model import MixedFit, NodeGrams
from .node_fit import NodeFit, misfit
from .node_paths import visited_along
from .trajectory_problem import TrajectoryProblem
from .trajectory_system import HUBER

MOST_VARYING = 3  # at once
ADDED_AT_ONCE = 2


def own_grams(model: NodeEquation, u: torch.Tensor, problems: Sequence[TrajectoryProblem]) -> NodeGrams | None:
    """Least squares of each node on what its own numbers do to its own states, initial states taken out."""
    rows, sides, count = [], [], 0
    q = u.shape[1]
    P = len(model.parameters)
    for problem in problems:
        found = _own_rows(model, u, problem)
        if found is None:
            return None
        W, y = found
        rows.append(W)
        sides.append(y)
        count += int((y != 0).sum())
    W, y = np.concatenate(rows, 1), np.concatenate(sides, 1)
    if q:
        y = y + np.einsum("nkq,nq->nk", W[..., list(model.varying)], u.numpy())
    assert W.shape[-1] == P
    return NodeGrams.of(W, y, max(count, 2))


def _own_rows(model: NodeEquation, u: torch.Tensor, problem: TrajectoryProblem) -> tuple[np.ndarray, np.ndarray] | None:
    one = problem.data
    n, d = problem.x0.shape
    P = len(model.parameters)
    found = visited_along(model, problem, u)
    if found is None:
        return None
    states, visited, lengths = found
    kernel = model.kernel(one.network)
    parts = []
    for some in visited.split(one.network.together(2)):
        if kernel is not None:
            _, own, _, columns = kernel.slopes(some.numpy())
        else:
            slopes = model.slopes(some, one.network)
            own, columns = slopes.own.numpy(), slopes.columns.numpy()
        parts.append((own[:, :, :d, :d], columns[:, :, :d]))
    J, C = (np.concatenate(part) for part in zip(*parts, strict=True))
    sigma = problem.sigma(states)
    miss = torch.where(one.seen, (one.states - states) / sigma, 0.0).nan_to_num(0.0).clamp(-HUBER, HUBER)
    weight = torch.where(one.seen, 1 / sigma, 0.0)
    S = np.concatenate([np.broadcast_to(np.eye(d), (n, d, d)), np.zeros((n, d, P))], axis=2)
    source = np.concatenate([np.zeros((*C.shape[:3], d)), C], axis=3)
    out, sides = [], []
    stage = 0
    for k, taken in enumerate(lengths):
        for h in taken:
            k1 = J[stage] @ S + source[stage]
            k2 = J[stage + 1] @ (S + h / 2 * k1) + source[stage + 1]
            k3 = J[stage + 2] @ (S + h / 2 * k2) + source[stage + 2]
            k4 = J[stage + 3] @ (S + h * k3) + source[stage + 3]
            S = S + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            stage += 4
        out.append(S * weight[k + 1].numpy()[..., None])
        sides.append(miss[k + 1].numpy())
    W, y = np.concatenate(out, 1), np.concatenate(sides, 1)  # (n, T d, d + P), (n, T d)
    if not np.isfinite(W).all():
        return None
    first, rest = W[..., :d], W[..., d:]
    prior = problem.error.numpy()[..., None] ** -2 * np.eye(d)
    A = first.transpose(0, 2, 1) @ first + prior
    every = np.concatenate([rest, y[..., None]], 2)
    both = np.linalg.solve(A, first.transpose(0, 2, 1) @ every)
    left = every - first @ both
    return left[..., :-1], left[..., -1]


def suggested(fitted: NodeFit, most: int) -> list[tuple[MixedFit, float]]:
    """Linear models in which other numbers vary, and by how much BIC falls, likeliest first, and likelier than now: one or two more, one less, or one exchanged."""
    grams = own_grams(fitted.model, fitted.deviations, fitted.problems)
    if grams is None:
        return []
    P = len(fitted.model.parameters)
    members = tuple(range(P))
    now = set(fitted.model.varying)
    sets = {tuple(sorted(now - {k})) for k in now} | {tuple(sorted(now))}
    for k in set(members) - now:
        sets |= {tuple(sorted(now | {k}))} | {tuple(sorted((now - {old}) | {k})) for old in now}
    if not now:
        sets |= set(combinations(members, ADDED_AT_ONCE))
    fits = [grams.fitted(members, one) for one in sets if len(one) <= MOST_VARYING]
    here = grams.fitted(members, tuple(sorted(now))).score
    better = (fit for fit in fits if fit.score < here)
    return [(fit, here - fit.score) for fit in sorted(better, key=lambda one: one.score)[:most]]


def best_alone(model: NodeEquation, problems: Sequence[TrajectoryProblem]) -> tuple[float, tuple[int, ...]]:
    """By how much BIC falls if the number varies that seems to, and which: a hint that nodes differ, quickly found."""
    u = torch.zeros(problems[0].x0.shape[0], 0, dtype=torch.float64)
    grams = own_grams(model, u, problems)
    if grams is None:
        return 0.0, ()
    members = tuple(range(len(model.parameters)))
    common = grams.fitted(members)
    fits: Sequence[MixedFit] = [grams.fitted(members, (k,)) for k in members]
    best = min(fits, key=lambda one: one.score, default=common)
    return common.score - best.score, best.varying


def with_varying(fitted: NodeFit, varying: tuple[int, ...]) -> tuple[NodeEquation, torch.Tensor, np.ndarray]:
    """A start in which other numbers vary: deviations and spreads where they are known, else small ones."""
    old = {place: k for k, place in enumerate(fitted.model.varying)}
    n = len(fitted.deviations)
    p = fitted.model.parameters
    u = torch.zeros(n, len(varying), dtype=torch.float64)
    spread = np.zeros(len(varying))
    for k, place in enumerate(varying):
        if place in old:
            u[:, k] = fitted.deviations[:, old[place]]
            spread[k] = fitted.spread[old[place]]
        else:
            spread[k] = 0.1 * abs(float(p[place])) + 1e-3
    return replace(fitted.model, varying=varying), u, spread


def as_suggested(fitted: NodeFit, said: MixedFit) -> tuple[NodeEquation, torch.Tensor, np.ndarray]:
    """A start in which those numbers vary that a linear model says: as it says, or half of the way there, or as they are, whichever is nearest to the data.

    What a number that no longer varies did for each node, others do at once: without them trajectories are far astray.
    """
    model, u, spread = with_varying(fitted, said.varying)
    there = model.parameters + torch.from_numpy(said.means)
    own = torch.from_numpy(said.deviations)
    starts = [(model, u, spread)]
    for share in (1.0, 0.5):
        moved = model.with_parameters(torch.lerp(model.parameters, there, share))
        starts.append((moved, torch.lerp(u, own, share), np.maximum(said.spreads, 1e-9)))
    return min(starts, key=lambda start: misfit(start[0], start[1], fitted.problems))
