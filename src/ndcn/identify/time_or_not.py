"""Whether time is needed: a law that depends on it, or a driver that is unknown, beside one of the states alone."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import torch
from torch.linalg import LinAlgError

from .._support.warn import warn
from ..data import Trajectory
from ..laws import Equation, LawODE, TimedForm, law_of
from ..solve import IntegrationError
from .clock import time_is_over
from .common_driver import LEAST_NOISE, find_common_driver
from .interaction import Interaction
from .library import formula_names
from .observations import CLEAN_BELOW, roughness_of
from .residual_noise import likely_noise, residuals_are_noise
from .result import FoundLaw
from .time_discovery import find_timed
from .trajectory_fit import TrajectoryFit

logger = logging.getLogger(__name__)

# The largest singular value of residuals over that of pure noise, sqrt(T) + sqrt(n): above it, nodes err alike at the same times. A first trial
# found 1.4 and less without a driver while the law was still misfitted; residuals of a law that explains the data are nearer to noise.
IN_COMMON = 1.25
# Squared sums of residuals over all nodes, of the sum of squares, which is 1 for noise: from here on time is asked for before other forms are tried.
# Of 100 nodes, five laws with a season, trend or step had 5.7 to 61; nodes that differ (four laws) and wrong links 0.3 to 3.4.
ALL_ALIKE = 4.5
FEWEST_NODES = 5  # for what is in common to be seen
FEWEST_SNAPSHOTS = 12  # a season, a trend and a step can be told apart in more


class _Task(Protocol):
    @property
    def trajectories(self) -> Sequence[Trajectory]: ...
    @property
    def what(self) -> Interaction: ...
    @property
    def seed(self) -> int: ...


EarlyTime = Callable[[TrajectoryFit | None], FoundLaw | None]
"""A law with time, if the residuals of a formula along noisy trajectories look like one; without noise, None for the formula, if one explains them."""


def with_time_if_needed(
    task: _Task, of_states: Callable[[EarlyTime], FoundLaw | None], *, trial: bool
) -> FoundLaw | None:
    """What ``of_states`` finds, where that explains the data; else a law with time or with an unknown driver, if one does."""
    first = task.trajectories[0]
    small = first.graph.num_nodes < FEWEST_NODES or min(len(t.times) for t in task.trajectories) < FEWEST_SNAPSHOTS
    if trial or small or task.what.form == "free" or task.what.known is not None or first.inputs is not None:
        return of_states(lambda _: None)
    asked: list[FoundLaw | None] = []  # what there is with time, if it was asked for early

    def early(closed: TrajectoryFit | None) -> FoundLaw | None:
        if time_is_over() or not (closed is None or _moves_all_alike(closed)):
            return None
        model = None if closed is None else closed.model
        alone = law_of(model, formula_names(first.features)) if isinstance(model, Equation) else None
        asked.append(_if_computable(lambda: find_timed(task.trajectories, task.what, task.seed, alone)))
        return asked[-1]

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        alone = of_states(early)
    if alone is not None and isinstance(alone.law, TimedForm):
        return alone
    found: FoundLaw | None = None
    if not time_is_over() and not _nothing_left(alone, task.trajectories):
        if not asked:
            law = None if alone is None else alone.law
            found = _if_computable(lambda: find_timed(task.trajectories, task.what, task.seed, law))
        if found is not None:
            return found
        if not _hides_drivers(alone, first):
            found = _if_computable(lambda: find_common_driver(task.trajectories, task.what, task.seed))
        if found is not None:
            warn(
                "an unknown driver in common to all nodes is part of the law that was found: its curve was estimated from the same data, and could also "
                "stand for a coupling or a variable that the law lacks. Compare driver_ with what you know of the system; predictions beyond the "
                "data need its future values"
            )
            return found
    for one in said:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    if alone is None or alone.evidence.explained or time_is_over():
        return alone
    reason = f"{alone.evidence.reason}; neither a season, a linear trend, a step nor one driver in common explains what is left"
    return replace(alone, evidence=replace(alone.evidence, reason=reason))


def _if_computable(search: Callable[[], FoundLaw | None]) -> FoundLaw | None:
    """What a search beside others finds; None where its numbers overflow, which leaves the law of the states as it is."""
    try:
        return search()
    except (LinAlgError, np.linalg.LinAlgError, ArithmeticError) as error:
        logger.debug("given up: %s", error)
        return None


def _moves_all_alike(closed: TrajectoryFit) -> bool:
    """Whether a formula leaves residuals that go up and down at all nodes at once, as what depends on time makes them.

    Nodes that differ, or wrong links, move some nodes up and others down.
    """
    if residuals_are_noise(closed):
        return False
    for problem in closed.problems:
        states = problem.followed(closed.model)
        if states is None or problem.data.gaps:
            return False
        rest = ((problem.data.states - states) / problem.sigma(states))[1:].numpy()
        for r in np.moveaxis(rest, -1, 0):
            if np.square(r.sum(1)).sum() > ALL_ALIKE * np.square(r).sum():
                return True
    return False


def _nothing_left(alone: FoundLaw | None, trajectories: Sequence[Trajectory]) -> bool:
    """Whether a law without time explains the data, and in noise also what nodes have in common."""
    if alone is None or not alone.evidence.explained:
        return False
    to_rounding = alone.initial_state_samples is None  # explained from one snapshot to the next, which are known
    if to_rounding or max(map(roughness_of, trajectories)) < CLEAN_BELOW:
        return True
    shares = [in_common(alone, t, x0) for t, x0 in zip(trajectories, alone.initial_states, strict=True)]
    return max(shares) < IN_COMMON


def _hides_drivers(alone: FoundLaw | None, seen: Trajectory) -> bool:
    """Whether a law without a driver is followed as closely as a driver that is estimated from snapshots can be."""
    if alone is None or roughness_of(seen) >= CLEAN_BELOW:
        return False
    states = _followed(alone, seen, alone.initial_states[0])
    if states is None:
        return False
    rest = seen.states.double() - states
    return float(rest.square().mean().sqrt()) < LEAST_NOISE * float(seen.states.abs().max())


def in_common(found: FoundLaw, seen: Trajectory, x0: torch.Tensor) -> float:
    """The first singular value of the residuals of a law over the edge of noise, (sqrt(T) + sqrt(n)) sigma; of the worst feature.

    Residuals count in units of the noise that they show at states of such a size: proportional noise is larger where all states are large,
    which nodes would seem to have in common. 0 if the law cannot be followed, or if there are gaps.
    """
    states = _followed(found, seen, x0)
    if states is None:
        return 0.0
    shares = []
    for a in range(states.shape[-1]):
        level = states[1:, :, a]
        rest = seen.states[1:, :, a].double() - level
        additive, share = likely_noise(level.flatten(), rest.flatten())
        size = (additive**2 + (share * level).square()).sqrt().clamp(min=1e-300)
        shares.append(over_noise_edge((rest / size).numpy()))
    return max(shares)


def _followed(found: FoundLaw, seen: Trajectory, x0: torch.Tensor) -> torch.Tensor | None:
    """The states of a law at the times seen, (T, n, d); None if it cannot be followed, or if there are gaps."""
    if seen.mask is not None:
        return None
    try:
        return LawODE(found.law)(x0, seen.times, seen.graph, float(seen.times[0]))
    except (IntegrationError, ValueError):
        return None


def over_noise_edge(rest: np.ndarray) -> float:
    """The first singular value of residuals (T, n) over that of noise alone, nodes being scaled to the same size.

    Example:
        >>> noise = np.random.default_rng(0).standard_normal((60, 40))
        >>> round(over_noise_edge(noise), 1), over_noise_edge(noise + np.sin(np.arange(60.0))[:, None]) > 2
        (1.0, True)
    """
    T, n = rest.shape
    # sizes from differences in time, which noise has and what lasts has not
    size = np.sqrt(np.square(np.diff(rest, axis=0)).mean(0) / 2)
    scaled = rest / np.maximum(size, 1e-300)
    return float(np.linalg.norm(scaled, 2) / (np.sqrt(T) + np.sqrt(n)))
