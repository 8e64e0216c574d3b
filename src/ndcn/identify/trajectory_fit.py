"""Fitting whole trajectories: Gauss-Newton on the parameters and the first state together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from ..laws import Model
from ..solve import RK4
from .initial_states import best_initial_state
from .observations import Observations
from .shooting import steps_needed
from .tape import Tape, record, roll

STABLE = 2.0  # step times the sum of a row of the Jacobian: RK4 explodes from 2.8 on
COMMON_CG = 40
HUBER = 4.0  # residuals beyond so many times the noise count less


@dataclass(frozen=True)
class TrajectoryProblem:
    """One trajectory to be fitted: observations, steps for each interval, and the first state with its error."""

    data: Observations
    steps: tuple[int, ...]
    x0: torch.Tensor
    guess: torch.Tensor
    error: torch.Tensor
    bounds: tuple[torch.Tensor, torch.Tensor]

    def followed(self, model: Model) -> torch.Tensor | None:
        """The states of the model from the first one on, (T, n, d); None if they explode."""
        return roll(model, self.data.network, self.x0, self.data.spans, self.steps)

    def moved(self, step: torch.Tensor) -> TrajectoryProblem:
        """With another first state, not far outside what was ever seen."""
        return replace(self, x0=torch.clamp(self.x0 + step, *self.bounds))

    def movable(self, down: np.ndarray) -> np.ndarray:
        """Which first states may move in this direction, (n d,): not those at their bounds, nor those seen without noise."""
        x, (low, high) = self.x0, self.bounds
        along = torch.from_numpy(down).reshape(x.shape)
        stuck = ((x <= low) & (along < 0)) | ((x >= high) & (along > 0))
        return ~(stuck | (self.data.seen[0] & self.data.gaps)).reshape(-1).numpy()

    def sigma(self, states: torch.Tensor) -> torch.Tensor:
        """Noise of observations of these states."""
        return self.data.measured.at(states).clamp(min=1e-12)


def problems_for(data: Sequence[Observations], model: Model, tolerance: torch.Tensor) -> list[TrajectoryProblem] | None:
    """Courses with the steps that the model needs along them; None if it is too fast."""
    out = []
    for one in data:
        steps = steps_along(model, one, one.level, tolerance, 128)
        if (steps == 0).float().mean() > 0.2:
            return None
        out.append(problem_of(one, torch.where(steps == 0, 256, steps).tolist()))
    return out


def steps_along(
    model: Model, one: Observations, states: torch.Tensor, tolerance: torch.Tensor, most: int
) -> torch.Tensor:
    """Steps for each interval along these states, (T - 1,): for this error, and so that small errors fade where they should.

    Where the model stands still, large steps are accurate but let whatever is near it explode, derivatives first. Intervals
    for which ``most`` do not suffice get 0.
    """
    steps = steps_needed(model, one.network, states[:-1], one.spans, tolerance, most, RK4)
    fastest = []
    for some in states[:-1].split(one.network.together()):
        slopes = model.slopes(some, one.network)
        unit = tolerance.expand_as(some).reshape(-1).numpy()  # features are compared by how large they are
        sums = abs(one.network.jacobian(slopes.own, slopes.edges)) @ np.where(np.isfinite(unit), unit, 0.0) / unit
        fastest.append(torch.from_numpy(sums).reshape(len(some), -1).amax(1))
    stable = (one.spans * torch.cat(fastest) / STABLE).nan_to_num(torch.inf).clamp(max=most + 1).ceil().long()
    return torch.where((steps == 0) | (stable > most), 0, torch.maximum(steps, stable))


def problem_of(one: Observations, steps: Sequence[int]) -> TrajectoryProblem:
    """Ready to fit, from the first snapshot, as far as it was seen."""
    seen = one.seen[0]
    guess = torch.where(seen, one.states[0].nan_to_num(0.0), one.level[0])
    flat = one.level.reshape(-1, one.level.shape[-1])
    spread, low, high = flat.std(0), flat.amin(0), flat.amax(0)
    error = torch.where(seen, one.measured.at(guess), spread.expand_as(guess)) + 1e-9 * spread
    room = 0.2 * (high - low)
    bounds = (torch.where(low >= 0, torch.zeros_like(low), low - room), high + room)
    return TrajectoryProblem(one, tuple(steps), guess, guess, error, bounds)


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
    """A fitted model with the first states of its trajectories.

    Attributes:
        model: with its parameters.
        courses: with their first states.
        chi2: sum of squared residuals in units of the noise (robust), those of the first state being from what is known of it.
        count: how many.
        normal: information on the parameters, what the first states could explain taken out, (P, P).
        prior: what was known of the parameters before, if anything.
    """

    model: Model
    problems: tuple[TrajectoryProblem, ...]
    chi2: float
    count: int
    normal: torch.Tensor
    prior: Prior | None = None

    @property
    def excess(self) -> float:
        """Residuals in units of the noise, root mean square."""
        return (self.chi2 / max(self.count, 1)) ** 0.5

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
    total, count = 0.0, 0
    for k, problem in enumerate(problems):
        states = problem.followed(model)
        if states is None:
            return None
        value, number = _chi2(problem, states, unit, None if sigmas is None else sigmas[k])
        total, count = total + value, count + number
    return total, count


def _residuals(problem: TrajectoryProblem, states: torch.Tensor, sigma: torch.Tensor | None = None) -> torch.Tensor:
    """All but those of the first snapshot, in units of the noise."""
    noise = problem.sigma(states) if sigma is None else sigma
    return ((problem.data.states - states) / noise)[1:][problem.data.seen[1:]]


def _chi2(
    problem: TrajectoryProblem, states: torch.Tensor, unit: float, sigma: torch.Tensor | None = None
) -> tuple[float, int]:
    r = _residuals(problem, states, sigma) / unit
    start = (problem.guess - problem.x0) / problem.error / unit
    return float(_huber(r).sum() + _huber(start).sum()), r.numel()


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
) -> TrajectoryFit | None:
    """Parameters and first states with the least chi^2; None if the model cannot be followed along the data."""
    problems = list(problems)
    normal = torch.eye(len(model.parameters), dtype=torch.float64)
    for _ in range(iterations):
        tapes = _tapes(model, problems)
        if tapes is None:
            return None
        along = [(problem, tape.states) for problem, tape in zip(problems, tapes, strict=True)]
        unit = _unit(along)
        sigmas = [problem.sigma(states) for problem, states in along]
        here = sum(_chi2(problem, states, unit)[0] for problem, states in along)
        normal, gradient, start_steps, start_columns = _system(model, tapes, problems, move_initial, cg, unit)
        p = model.parameters
        A, b = normal.clone(), gradient.clone()
        if prior is not None:
            A, b = A + prior.precision, b - prior.precision @ (p - prior.mean)
        if not (A.isfinite().all() and b.isfinite().all()):
            break
        delta = _solve(A, b)
        better: tuple[Model, list[TrajectoryProblem], float] | None = None
        penalty = 0.0 if prior is None else prior.cost(p) / unit**2
        for length in (1.0, 0.5, 0.2, 0.05, 0.01):
            step = length * delta
            trial = model.with_parameters(p + step)
            others = [
                c.moved(length * (s - torch.from_numpy(col @ delta.numpy()).reshape(s.shape)))
                for c, s, col in zip(problems, start_steps, start_columns, strict=True)
            ]
            there = objective(trial, others, unit, sigmas)
            if there is None:
                continue
            cost = 0.0 if prior is None else prior.cost(p + step) / unit**2
            if there[0] + cost < here + penalty:
                better = (trial, others, 1 - (there[0] + cost) / (here + penalty))
                break
        if better is None:
            break
        model, problems, gain = better
        if gain < enough:
            break
    total = objective(model, problems)
    return None if total is None else TrajectoryFit(model, tuple(problems), total[0], total[1], normal, prior)


def _tapes(model: Model, problems: Sequence[TrajectoryProblem]) -> list[Tape] | None:
    """Of all trajectories; None if one explodes."""
    out = []
    for problem in problems:
        tape = record(model, problem.data.network, problem.x0, problem.data.spans, problem.steps)
        if tape is None:
            return None
        out.append(tape)
    return out


def _unit(along: Sequence[tuple[TrajectoryProblem, torch.Tensor]]) -> float:
    """The typical residual in units of the noise, at least 1."""
    sizes = [_residuals(problem, states).abs() for problem, states in along]
    return max(1.0, 1.5 * float(torch.cat(sizes).median()))


def posterior_samples(
    fitted: TrajectoryFit, count: int, seed: int, *, move_initial: bool = True, cg: int = 25
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Draws from the posterior, to first order: parameters (count, P) and first states (count, n, d) of each trajectory.

    Each is the solution for observations with other noise, of the size that the residuals have.
    """
    generator = torch.Generator().manual_seed(seed)
    tapes = _tapes(fitted.model, fitted.problems)
    p = fitted.model.parameters
    if tapes is None:
        return p.expand(count, -1), [c.x0.expand(count, -1, -1) for c in fitted.problems]
    normal, gradient, moves, columns = _system(
        fitted.model, tapes, fitted.problems, move_initial, cg, 1.0, (count, generator)
    )
    size = max(1.0, fitted.excess)
    normal, gradient, moves = normal / size**2, gradient / size, [size * move for move in moves]
    if fitted.prior is not None:
        values, vectors = torch.linalg.eigh(fitted.prior.precision)
        noise = torch.randn(len(p), count, generator=generator, dtype=torch.float64)
        normal, gradient = normal + fitted.prior.precision, gradient + (vectors * values.clamp(min=0).sqrt()) @ noise
    delta = torch.stack([_solve(normal, g) for g in gradient.T])
    starts = []
    for problem, move, column in zip(fitted.problems, moves, columns, strict=True):
        shift = move - (torch.from_numpy(column) @ delta.T).T.reshape(count, *problem.x0.shape)
        starts.append(torch.clamp(problem.x0 + shift, *problem.bounds))
    return p + delta, starts


