"""Normal equations of parameters along whole trajectories, with the initial states eliminated: docs/interaction.md, How it works, 7."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ..laws import Model
from .initial_states import Elimination, Solutions, best_initial_state
from .tape import Tape
from .trajectory_problem import TrajectoryProblem

# Residuals beyond so many times the noise count by their size, not its square. Noise goes as far once in 16 000 times, so that the fit keeps
# nearly all of its efficiency.
HUBER = 4.0
NEGLIGIBLE_MISS = 0.03  # of residuals, that an initial state need not explain: 1e-3 of chi^2


@dataclass(frozen=True)
class NormalEquations:
    """How parameters and initial states move for R right-hand sides."""

    normal: torch.Tensor  # information on the parameters, (P, P)
    gradient: torch.Tensor  # right-hand sides, (P, R)
    moves: list[torch.Tensor]  # of each initial state, if the parameters stay, (R, n, d)
    columns: list[
        np.ndarray
    ]  # Y of each initial state, (n d, P): it moves by - Y delta besides when the parameters move by delta
    eliminations: list[Elimination | Solutions | None]  # of each initial state, for the next iteration
    initial_gain: float = 0.0  # by how much chi^2 falls, to first order, if initial states move alone


@dataclass(frozen=True)
class NoiseDraws:
    """Right-hand sides of noise, ``count`` of them, in place of residuals."""

    count: int
    generator: torch.Generator


@dataclass(frozen=True)
class _RightSides:
    """Of one trajectory."""

    weights: list[np.ndarray]  # of each entry, for each snapshot, (n d, 1)
    misses: list[np.ndarray]  # what the states miss, for each snapshot, (n d, R)
    prior: np.ndarray  # precision of the initial state, (n d, 1)
    offset: np.ndarray  # what is known of it less what it is, (n d, R)


def recorded(model: Model, problems: Sequence[TrajectoryProblem]) -> list[Tape] | None:
    """Tapes of all trajectories; None if one explodes."""
    out = []
    for problem in problems:
        tape = problem.recorded(model)
        if tape is None:
            return None
        out.append(tape)
    return out


def normal_equations(
    model: Model,
    tapes: Sequence[Tape],
    problems: Sequence[TrajectoryProblem],
    *,
    move_initial: bool,
    cg: int,
    unit: float,
    draws: NoiseDraws | None = None,
) -> NormalEquations:
    """Of all trajectories of a model, given their tapes.

    Initial states may move if ``move_initial``, and are eliminated by ``cg`` steps of conjugate gradients at most. Residuals are large
    from ``HUBER`` times ``unit`` on. ``draws`` are noise for the right-hand sides, which are the residuals by default.
    """
    P = len(model.parameters)
    R = 1 if draws is None else draws.count
    normal = np.zeros((P, P))
    gradient = np.zeros((P, R))
    moves: list[torch.Tensor] = []
    columns: list[np.ndarray] = []
    eliminations: list[Elimination | Solutions | None] = []
    gain = 0.0
    for problem, tape in zip(problems, tapes, strict=True):
        sides = _right_sides(problem, tape, unit, draws)
        S = tape.sensitivities()
        Y = np.zeros((problem.x0.numel(), P + R))
        elimination = problem.elimination
        if move_initial:
            right = tape.adjoint(
                [w * np.hstack([s, miss]) for w, s, miss in zip(sides.weights, S, sides.misses, strict=True)]
            )
            right[:, P:] += sides.prior * sides.offset
            free = np.ones(len(Y), dtype=bool) if draws is not None else problem.movable(right[:, P])
            Y[free], elimination = best_initial_state(
                tape,
                sides.weights,
                sides.prior,
                right,
                free,
                cg,
                slow=problem.data.gaps,
                negligible=np.repeat([0.0, NEGLIGIBLE_MISS], [P, R]),
                before=elimination,
            )
            gain += float(right[:, P] @ Y[:, P])
        _add(normal, gradient, tape, sides, S, Y)
        moves.append(torch.from_numpy(Y[:, P:].T.copy()).reshape(R, *problem.x0.shape))
        columns.append(Y[:, :P])
        eliminations.append(elimination)
    symmetric = torch.from_numpy(normal / 2 + normal.T / 2)
    return NormalEquations(symmetric, torch.from_numpy(gradient), moves, columns, eliminations, gain)


def _right_sides(problem: TrajectoryProblem, tape: Tape, unit: float, draws: NoiseDraws | None) -> _RightSides:
    one = problem.data
    sigma = problem.sigma(tape.states)
    r = torch.where(one.seen, (one.states - tape.states) / sigma, 0.0).nan_to_num(0.0)
    robust = torch.where(r.abs() > HUBER * unit, HUBER * unit / r.abs().clamp(min=1e-300), 1.0)
    w = torch.where(one.seen, robust / sigma.square(), 0.0)
    w[0] = 0.0
    weights = [k.reshape(-1, 1).numpy() for k in w]
    prior = 1 / problem.error.square().reshape(-1, 1).numpy()
    if draws is None:
        misses = [(one.states[k] - tape.states[k]).nan_to_num(0.0).reshape(-1, 1).numpy() for k in range(len(w))]
        offset = (problem.guess - problem.x0).reshape(-1, 1).numpy()
        return _RightSides(weights, misses, prior, offset)
    shape = (problem.x0.numel(), draws.count)
    noise = [torch.randn(shape, generator=draws.generator, dtype=torch.float64).numpy() for _ in range(len(w) + 1)]
    misses = [e / np.sqrt(np.maximum(k, 1e-300)) * (k > 0) for e, k in zip(noise, weights, strict=False)]
    return _RightSides(weights, misses, prior, noise[-1] / np.sqrt(prior))


def _add(
    normal: np.ndarray, gradient: np.ndarray, tape: Tape, sides: _RightSides, S: Sequence[np.ndarray], Y: np.ndarray
) -> None:
    """One trajectory's share of both, less what its initial state explains, as far as that was found out."""
    P = len(normal)
    with np.errstate(over="ignore", invalid="ignore"):  # of a law that diverges, which is not kept
        for k, followed in enumerate(tape.tangent(Y)):
            left = np.hstack([S[k], sides.misses[k]]) - followed
            both = left[:, :P].T @ (sides.weights[k] * left)
            normal += both[:, :P]
            gradient += both[:, P:]
        kept = Y - np.hstack([np.zeros((len(Y), P)), sides.offset])
        both = Y[:, :P].T @ (sides.prior * kept)
        normal += both[:, :P]
        gradient += both[:, P:]
