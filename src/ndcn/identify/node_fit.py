"""Laws whose nodes differ, fitted along whole trajectories: means, spreads and deviations of nodes, and initial states, together.

Gauss-Newton on all of them (Lindstrom and Bates, Biometrics 46, 1990): linearise, eliminate initial states, choose the spreads under which
what the linear model says is likeliest, move, and repeat.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from scipy import linalg

from ..laws import NodeEquation
from .clock import in_time
from .node_design import Design
from .node_paths import followed, recorded
from .node_spreads import inverse, likeliest_spreads, solved
from .observations import Observations
from .trajectory_fit import Prior
from .trajectory_problem import TrajectoryProblem, problem_of, steps_along
from .trajectory_system import HUBER

MOST_STEPS = 128  # of an interval
LOST_SHARE = 0.2  # of intervals that may need more
STEP_LENGTHS = (1.0, 0.5, 0.2, 0.05)
ENOUGH = 1e-4  # share of the loss
TYPICAL_UNIT = 1.5  # a normal distribution has its median |residual| at 1 / 1.48


@dataclass(frozen=True)
class NodeFit:
    """A law whose nodes differ, with its fit."""

    model: NodeEquation
    deviations: torch.Tensor  # u, (n, q)
    problems: tuple[TrajectoryProblem, ...]  # of the states alone, (n, d)
    spread: np.ndarray  # of each u among nodes or, with a design, of the rests that it leaves
    chi2: float
    count: int  # of residuals, those of initial states too
    logdet: float  # of 1 + spread F spread
    covariance: np.ndarray = field(repr=False)  # of u, node by node, then of the common parameters, then of ``slopes``
    # Of each trajectory: the factor of the information on its initial state, and how that moves when u and the parameters do.
    follow: tuple[tuple[np.ndarray, np.ndarray], ...] = field(repr=False, default=())
    design: Design = field(repr=False, kw_only=True)
    slopes: np.ndarray = field(repr=False, kw_only=True)  # beta of the design, (m,)
    rests: tuple[np.ndarray, np.ndarray] = field(
        repr=False, kw_only=True
    )  # deviations that the design leaves, and their variances
    prior: Prior | None = field(
        repr=False, kw_only=True, default=None
    )  # what is known of parameters before, as of splines

    @property
    def excess(self) -> float:
        """Residuals in units of the noise, root mean square; what was spent on initial states and deviations does not count."""
        return (self.chi2 / max(self.count - self.freedom, 1.0)) ** 0.5

    @property
    def freedom(self) -> float:
        """Numbers that were found: initial states, common parameters, and deviations as far as the data decide them."""
        own = sum(problem.x0.numel() for problem in self.problems)
        held = self.rests[1] / np.tile(self.spread**2, len(self.deviations))
        return own + self.common + len(self.slopes) + float(len(held) - held.sum())

    @property
    def common(self) -> float:
        """Common parameters, as far as the data decide them."""
        P = len(self.model.parameters)
        if self.prior is None:
            return P
        nq = self.deviations.numel()
        return P - float((self.covariance[nq : nq + P, nq : nq + P] * self.prior.precision.numpy()).sum())

    @property
    def score(self) -> float:
        """BIC of the likelihood with deviations integrated out: each mean and each spread counts as one number."""
        unit = max(1.0, self.excess**2)
        prior = float((self.rests[0] ** 2 / np.tile(self.spread**2, len(self.deviations))).sum())
        numbers = self.common + len(self.spread) + len(self.slopes)
        if self.prior is not None:
            prior += self.prior.cost(self.model.parameters)
        return (
            self.chi2 / unit
            + self.count * math.log(unit)
            + prior
            + self.logdet
            + numbers * math.log(max(self.count, 2))
        )

    @property
    def values(self) -> torch.Tensor:
        """Of each node, (n, q): common number and deviation."""
        return self.model.parameters[list(self.model.varying)] + self.deviations

    @property
    def errors(self) -> np.ndarray:
        """Standard errors of ``values``, (n, q)."""
        n, q = self.deviations.shape
        out = np.zeros((n, q))
        for k, place in enumerate(self.model.varying):
            own = np.arange(n) * q + k
            mean = n * q + place
            C = self.covariance
            out[:, k] = C[own, own] + C[mean, mean] + 2 * C[own, mean]
        return np.sqrt(np.maximum(out, 0.0))

    def states(self, problem: TrajectoryProblem) -> torch.Tensor | None:
        """The trajectory, (T, n, d)."""
        return followed(self.model, problem, self.deviations)


def node_problems(
    data: Sequence[Observations], model: NodeEquation, u: torch.Tensor, tolerance: torch.Tensor
) -> list[TrajectoryProblem] | None:
    """Trajectories with the steps that the model needs along the data; None if it is too fast."""
    wide = torch.cat([tolerance, torch.full((u.shape[1],), torch.inf, dtype=torch.float64)])
    out = []
    for one in data:
        states = torch.cat([one.level, u.expand(len(one.times), *u.shape)], dim=-1)
        steps = steps_along(model, one, states, wide, MOST_STEPS)
        if (steps == 0).float().mean() > LOST_SHARE:
            return None
        out.append(problem_of(one, torch.where(steps == 0, 2 * MOST_STEPS, steps).tolist()))
    return out


@dataclass(frozen=True)
class _Linear:
    """A quadratic model of chi^2 in (u, theta), initial states eliminated, and how these follow."""

    F: np.ndarray  # (n q + P, n q + P)
    g: np.ndarray
    back: list[tuple[np.ndarray, np.ndarray]]  # of each trajectory: its initial state moves by a - B (du, dtheta)
    factors: list[np.ndarray]  # of the information on initial states, L L^T


def _linearised(
    model: NodeEquation, u: torch.Tensor, problems: Sequence[TrajectoryProblem], unit: float
) -> _Linear | None:
    n, q = u.shape
    P = len(model.parameters)
    F, g = np.zeros((n * q + P, n * q + P)), np.zeros(n * q + P)
    back, factors = [], []
    for problem in problems:
        d = problem.x0.shape[1]
        path = recorded(model, problem, u)
        if path is None:
            return None
        weights, r = _weighted(problem, path.states, unit)
        size = n * (d + q) + P
        A, b = np.zeros((size, size)), np.zeros(size)
        chunk, sides = [], []
        held = 0
        for k, rows in enumerate(path.derivatives(), start=1):
            w = np.sqrt(weights[k])
            seen = w > 0
            chunk.append(rows[seen] * w[seen, None])
            sides.append(r[k][seen] * w[seen])
            held += int(seen.sum())
            if held > 4000 or k == len(weights) - 1:
                R, side = np.vstack(chunk), np.concatenate(sides)
                with np.errstate(over="ignore", invalid="ignore"):  # where it explodes: not finite, as is seen below
                    A += R.T @ R
                    b += R.T @ side
                chunk, sides, held = [], [], 0
        m = n * d
        prior = 1 / problem.error.square().reshape(-1).numpy()
        A[np.arange(m), np.arange(m)] += prior
        b[:m] += prior * (problem.guess - problem.x0).reshape(-1).numpy()
        if not (np.isfinite(A).all() and np.isfinite(b).all()):
            return None
        try:
            factor = linalg.cho_factor(A[:m, :m], lower=True, check_finite=False)
        except linalg.LinAlgError:
            return None
        B = linalg.cho_solve(factor, np.hstack([A[:m, m:], b[:m, None]]), check_finite=False)
        F += A[m:, m:] - A[m:, :m] @ B[:, :-1]
        g += b[m:] - A[m:, :m] @ B[:, -1]
        back.append((B[:, -1], B[:, :-1]))
        factors.append(np.tril(factor[0]))
    return _Linear((F + F.T) / 2, g, back, factors)


def _weighted(
    problem: TrajectoryProblem, states: torch.Tensor, unit: float
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Robust weights of all observations and what the states miss, by snapshot, (n d,)."""
    one = problem.data
    sigma = problem.sigma(states)
    miss = torch.where(one.seen, one.states - states, 0.0).nan_to_num(0.0)
    far = (miss / sigma).abs()
    robust = torch.where(far > HUBER * unit, HUBER * unit / far.clamp(min=1e-300), 1.0)
    w = torch.where(one.seen, robust / sigma.square(), 0.0)
    return [k.reshape(-1).numpy() for k in w], [k.reshape(-1).numpy() for k in miss]