def _system(
    model: Model,
    tapes: Sequence[Tape],
    problems: Sequence[TrajectoryProblem],
    move_initial: bool,
    cg: int,
    unit: float,
    draws: tuple[int, torch.Generator] | None = None,
) -> tuple[torch.Tensor, torch.Tensor, list[torch.Tensor], list[np.ndarray]]:
    """Normal equations for the parameters with the first states eliminated, and how these follow.

    The best first state moves by s - Y delta when the parameters move by delta. With ``draws``, the right-hand sides are
    not the residuals but noise, as many times as asked for.
    """
    P, R = len(model.parameters), 1 if draws is None else draws[0]
    normal, gradient = np.zeros((P, P)), np.zeros((P, R))
    moves: list[torch.Tensor] = []
    columns: list[np.ndarray] = []
    for problem, tape in zip(problems, tapes, strict=True):
        one = problem.data
        sigma = problem.sigma(tape.states)
        r = torch.where(one.seen, (one.states - tape.states) / sigma, 0.0).nan_to_num(0.0)
        robust = torch.where(r.abs() > HUBER * unit, HUBER * unit / r.abs().clamp(min=1e-300), 1.0)
        w = torch.where(one.seen, robust / sigma.square(), 0.0)
        w[0] = 0.0
        weights = [k.reshape(-1, 1).numpy() for k in w]
        size = problem.x0.numel()
        prior = 1 / problem.error.square().reshape(-1, 1).numpy()
        if draws is None:
            misses = [(one.states[k] - tape.states[k]).nan_to_num(0.0).reshape(-1, 1).numpy() for k in range(len(w))]
            offset = (problem.guess - problem.x0).reshape(-1, 1).numpy()
        else:
            noise = [torch.randn(size, R, generator=draws[1], dtype=torch.float64).numpy() for _ in range(len(w) + 1)]
            misses = [e / np.sqrt(np.maximum(k, 1e-300)) * (k > 0) for e, k in zip(noise, weights, strict=False)]
            offset = noise[-1] / np.sqrt(prior)
        S = list(tape.tangent(np.zeros((size, P)), True))
        Y = np.zeros((size, P + R))
        if move_initial:
            right = tape.adjoint([weights[k] * np.hstack([S[k], misses[k]]) for k in range(len(w))])
            right[:, P:] += prior * offset
            free = np.ones(size, dtype=bool) if draws is not None else problem.movable(right[:, P])
            Y[free] = best_initial_state(tape, weights, right, prior, free, cg, slow=one.gaps)
        for k, followed in enumerate(tape.tangent(Y, False)):  # what first states explain, as far as that was found out
            left = np.hstack([S[k], misses[k]]) - followed
            both = left[:, :P].T @ (weights[k] * left)
            normal, gradient = normal + both[:, :P], gradient + both[:, P:]
        kept = Y - np.hstack([np.zeros((size, P)), offset])
        both = Y[:, :P].T @ (prior * kept)
        normal, gradient = normal + both[:, :P], gradient + both[:, P:]
        moves.append(torch.from_numpy(Y[:, P:].T.copy()).reshape(R, *problem.x0.shape))
        columns.append(Y[:, :P])
    if draws is None:
        moves = [m.reshape(c.x0.shape) for m, c in zip(moves, problems, strict=True)]
        gradient = gradient[:, 0]
    return torch.from_numpy((normal + normal.T) / 2), torch.from_numpy(gradient), moves, columns


def _solve(A: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    size = A.diagonal().clamp(min=1e-100).sqrt()
    scaled = A / torch.outer(size, size)
    if not (scaled.isfinite().all() and (b / size).isfinite().all()):
        return torch.zeros_like(b)
    return torch.linalg.lstsq(scaled, b / size, driver="gelsd", rcond=1e-13).solution / size
