"""A law in noise, judged on stretches that it was not fitted to: beside itself fitted to all, and beside states that stay as they are."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from .doubts import no_motion, states_of
from .lasting import lasts
from .node_fit import NodeFit, fit_nodes_along
from .trajectory_fit import TrajectoryFit, fit_trajectories
from .trajectory_problem import TrajectoryProblem

logger = logging.getLogger(__name__)

# Shares of the snapshots: a law must lead through the first stretch and on to the second.
HELD = ((0.3, 0.5), (0.8, 1.0))
FEWEST_SNAPSHOTS = 15  # of fewer, what is left does not tell a law
REFITTED = 4  # iterations: near the solution one is nearly enough
# Times what the law misses there if it was fitted to them too. Each node's first state and one or two of its numbers cost some percent; more
# is for laws that bend to what they are fitted to.
WORSE_APART = 1.25
# A fit that did not move when stretches were taken away was not fitted again: that it is nearer to them than persistence says nothing.
UNMOVED = 1e-3
NO_BETTER = 0.8  # of what is missed if states stay as they were
# Differences of states that wander, squared, grow as the snapshots between them, to this factor. Those of noise do not grow, those of smooth
# motion grow as the square.
LAGS = (1, 2, 4, 8)
WANDERING = 1.4


def doubt_in_noise(fitted: TrajectoryFit | NodeFit) -> str | None:
    """What speaks against a law of noisy observations, as the predicate of "the law that was found"; None if nothing does."""
    if no_motion(fitted):
        return "explains the data no better than a constant for each node: no motion is seen beyond their noise (no dynamics found)"
    full = [states_of(fitted, problem) for problem in fitted.problems]
    apart = _apart(fitted)
    ratio, rest = np.inf, np.inf
    if apart is not None and all(s is not None for s in full):
        again = [states_of(apart, problem) for problem in apart.problems]
        ratio, rest = _missed(fitted.problems, full, again)
        if abs(ratio - 1) < UNMOVED:
            rest = np.inf
    logger.debug("held-out stretches: %.3f of all, %.3f of persistence", ratio, rest)
    lasting = lasts(zip(fitted.problems, full, strict=True))
    enough = all(len(problem.data.times) >= FEWEST_SNAPSHOTS for problem in fitted.problems)
    if enough and rest > NO_BETTER and (lasting or ratio > WORSE_APART) and _wander(fitted.problems):
        return (
            "predicts data that it was not fitted to hardly better than if states stayed as they were, or worse, and "
            "states wander, as in a random walk (no dynamics found)"
        )
    if lasting:
        return f"leaves residuals of {fitted.excess:.3g} times the noise that last, or that neighbours share, as noise does not"
    if enough and ratio > WORSE_APART:
        return f"misses stretches of the data that it was not fitted to by {ratio:.2g} times what it misses if it is"
    return None


def _apart(fitted: TrajectoryFit | NodeFit) -> TrajectoryFit | NodeFit | None:
    """Fitted again without the stretches; None if it diverges."""
    problems = []
    for problem in fitted.problems:
        seen = problem.data.seen & ~_held(len(problem.data.times))[:, None, None]
        problems.append(replace(problem, data=replace(problem.data, seen=seen)))
    if isinstance(fitted, NodeFit):
        u, spread, design = fitted.deviations, fitted.spread, fitted.design
        return fit_nodes_along(
            fitted.model, u, problems, spread, iterations=REFITTED, fixed_spread=True, design=design, prior=fitted.prior
        )
    return fit_trajectories(fitted.model, problems, iterations=REFITTED, prior=fitted.prior)


def _held(count: int) -> torch.Tensor:
    """Which snapshots are held out, (count,); never the first."""
    place = torch.arange(count) / count
    return torch.stack([(place >= low) & (place < high) for low, high in HELD]).any(0)


def _missed(
    problems: Sequence[TrajectoryProblem], full: Sequence[torch.Tensor | None], again: Sequence[torch.Tensor | None]
) -> tuple[float, float]:
    """What is missed of the stretches, in units of what the law misses that was fitted to all; and of the last, of what the state before it misses."""
    sums = np.zeros(4)
    for problem, whole, apart in zip(problems, full, again, strict=True):
        if whole is None or apart is None:
            return np.inf, np.inf
        one, held = problem.data, _held(len(problem.data.times))
        last = torch.where(held, 0, torch.arange(len(held))).cummax(0).values
        size = problem.sigma(whole)
        after = held & (torch.arange(len(held)) >= HELD[-1][0] * len(held))
        for k, (states, where) in enumerate(((apart, held), (whole, held), (apart, after), (one.states[last], after))):
            miss = torch.where(one.seen, (one.states - states) / size, torch.nan)[where]
            sums[k] += float(miss.abs().nansum())
    return sums[0] / max(sums[1], 1e-300), sums[2] / max(sums[3], 1e-300)


def _wander(problems: Sequence[TrajectoryProblem]) -> bool:
    """Whether squares of differences of states grow as the number of snapshots between them, as in a random walk."""
    sums = np.zeros(len(LAGS))
    for problem in problems:
        one = problem.data
        x = torch.where(one.seen, one.states, torch.nan) / problem.sigma(one.level).mean(0)
        sums += [float((x[lag:] - x[:-lag]).square().nanmean()) / lag for lag in LAGS]
    growth = sums[1:] / max(sums[0], 1e-300)
    return bool((abs(np.log(np.maximum(growth, 1e-300))) < np.log(WANDERING)).all())