def _chi2(
    model: NodeEquation,
    u: torch.Tensor,
    problems: Sequence[TrajectoryProblem],
    unit: float,
    sigmas: Sequence[torch.Tensor] | None = None,
) -> tuple[float, int, float, list[torch.Tensor]] | None:
    """Robust chi^2 in these units, observations, the typical residual, and the noise of each; None if a trajectory explodes."""
    total, count, sizes, noise = 0.0, 0, [], []
    for m, problem in enumerate(problems):
        one = problem.data
        states = followed(model, problem, u)
        if states is None:
            return None
        sigma = problem.sigma(states) if sigmas is None else sigmas[m]
        noise.append(sigma)
        r = ((one.states - states) / sigma)[1:][one.seen[1:]]
        first = ((problem.guess - problem.x0) / problem.error).reshape(-1)
        sizes.append(r.abs())
        total += float(_huber(r / unit).sum() + _huber(first / unit).sum())
        count += r.numel() + first.numel()
    return total, count, float(torch.cat(sizes).median()), noise


def misfit(model: NodeEquation, u: torch.Tensor, problems: Sequence[TrajectoryProblem]) -> float:
    """Robust chi^2, infinite if a trajectory explodes."""
    here = _chi2(model, u, problems, 1.0)
    return math.inf if here is None else here[0]


