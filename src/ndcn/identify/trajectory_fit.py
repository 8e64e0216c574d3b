"""Fitting whole trajectories: Gauss-Newton on the parameters and the first state together.

Nothing of size n x n is formed: the derivatives by the first state are applied forwards and backwards along a tape of
sparse Jacobians, and the equations for it are solved by conjugate gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from scipy import sparse

from ..integrators.tableau import RK4
from .equation import Model
from .network import Network
from .observations import Observations
from .shooting import steps_needed

AT_ONCE = 400_000  # edges whose derivatives are taken together
HUBER = 4.0  # residuals beyond so many times the noise count less


@dataclass(frozen=True)
class Step:
    """One Runge-Kutta step: its length, and Jacobians, with their transposes, and parameter columns of its four stages."""

    h: float
    J: tuple[sparse.csr_array, ...]
    JT: tuple[sparse.csc_array, ...]
    C: tuple[np.ndarray, ...]


@dataclass
class Tape:
    """A trajectory and the steps that led from each observation time to the next."""

    states: torch.Tensor
    steps: list[list[Step]] = field(default_factory=list)

    def tangent(self, v: np.ndarray, sources: bool) -> list[np.ndarray]:
        """Derivatives of the state at each time, when those of the first are v (n d, M); ``sources`` are parameters."""
        out = [v]
        for steps in self.steps:
            for s in steps:
                zero = 0.0
                c1, c2, c3, c4 = s.C if sources else (zero,) * 4
                k1 = s.J[0] @ v + c1
                k2 = s.J[1] @ (v + s.h / 2 * k1) + c2
                k3 = s.J[2] @ (v + s.h / 2 * k2) + c3
                k4 = s.J[3] @ (v + s.h * k3) + c4
                v = v + s.h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            out.append(v)
        return out

    def memory(self, weights: Sequence[np.ndarray]) -> np.ndarray:
        """About the diagonal of sum_k T_k^T w_k T_k: each node by itself."""
        kept, out = np.ones_like(weights[0]), np.zeros_like(weights[0])
        for steps, w in zip(self.steps, weights[1:], strict=True):
            for s in steps:
                kept = kept * np.exp(np.clip(s.h * s.J[0].diagonal()[:, None], -20, 2))
            out += w * kept**2
        return out

    def adjoint(self, w: Sequence[np.ndarray]) -> np.ndarray:
        """The transpose: sum_k T_k^T w_k, where T_k takes derivatives of the first state to those at time k."""
        v = w[-1]
        for steps, here in zip(reversed(self.steps), reversed(w[:-1]), strict=True):
            for s in reversed(steps):
                b4 = s.h / 6 * v
                y4 = s.JT[3] @ b4
                b3 = s.h / 3 * v + s.h * y4
                y3 = s.JT[2] @ b3
                b2 = s.h / 3 * v + s.h / 2 * y3
                y2 = s.JT[1] @ b2
                b1 = s.h / 6 * v + s.h / 2 * y2
                v = v + y4 + y3 + y2 + s.JT[0] @ b1
            v = v + here
        return v


def roll(
    model: Model,
    network: Network,
    x0: torch.Tensor,
    spans: torch.Tensor,
    steps: Sequence[int],
    visited: list[torch.Tensor] | None = None,
) -> torch.Tensor | None:
    """The trajectory from x0 (n, d) through all intervals, (T, n, d); None if it explodes.

    States at which rates were taken, four in each step, join ``visited``.
    """
    x, out = x0.unsqueeze(0), [x0]
    for span, count in zip(spans.tolist(), steps, strict=True):
        h = span / count
        for _ in range(count):
            k1 = model.rate(x, network)
            x2 = x + h / 2 * k1
            k2 = model.rate(x2, network)
            x3 = x + h / 2 * k2
            k3 = model.rate(x3, network)
            x4 = x + h * k3
            k4 = model.rate(x4, network)
            if visited is not None:
                visited += [x, x2, x3, x4]
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        if not x.isfinite().all():
            return None
        out.append(x[0])
    return torch.stack(out)


def record(model: Model, network: Network, x0: torch.Tensor, spans: torch.Tensor, steps: Sequence[int]) -> Tape | None:
    """``roll`` with the tape of its derivatives."""
    visited: list[torch.Tensor] = []
    states = roll(model, network, x0, spans, steps, visited)
    if states is None:
        return None
    jacobians: list[tuple[sparse.csr_array, sparse.csc_array]] = []
    columns: list[np.ndarray] = []
    for some in torch.cat(visited).split(max(1, AT_ONCE // max(len(network.i), 1))):
        slopes = model.slopes(some, network)
        jacobians += network.jacobians(slopes.own, slopes.edges)
        columns += list(slopes.columns.flatten(1, -2).numpy())
    tape = Tape(states)
    stage = 0
    for span, count in zip(spans.tolist(), steps, strict=True):
        taken = []
        for _ in range(count):
            J, JT = zip(*jacobians[stage : stage + 4], strict=True)
            taken.append(Step(span / count, J, JT, tuple(columns[stage : stage + 4])))
            stage += 4
        tape.steps.append(taken)
    return tape


@dataclass(frozen=True)
class Course:
    """One trajectory to be fitted: observations, steps for each interval, and the first state with its error."""

    data: Observations
    steps: tuple[int, ...]
    x0: torch.Tensor
    guess: torch.Tensor
    error: torch.Tensor
    bounds: tuple[torch.Tensor, torch.Tensor]

    def moved(self, step: torch.Tensor) -> Course:
        """With another first state, not far outside what was ever seen."""
        return replace(self, x0=torch.clamp(self.x0 + step, *self.bounds))

    def sigma(self, states: torch.Tensor) -> torch.Tensor:
        """Noise of observations of these states."""
        return self.data.measured.at(states).clamp(min=1e-12)


def followable(data: Sequence[Observations], model: Model, tolerance: torch.Tensor) -> list[Course] | None:
    """Courses with the steps that the model needs along them; None if it is too fast."""
    out = []
    for one in data:
        steps = steps_needed(model, one.network, one.level[:-1], one.spans, tolerance, 128, RK4)
        if (steps == 0).float().mean() > 0.2:
            return None
        out.append(course_of(one, torch.where(steps == 0, 256, steps).tolist()))
    return out


def course_of(one: Observations, steps: Sequence[int]) -> Course:
    """Ready to fit, from the first snapshot, as far as it was seen."""
    seen = one.seen[0]
    guess = torch.where(seen, one.states[0].nan_to_num(0.0), one.level[0])
    flat = one.level.reshape(-1, one.level.shape[-1])
    spread, low, high = flat.std(0), flat.amin(0), flat.amax(0)
    error = torch.where(seen, one.measured.at(guess), spread.expand_as(guess)) + 1e-9 * spread
    room = 0.2 * (high - low)
    bounds = (torch.where(low >= 0, torch.zeros_like(low), low - room), high + room)
    return Course(one, tuple(steps), guess, guess, error, bounds)


@dataclass(frozen=True)
class Path:
    """A fitted model with the first states of its trajectories.

    Attributes:
        model: with its parameters.
        courses: with their first states.
        chi2: sum of squared residuals in units of the noise (robust), without the first snapshots' own.
        count: how many.
        normal: information on the parameters, what the first states could explain taken out, (P, P).
        ridge: the penalty it was fitted with, (P, P): what was known before.
    """

    model: Model
    courses: tuple[Course, ...]
    chi2: float
    count: int
    normal: torch.Tensor
    ridge: torch.Tensor | None = None

    @property
    def excess(self) -> float:
        """Residuals in units of the noise, root mean square."""
        return (self.chi2 / max(self.count, 1)) ** 0.5


def objective(
    model: Model, courses: Sequence[Course], unit: float = 1.0, sigmas: Sequence[torch.Tensor] | None = None
) -> tuple[float, int] | None:
    """Robust chi^2 of all trajectories, and the number of observations; None if one explodes.

    Residuals are counted in ``unit`` times the noise: far from the solution most of them are large. The noise is that at
    the states themselves, or ``sigmas``: trajectories are compared by the same noise, as those with larger states would
    else be preferred for the larger noise they have.
    """
    total, count = 0.0, 0
    for k, course in enumerate(courses):
        states = roll(model, course.data.network, course.x0, course.data.spans, course.steps)
        if states is None:
            return None
        value, number = _chi2(course, states, unit, None if sigmas is None else sigmas[k])
        total, count = total + value, count + number
    return total, count


def _residuals(course: Course, states: torch.Tensor, sigma: torch.Tensor | None = None) -> torch.Tensor:
    """All but those of the first snapshot, in units of the noise."""
    noise = course.sigma(states) if sigma is None else sigma
    return ((course.data.states - states) / noise)[1:][course.data.seen[1:]]


def _chi2(course: Course, states: torch.Tensor, unit: float, sigma: torch.Tensor | None = None) -> tuple[float, int]:
    r = _residuals(course, states, sigma) / unit
    start = (course.guess - course.x0) / course.error / unit
    return float(_huber(r).sum() + _huber(start).sum()), r.numel()


def _huber(r: torch.Tensor) -> torch.Tensor:
    size = r.abs()
    return torch.where(size <= HUBER, r.square(), 2 * HUBER * size - HUBER**2)


def fit_path(
    model: Model,
    courses: Sequence[Course],
    *,
    iterations: int = 10,
    move_start: bool = True,
    ridge: torch.Tensor | None = None,
    enough: float = 1e-4,
    cg: int = 12,
) -> Path | None:
    """Parameters and first states with the least chi^2; None if the model cannot be followed along the data."""
    courses = list(courses)
    normal = torch.eye(len(model.parameters), dtype=torch.float64)
    for _ in range(iterations):
        tapes = _tapes(model, courses)
        if tapes is None:
            return None
        along = [(course, tape.states) for course, tape in zip(courses, tapes, strict=True)]
        unit = _unit(along)
        sigmas = [course.sigma(states) for course, states in along]
        here = sum(_chi2(course, states, unit)[0] for course, states in along)
        normal, gradient, start_steps, start_columns = _system(model, tapes, courses, move_start, cg, unit)
        p = model.parameters
        A, b = normal.clone(), gradient.clone()
        if ridge is not None:
            A, b = A + ridge, b - ridge @ p
        if not (A.isfinite().all() and b.isfinite().all()):
            break
        delta = _solve(A, b)
        better: tuple[Model, list[Course], float] | None = None
        penalty = 0.0 if ridge is None else float(p @ ridge @ p)
        for length in (1.0, 0.5, 0.2, 0.05, 0.01):
            step = length * delta
            trial = model.with_parameters(p + step)
            others = [
                c.moved(length * (s - torch.from_numpy(col @ delta.numpy()).reshape(s.shape)))
                for c, s, col in zip(courses, start_steps, start_columns, strict=True)
            ]
            there = objective(trial, others, unit, sigmas)
            if there is None:
                continue
            cost = 0.0 if ridge is None else float((p + step) @ ridge @ (p + step))
            if there[0] + cost < here + penalty:
                better = (trial, others, 1 - (there[0] + cost) / (here + penalty))
                break
        if better is None:
            break
        model, courses, gain = better
        if gain < enough:
            break
    total = objective(model, courses)
    return None if total is None else Path(model, tuple(courses), total[0], total[1], normal, ridge)


def _tapes(model: Model, courses: Sequence[Course]) -> list[Tape] | None:
    """Of all trajectories; None if one explodes."""
    out = []
    for course in courses:
        tape = record(model, course.data.network, course.x0, course.data.spans, course.steps)
        if tape is None:
            return None
        out.append(tape)
    return out


def _unit(along: Sequence[tuple[Course, torch.Tensor]]) -> float:
    """The typical residual in units of the noise, at least 1."""
    sizes = [_residuals(course, states).abs() for course, states in along]
    return max(1.0, 1.5 * float(torch.cat(sizes).median()))


def samples(
    path: Path, count: int, seed: int, *, move_start: bool = True, cg: int = 25
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Draws from the posterior, to first order: parameters (count, P) and first states (count, n, d) of each trajectory.

    Each is the solution for observations with other noise, of the size that the residuals have.
    """
    generator = torch.Generator().manual_seed(seed)
    tapes = _tapes(path.model, path.courses)
    p = path.model.parameters
    if tapes is None:
        return p.expand(count, -1), [c.x0.expand(count, -1, -1) for c in path.courses]
    normal, gradient, moves, columns = _system(path.model, tapes, path.courses, move_start, cg, 1.0, (count, generator))
    if path.ridge is not None:
        values, vectors = torch.linalg.eigh(path.ridge)
        noise = torch.randn(len(p), count, generator=generator, dtype=torch.float64)
        normal, gradient = normal + path.ridge, gradient + (vectors * values.clamp(min=0).sqrt()) @ noise
    size = max(1.0, path.excess)
    gradient, moves = size * gradient, [size * move for move in moves]
    delta = torch.stack([_solve(normal, g) for g in gradient.T])
    starts = []
    for course, move, column in zip(path.courses, moves, columns, strict=True):
        shift = move - (torch.from_numpy(column) @ delta.T).T.reshape(count, *course.x0.shape)
        starts.append(torch.clamp(course.x0 + shift, *course.bounds))
    return p + delta, starts


