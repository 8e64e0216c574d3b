"""Fitting whole trajectories: Gauss-Newton on the parameters and the initial states together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from ..laws import Model
from .clock import in_time
from .posterior import pseudo_inverse
from .trajectory_problem import TrajectoryProblem
from .trajectory_system import HUBER, NoiseDraws, NormalEquations, normal_equations, recorded

# Steps of conjugate gradients that eliminate initial states. Steps lead down however few there are (docs/interaction.md, How it works, 7), so
# that this trades the time of an iteration for their number.
COMMON_CG = 40
SAMPLING_CG = 25  # as above: samples need no more digits than standard errors have
# Of the Gauss-Newton step that are tried; shorter ones would gain less than ``enough``.
STEP_LENGTHS = (1.0, 0.5, 0.2, 0.05, 0.01)
BEYOND_PROMISE = 3.0  # times the fall of chi^2 that the linear model promises: further it does not get
SLOW_AFTER = 2  # iterations: the first steps may be short ones
FASTER = 2.0  # times what the last step gained, in each iteration that is left
TYPICAL_UNIT = 1.5  # a normal distribution has its median |residual| at 1 / 1.48


@dataclass(frozen=True)
class Prior:
    """What is known of parameters before a fit: a normal distribution with this mean (P,) and precision (P, P)."""

    mean: torch.Tensor
    precision: torch.Tensor

    def cost(self, p: torch.Tensor) -> float:
        """By how much chi^2 is larger for these parameters."""
        return float((p - self.mean) @ self.precision @ (p - self.mean))


@dataclass(frozen=True)
class TrajectoryFit:
    """A fitted model with the initial states of its trajectories."""

    model: Model
    problems: tuple[TrajectoryProblem, ...]  # with their initial states
    chi2: float  # sum of squared residuals in units of the noise (robust), those of the initial state being from what is known of it
    count: int  # of residuals
    normal: torch.Tensor  # information on the parameters, what the initial states could explain taken out, (P, P)
    prior: Prior | None = None  # what was known of the parameters before, if anything
    columns: tuple[np.ndarray, ...] = ()  # Y of each initial state, see NormalEquations

    def following(self, parameters: torch.Tensor) -> list[TrajectoryProblem]:
        """The problems with initial states that follow other parameters, to first order."""
        move = (parameters - self.model.parameters).numpy()
        return [
            problem.moved(-torch.from_numpy(Y @ move).reshape(problem.x0.shape))
            for problem, Y in zip(self.problems, self.columns, strict=True)
        ]

    @property
    def excess(self) -> float:
        """Residuals in units of the noise, root mean square."""
        return (self.chi2 / max(self.count, 1)) ** 0.5

    @property
    def inflation(self) -> float:
        """By which factor the noise was underestimated, as far as residuals show: at least 1."""
        return max(1.0, self.excess)

    @property
    def information(self) -> torch.Tensor:
        """Of the data on the parameters, with the noise that residuals show, (P, P)."""
        return self.normal / self.inflation**2

    def covariance(self) -> torch.Tensor:
        """Of the parameters by the data alone, with the noise that residuals show, (P, P)."""
        return self.inflation**2 * pseudo_inverse(self.normal)

    def share(self) -> float:
        """Residuals as a share of how far states are from their mean, of the feature that is missed most."""
        missed, far = torch.zeros(2, self.problems[0].x0.shape[-1], dtype=torch.float64)
        for problem in self.problems:
            one = problem.data
            states = problem.followed(self.model)
            if states is None:
                return float("inf")
            known = torch.where(one.seen, one.states, torch.nan)
            missed += (known - states).abs().nansum(dim=(0, 1))
            far += (known - known.nanmean(dim=(0, 1))).abs().nansum(dim=(0, 1))
        return float((missed / far.clamp(min=1e-300)).max())


def objective(
    model: Model, problems: Sequence[TrajectoryProblem], unit: float = 1.0, sigmas: Sequence[torch.Tensor] | None = None
) -> tuple[float, int] | None:
    """Robust chi^2 of all trajectories, and the number of observations; None if one explodes.

    Residuals are counted in ``unit`` times the noise: far from the solution most of them are large. The noise is that at
    the states themselves, or ``sigmas``: trajectories are compared by the same noise, as those with larger states would
    else be preferred for the larger noise they have.
    """
    total = 0.0
    for k, problem in enumerate(problems):
        states = problem.followed(model)
        if states is None:
            return None
        total += _chi2(problem, states, unit, None if sigmas is None else sigmas[k])
    return total, sum(int(problem.data.seen[1:].sum()) for problem in problems)


def _residuals(problem: TrajectoryProblem, states: torch.Tensor, sigma: torch.Tensor | None = None) -> torch.Tensor:
    """All but those of the first snapshot, in units of the noise."""
    noise = problem.sigma(states) if sigma is None else sigma
    return ((problem.data.states - states) / noise)[1:][problem.data.seen[1:]]


def _chi2(problem: TrajectoryProblem, states: torch.Tensor, unit: float, sigma: torch.Tensor | None = None) -> float:
    initial = (problem.guess - problem.x0) / problem.error / unit
    return float(_huber(_residuals(problem, states, sigma) / unit).sum() + _huber(initial).sum())


def _huber(r: torch.Tensor) -> torch.Tensor:
    size = r.abs()
    return torch.where(size <= HUBER, r.square(), 2 * HUBER * size - HUBER**2)


def fit_trajectories(
    model: Model,
    problems: Sequence[TrajectoryProblem],
    *,
    iterations: int = 10,
    move_initial: bool = True,
    prior: Prior | None = None,
    enough: float = 1e-4,
    cg: int = COMMON_CG,
    least: float = math.inf,
) -> TrajectoryFit | None:
    """Parameters and initial states with the least chi^2; None if the model diverges along the data.

    By at most so many iterations of Gauss-Newton; one that lowers chi^2 by less than a share ``enough`` is the last, as is one after which chi^2
    will not fall to ``least``. Initial states may move if ``move_initial``, and are eliminated by ``cg`` steps of conjugate gradients.
    """
    problems = list(problems)
    normal = torch.eye(len(model.parameters), dtype=torch.float64)
    columns: list[np.ndarray] = [np.zeros((problem.x0.numel(), len(normal))) for problem in problems]
    chi2s: list[float] = []  # of iterations before
    for done in in_time(range(iterations)):
        tapes = recorded(model, problems)
        if tapes is None:
            return None
        along = [tape.states for tape in tapes]
        unit = _unit(problems, along)
        equations = normal_equations(model, tapes, problems, move_initial=move_initial, cg=cg, unit=unit)
        del tapes  # the next ones take their memory
        normal, columns = equations.normal, equations.columns
        problems = [replace(p, elimination=e) for p, e in zip(problems, equations.eliminations, strict=True)]
        if math.isfinite(least) and prior is None:
            chi2s.append(sum(_chi2(problem, states, 1.0) for problem, states in zip(problems, along, strict=True)))
            if _beyond(chi2s, equations, least, iterations - done):
                break
        better = _step(model, problems, along, equations, prior, unit)
        if better is None:
            break
        model, problems, gain = better
        if gain < enough:
            break
    total = objective(model, problems)
    return (
        None
        if total is None
        else TrajectoryFit(model, tuple(problems), total[0], total[1], normal, prior, tuple(columns))
    )


def _beyond(chi2s: Sequence[float], equations: NormalEquations, least: float, left: int) -> bool:
    """Whether chi^2 will not fall to ``least``: by several times what the linear model promises, or what the last step gained."""
    here = chi2s[-1]
    if here <= least:
        return False
    if len(chi2s) > SLOW_AFTER and here - FASTER * left * (chi2s[-2] - here) > least:
        return True
    b = equations.gradient[:, 0]
    if not (equations.normal.isfinite().all() and b.isfinite().all()):
        return False
    promised = float(b @ _solve(equations.normal, b)) + equations.initial_gain
    return here - BEYOND_PROMISE * promised > least


def _step(
    model: Model,
    problems: Sequence[TrajectoryProblem],
    along: Sequence[torch.Tensor],
    equations: NormalEquations,
    prior: Prior | None,
    unit: float,
) -> tuple[Model, list[TrajectoryProblem], float] | None:
    """The first of some step lengths that leads down, and by which share; None if none does."""
    p = model.parameters
    A = equations.normal
    b = equations.gradient[:, 0]
    if prior is not None:
        A = A + prior.precision
        b = b - prior.precision @ (p - prior.mean)
    if not (A.isfinite().all() and b.isfinite().all()):
        return None
    delta = _solve(A, b)
    sigmas = [problem.sigma(states) for problem, states in zip(problems, along, strict=True)]
    here = sum(_chi2(problem, states, unit) for problem, states in zip(problems, along, strict=True))
    before = here + (0.0 if prior is None else prior.cost(p) / unit**2)
    shifts = [
        move[0] - torch.from_numpy(column @ delta.numpy()).reshape(move[0].shape)
        for move, column in zip(equations.moves, equations.columns, strict=True)
    ]
    for length in STEP_LENGTHS:
        trial = model.with_parameters(p + length * delta)
        others = [problem.moved(length * shift) for problem, shift in zip(problems, shifts, strict=True)]
        there = objective(trial, others, unit, sigmas)
        if there is None:
            continue
        after = there[0] + (0.0 if prior is None else prior.cost(p + length * delta) / unit**2)
        if after < before:
            return trial, others, 1 - after / before
    return None


def _unit(problems: Sequence[TrajectoryProblem], along: Sequence[torch.Tensor]) -> float:
    """The typical residual in units of the noise, at least 1."""
    sizes = [_residuals(problem, states).abs() for problem, states in zip(problems, along, strict=True)]
    return max(1.0, TYPICAL_UNIT * float(torch.cat(sizes).median()))


def posterior_samples(
    fitted: TrajectoryFit, count: int, seed: int, *, move_initial: bool = True, cg: int = SAMPLING_CG
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Samples of the posterior, to first order: parameters (count, P), initial states (count, n, d) of each trajectory.

    Each is the solution for observations with other noise, of the size that the residuals have.
    """
    tapes = recorded(fitted.model, fitted.problems)
    p = fitted.model.parameters
    if tapes is None:
        return p.expand(count, -1), [problem.x0.expand(count, -1, -1) for problem in fitted.problems]
    generator = torch.Generator().manual_seed(seed)
    noise = NoiseDraws(count, generator)
    equations = normal_equations(
        fitted.model, tapes, fitted.problems, move_initial=move_initial, cg=cg, unit=1.0, draws=noise
    )
    size = fitted.inflation
    normal = equations.normal / size**2
    gradient = equations.gradient / size
    if fitted.prior is not None:
        values, vectors = torch.linalg.eigh(fitted.prior.precision)
        drawn = torch.randn(len(p), count, generator=generator, dtype=torch.float64)
        normal = normal + fitted.prior.precision
        gradient = gradient + (vectors * values.clamp(min=0).sqrt()) @ drawn
    delta = torch.stack([_solve(normal, g) for g in gradient.T])
    initial = []
    for problem, move, column in zip(fitted.problems, equations.moves, equations.columns, strict=True):
        shift = size * move - (torch.from_numpy(column) @ delta.T).T.reshape(count, *problem.x0.shape)
        initial.append(torch.clamp(problem.x0 + shift, *problem.bounds))
    return p + delta, initial


def _solve(A: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A^-1 b for a symmetric A of any scaling; 0 if something is infinite."""
    size = A.diagonal().clamp(min=1e-100).sqrt()
    scaled = A / torch.outer(size, size)
    if not (scaled.isfinite().all() and (b / size).isfinite().all()):
        return torch.zeros_like(b)
    return torch.linalg.lstsq(scaled, b / size, driver="gelsd", rcond=1e-13).solution / size