def _huber(r: torch.Tensor) -> torch.Tensor:
    size = r.abs()
    return torch.where(size <= HUBER, r.square(), 2 * HUBER * size - HUBER**2)


def fit_nodes_along(
    model: NodeEquation,
    u: torch.Tensor,
    problems: Sequence[TrajectoryProblem],
    spread: np.ndarray,
    *,
    iterations: int = 12,
    fixed_spread: bool = False,
    design: Design | None = None,
    prior: Prior | None = None,
) -> NodeFit | None:
    """The likeliest law, spreads and deviations of nodes; None if it diverges along the data.

    With a ``design`` deviations follow it, and ``spread`` is of what it leaves; ``prior`` is what is known of the parameters before.
    """
    problems = list(problems)
    n, q = u.shape
    P = len(model.parameters)
    spread = np.asarray(spread, dtype=float)
    design = design or Design.plain(n, q)
    T = design.unknowns(P)
    own, beta = design.split(u.reshape(-1).numpy())
    now = np.concatenate([own, model.parameters.numpy(), beta])
    u, some = torch.from_numpy((T @ now)[: n * q].reshape(n, q)), len(own)
    for _ in in_time(range(iterations)):
        here = _chi2(model, u, problems, 1.0)
        if here is None:
            return None
        unit = max(1.0, TYPICAL_UNIT * here[2])
        linear = _linearised(model, u, problems, unit)
        if linear is None:
            return None
        scaled = unit**2  # far from the solution residuals are not noise, and spreads are judged by their size
        F, g = _held(T.T @ linear.F @ T, T.T @ linear.g, model, some, prior, scaled)
        b = F @ now + g
        before_spread = spread
        if some and not fixed_spread:
            spread = likeliest_spreads(F / scaled, b / scaled, n, len(spread), spread)
        precision = np.concatenate([np.tile(1 / spread**2, n) * scaled, np.zeros(len(now) - some)])
        move = solved(F + np.diag(precision), b) - now
        step = T @ move
        base = _chi2(model, u, problems, unit, None)
        assert base is not None
        loss = base[0] + _penalty(now[:some], spread, model, prior)
        better = None
        for length in STEP_LENGTHS:
            du = torch.from_numpy(length * step[: n * q].reshape(n, q))
            trial = model.with_parameters(model.parameters + torch.from_numpy(length * step[n * q :]))
            moved = [
                problem.moved(torch.from_numpy(length * (a - B @ step)).reshape(problem.x0.shape))
                for problem, (a, B) in zip(problems, linear.back, strict=True)
            ]
            there = _chi2(trial, u + du, moved, unit, base[3])
            if there is None:
                continue
            later = now + length * move
            other = there[0] + _penalty(later[:some], spread, trial, prior)
            if other < loss:
                better = (trial, u + du, moved, later, other)
                break
        if better is None:
            break
        model, u, problems, now = better[:4]
        change = np.abs(np.log(spread / before_spread)).max() if some else 0.0
        if better[4] > (1 - ENOUGH) * loss and change < 0.05:
            break
    if some and model.centred:
        middle = torch.zeros(q, dtype=torch.float64)
        middle[list(design.rest)] = torch.from_numpy(now[:some].reshape(n, -1).mean(0))
        shift = torch.zeros(P, dtype=torch.float64)
        shift[list(model.varying)] = middle
        model, u = model.with_parameters(model.parameters + shift), u - middle
        now[:some] -= np.tile(middle[list(design.rest)].numpy(), n)
    return _finished(model, u, problems, spread, now, design, fixed_spread=fixed_spread, prior=prior)