def _system(
    model: Model,
    tapes: Sequence[Tape],
    courses: Sequence[Course],
    move_start: bool,
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
    for course, tape in zip(courses, tapes, strict=True):
        one = course.data
        sigma = course.sigma(tape.states)
        r = torch.where(one.seen, (one.states - tape.states) / sigma, 0.0).nan_to_num(0.0)
        robust = torch.where(r.abs() > HUBER * unit, HUBER * unit / r.abs().clamp(min=1e-300), 1.0)
        w = torch.where(one.seen, robust / sigma.square(), 0.0)
        w[0] = 0.0
        weights = [k.reshape(-1, 1).numpy() for k in w]
        size = course.x0.numel()
        prior = 1 / course.error.square().reshape(-1, 1).numpy()
        if draws is None:
            misses = [(one.states[k] - tape.states[k]).nan_to_num(0.0).reshape(-1, 1).numpy() for k in range(len(w))]
            offset = (course.guess - course.x0).reshape(-1, 1).numpy()
        else:
            noise = [torch.randn(size, R, generator=draws[1], dtype=torch.float64).numpy() for _ in range(len(w) + 1)]
            misses = [e / np.sqrt(np.maximum(k, 1e-300)) * (k > 0) for e, k in zip(noise, weights, strict=False)]
            offset = noise[-1] / np.sqrt(prior)
        S = tape.tangent(np.zeros((size, P)), True)
        for k in range(1, len(w)):
            weighted = weights[k] * S[k]
            normal += S[k].T @ weighted
            gradient += weighted.T @ misses[k]
        if not move_start:
            moves.append(torch.zeros(course.x0.shape if draws is None else (R, *course.x0.shape), dtype=torch.float64))
            columns.append(np.zeros((size, P)))
            continue
        right = tape.adjoint([weights[k] * np.hstack([S[k], misses[k]]) for k in range(len(w))])
        right[:, P:] += prior * offset

        def times(
            v: np.ndarray, tape: Tape = tape, weights: list[np.ndarray] = weights, prior: np.ndarray = prior
        ) -> np.ndarray:
            forward = tape.tangent(v, False)
            return tape.adjoint([a * b for a, b in zip(weights, forward, strict=True)]) + prior * v

        Y = _conjugate_gradients(times, right, prior + tape.memory(weights), cg)
        normal -= right[:, :P].T @ Y[:, :P]
        gradient -= right[:, :P].T @ Y[:, P:]
        moves.append(torch.from_numpy(Y[:, P:].T.copy()).reshape(R, *course.x0.shape))
        columns.append(Y[:, :P])
    if draws is None:
        moves = [m.reshape(c.x0.shape) for m, c in zip(moves, courses, strict=True)]
        gradient = gradient[:, 0]
    return torch.from_numpy((normal + normal.T) / 2), torch.from_numpy(gradient), moves, columns


def _conjugate_gradients(
    times: Callable[[np.ndarray], np.ndarray], right: np.ndarray, diagonal: np.ndarray, most: int
) -> np.ndarray:
    """A^-1 right for each column, preconditioned by a diagonal."""
    x = np.zeros_like(right)
    r = right.copy()
    z = r / diagonal
    p = z.copy()
    rz = (r * z).sum(0)
    first = np.sqrt((r * z).sum(0)) + 1e-300
    for _ in range(most):
        Ap = times(p)
        alpha = rz / np.maximum((p * Ap).sum(0), 1e-300)
        x += alpha * p
        r -= alpha * Ap
        z = r / diagonal
        new = (r * z).sum(0)
        if (np.sqrt(new) < 1e-6 * first).all():
            break
        p = z + (new / np.maximum(rz, 1e-300)) * p
        rz = new
    return x


def _solve(A: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    size = A.diagonal().clamp(min=1e-100).sqrt()
    scaled = A / torch.outer(size, size)
    if not (scaled.isfinite().all() and (b / size).isfinite().all()):
        return torch.zeros_like(b)
    return torch.linalg.lstsq(scaled, b / size, driver="gelsd", rcond=1e-13).solution / size
