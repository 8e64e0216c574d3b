"""What closed and free forms share where they are fitted along whole trajectories: coarse fits, ever longer horizons, scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import torch

from ..laws import Model
from .observations import Observations, largest
from .posterior import pseudo_inverse
from .trajectory_fit import Prior, TrajectoryFit, fit_trajectories
from .trajectory_problem import TrajectoryProblem, problem_of, problems_for, steps_along

# Of the largest state: error of integration while candidates are compared. Errors 5 times as large count as noise, so that what is missed
# beyond 5e-4 tells candidates apart (docs/interaction.md, How it works, 9).
COARSE_TOLERANCE = 1e-4
COARSE_NOISE = 5.0
# Steps for each interval, on average: a model that needs more has gone astray, and would take long to follow.
MOST_MEAN_STEPS = 24
FEWEST_SNAPSHOTS = 8  # of the first horizon: fewer do not tell parameters
HORIZON_ENOUGH = 1e-2  # fits to part of the data stop early, as the next horizon moves them again
HORIZON_ITERATIONS = 15
HORIZON_ITERATIONS_WITH_PRIOR = 5  # a prior keeps them near where they were
EXACT_STEPS = 256  # for each interval at most, in last fits


def coarse(data: Sequence[Observations], tolerance: torch.Tensor) -> tuple[torch.Tensor, list[Observations]]:
    """A tolerance of few steps, and the data with as much noise as not to see its errors."""
    rough = torch.maximum(tolerance, COARSE_TOLERANCE * largest(data))
    return rough, [replace(one, measured=one.measured.at_least(COARSE_NOISE * rough)) for one in data]


def fit_horizon(
    model: Model,
    before: TrajectoryFit | None,
    data: Sequence[Observations],
    share: float,
    tolerance: torch.Tensor,
    prior: Prior | None = None,
) -> TrajectoryFit | None:
    """Fitted until a share of all motion has happened, from the initial states of the fit before; None if that fails."""
    parts = [one.until(_snapshots_until(one, share)) for one in data]
    problems = problems_for(parts, model, tolerance)
    if problems is None or any(sum(p.steps) > MOST_MEAN_STEPS * len(p.steps) for p in problems):
        return None
    if before is not None:
        problems = begun_from(before, problems)
    iterations = HORIZON_ITERATIONS if prior is None else HORIZON_ITERATIONS_WITH_PRIOR
    return fit_trajectories(model, problems, iterations=iterations, enough=HORIZON_ENOUGH, prior=prior)


def begun_from(before: TrajectoryFit, problems: Sequence[TrajectoryProblem]) -> list[TrajectoryProblem]:
    """The problems with the initial states of a fit."""
    return [
        replace(p, x0=old.x0, elimination=old.elimination) for p, old in zip(problems, before.problems, strict=True)
    ]


def _snapshots_until(one: Observations, share: float) -> int:
    """Snapshots until this share of all motion; all of them if all of it."""
    if share >= 1:
        return len(one.times)
    motion = torch.asinh(one.level / one.unit).diff(dim=0).abs().mean(dim=(1, 2)).cumsum(0)
    return max(FEWEST_SNAPSHOTS, 2 + int((motion < share * motion[-1]).sum()))


def with_exact_steps(
    fitted: TrajectoryFit, data: Sequence[Observations], tolerance: torch.Tensor
) -> list[TrajectoryProblem]:
    """The problems of these observations, with the steps that the model needs along them."""
    out = []
    for one, rough in zip(data, fitted.problems, strict=True):
        problem = problem_of(one, rough.steps)
        x0 = torch.where(one.seen[0], problem.guess, rough.x0) if one.gaps else rough.x0
        problem = replace(problem, x0=x0, elimination=rough.elimination)
        states = problem.followed(fitted.model)
        if states is not None:
            steps = steps_along(fitted.model, one, states, tolerance, EXACT_STEPS)
            if bool((steps > 0).all()):
                problem = replace(problem, steps=tuple(steps.tolist()))
        out.append(problem)
    return out


def score(fitted: TrajectoryFit) -> float:
    """BIC: chi^2, and the number of parameters; noise that was underestimated makes chi^2 count less."""
    unit = fitted.inflation**2
    return fitted.chi2 / unit + freedom(fitted) * math.log(fitted.count) + fitted.count * math.log(unit)


def chi2_for(least: float, parameters: int, count: int) -> float:
    """The chi^2 with which a fit of so many parameters to so many residuals has this ``score``.

    Example:
        >>> round(chi2_for(100 + 2 * math.log(100), 2, 100), 6), round(chi2_for(100 + 100 * math.log(4.0), 0, 100), 6)
        (100.0, 400.0)
    """
    left = least - parameters * math.log(count)
    return left if left <= count else count * math.exp(min(left / count - 1, 100.0))


def freedom(fitted: TrajectoryFit) -> float:
    """Parameters; those that a penalty holds count less: tr((I + P)^-1 I) of information I and precision P."""
    if fitted.prior is None:
        return float(len(fitted.model.parameters))
    information = fitted.information
    return float((pseudo_inverse(information + fitted.prior.precision) * information.T).sum())