def _penalty(rests: np.ndarray, spread: np.ndarray, model: NodeEquation, prior: Prior | None) -> float:
    """By how much what is known before raises chi^2: of deviations, and of the parameters."""
    own = float((rests.reshape(-1, len(spread)) ** 2 / spread**2).sum()) if len(rests) else 0.0
    return own if prior is None else own + prior.cost(model.parameters)


def _held(
    F: np.ndarray, g: np.ndarray, model: NodeEquation, first: int, prior: Prior | None, unit: float
) -> tuple[np.ndarray, np.ndarray]:
    """Information and slopes with what is known of the parameters before, which come after ``first`` unknowns."""
    if prior is None:
        return F, g
    where = slice(first, first + len(model.parameters))
    F, g = F.copy(), g.copy()
    F[where, where] += unit * prior.precision.numpy()
    g[where] += unit * (prior.precision @ (prior.mean - model.parameters)).numpy()
    return F, g


def _finished(
    model: NodeEquation,
    u: torch.Tensor,
    problems: Sequence[TrajectoryProblem],
    spread: np.ndarray,
    now: np.ndarray,
    design: Design,
    *,
    fixed_spread: bool,
    prior: Prior | None,
) -> NodeFit | None:
    """The fit with its errors; ``now`` has rests, parameters (those of the model count) and slopes."""
    here = _chi2(model, u, problems, 1.0)
    linear = _linearised(model, u, problems, max(1.0, TYPICAL_UNIT * here[2])) if here is not None else None
    if here is None or linear is None:
        return None
    n, q = u.shape
    chi2, count = here[0], here[1]
    P = len(model.parameters)
    own = sum(problem.x0.numel() for problem in problems)
    unit = max(1.0, chi2 / max(count - own - P - 0.5 * n * q, 1))
    T = design.unknowns(P)
    some, m = len(design.kept), design.columns.shape[1]
    now = np.concatenate([now[:some], model.parameters.numpy(), now[some + P :]])
    F, g = _held(T.T @ linear.F @ T / unit, T.T @ linear.g / unit, model, some, prior, 1.0)
    if some and not fixed_spread:
        likeliest = likeliest_spreads(F, F @ now + g, n, len(spread), spread)
        # not below that of the deviations as they are: one that collapses now would price them as if they were far out
        spread = np.maximum(likeliest, np.sqrt(np.square(now[:some].reshape(n, -1)).mean(0)))
    precision = np.concatenate([np.tile(1 / spread**2, n), np.zeros(P + m)])
    C = inverse(F + np.diag(precision))
    every = np.vstack([T, np.eye(len(now))[some + P :]])
    both = np.tile(spread, n)
    logdet = float(np.linalg.slogdet(np.eye(some) + both[:, None] * F[:some, :some] * both)[1]) if some else 0.0
    follow = tuple((factor / unit**0.5, B) for factor, (_, B) in zip(linear.factors, linear.back, strict=True))
    return NodeFit(
        model,
        u,
        tuple(problems),
        spread,
        chi2,
        count,
        logdet,
        every @ C @ every.T if m or some < n * q else C,
        follow,
        design=design,
        slopes=now[some + P :],
        rests=(now[:some], C.diagonal()[:some].copy()),
        prior=prior,
    )
