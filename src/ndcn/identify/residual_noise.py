"""How noisy observations are, seen from the law that was found: a better guide than a smooth path through them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from .clock import in_time
from .data_smoothing import MEDIAN_TO_SIGMA, Noise
from .lasting import lasts
from .trajectory_fit import COMMON_CG, TrajectoryFit, fit_trajectories
from .trajectory_problem import TrajectoryProblem

# When a law is doubted: docs/interaction.md, How it works, 8.
# A path through a dozen snapshots makes noise look several times smaller, but not by such a factor.
UNDERESTIMATED_BY = 6.0
NOISE_ROUNDS = 2  # fit, noise, fit again: the first round corrects the noise, the second what that changed
REWEIGHTING_ITERATIONS = 20
OUTLIERS_BEYOND = 4.0  # times the noise, as ``HUBER``: residuals beyond count as if they were there
SIZE_ROUNDS = 3  # of noise without the outliers and outliers by that noise: it converges at once
# Additive noise that is always allowed for, as a share of the largest state: errors of integration.
LEAST_ADDITIVE = 1e-4


def likely_noise(states: torch.Tensor, rest: torch.Tensor) -> tuple[float, float]:
    """Additive noise and share under which residuals at these states, both (N,), are likeliest; a few may be outliers.

    Where most states are nearly equal, the few others alone tell the two kinds of noise apart, so all count by themselves.

    Example:
        >>> x = torch.linspace(0.1, 20, 4000, dtype=torch.float64)
        >>> noise = torch.randn(4000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        >>> additive, share = likely_noise(x, 0.05 * x * noise)
        >>> round(additive, 1), round(share, 2)
        (0.0, 0.05)
    """
    x = states.abs().double().numpy()
    r = rest.abs().double().numpy()
    top = float(x.max(initial=0.0))
    if len(x) == 0 or top == 0 or not r.any():
        return float(np.sqrt(np.mean(r**2))) if len(r) else 0.0, 0.0
    best = (-np.inf, 0.0, 0.0)
    for ratio in (*np.geomspace(LEAST_ADDITIVE, 1e2, 61) * top, np.inf):  # of additive noise to share
        shape = np.ones_like(x) if ratio == np.inf else np.sqrt(ratio**2 + x**2)
        u = r / shape
        size = float(np.median(u)) / MEDIAN_TO_SIGMA or float(np.sqrt(np.mean(u**2)))
        for _ in range(SIZE_ROUNDS):
            size = float(np.sqrt(np.mean(np.minimum(u, OUTLIERS_BEYOND * size) ** 2)))
        likelihood = -float(np.log(shape * size).sum() + 0.5 * (np.minimum(u / size, OUTLIERS_BEYOND) ** 2).sum())
        additive, share = (size, 0.0) if ratio == np.inf else (size * ratio, size)
        best = max(best, (likelihood, additive, share))
    return float(best[1]), float(best[2])


def residuals_are_noise(fitted: TrajectoryFit) -> bool:
    """Whether the law leaves nothing but noise: residuals that are not far larger, and have nothing in common.

    How large noise is, a path through few snapshots does not tell: it follows them. What a law misses lasts, noise does not.
    """
    return fitted.excess < UNDERESTIMATED_BY and not lasts((p, p.followed(fitted.model)) for p in fitted.problems)


def reweighted(
    fitted: TrajectoryFit, *, iterations: int = REWEIGHTING_ITERATIONS, cg: int = COMMON_CG
) -> TrajectoryFit:
    """The path fitted again with the noise that its own residuals show; itself if that fit diverges."""
    for _ in in_time(range(NOISE_ROUNDS)):
        ready = [one for problem in fitted.problems if (one := _with_noise(fitted, problem)) is not None]
        complete = len(ready) == len(fitted.problems)
        again = fit_trajectories(fitted.model, ready, iterations=iterations, cg=cg) if complete else None
        if again is None:
            return fitted
        fitted = again
    return fitted


def _with_noise(fitted: TrajectoryFit, problem: TrajectoryProblem) -> TrajectoryProblem | None:
    """With the noise of the residuals of all snapshots but the first, which the initial state may follow."""
    one = problem.data
    states = problem.followed(fitted.model)
    if states is None:
        return None
    additive = one.measured.additive.clone()
    share = one.measured.share.clone()
    for a in range(states.shape[-1]):
        seen = one.seen[1:, :, a]
        if bool(seen.any()):
            level = states[1:, :, a][seen]
            additive[a], share[a] = likely_noise(level, one.states[1:, :, a][seen] - level)
    noise = Noise(additive, share)
    error = torch.where(one.seen[0], noise.at(problem.guess), problem.error)
    return replace(problem, data=replace(one, measured=noise), error=error)
