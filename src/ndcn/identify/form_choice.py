"""Which of two forms along trajectories is told, the formula where it is as good as splines, and what is said against it."""

from __future__ import annotations

from .._support.warn import warn
from .doubts import no_motion, warn_of_law
from .equation_fit import EXPLAINED_ROUNDING
from .other_couplings import TAKEN_FOR_NOISE
from .residual_noise import residuals_are_noise
from .stretches import doubt_in_noise
from .trajectory_fit import TrajectoryFit
from .trajectory_search import NOTHING_LEFT_EXCESS, as_good

# Warn above this misfit, as a share of how far states move. Free forms of docs/interaction.md, Measured, stay below 0.6 % of the states.
POOR_MISFIT = 0.05


def better(closed: TrajectoryFit | None, free: TrajectoryFit | None, noisy: bool) -> tuple[TrajectoryFit, str]:
    """The formula if it is as good; one that does not explain the data must be nearer to them than splines."""
    if closed is None:
        assert free is not None
        return free, "free"
    if free is None or (as_good(closed, free) if explains(closed, noisy) else closed.excess < free.excess):
        return closed, "closed"
    return free, "free"


def leaves_nothing(closed: TrajectoryFit, noisy: bool) -> bool:
    """Whether no free form needs to be fitted beside a formula."""
    limit = TAKEN_FOR_NOISE if noisy else NOTHING_LEFT_EXCESS
    return closed.excess < limit and (not noisy or residuals_are_noise(closed))


def explains(fitted: TrajectoryFit, noisy: bool) -> bool:
    """Whether it leaves nothing but noise, or rounding."""
    return residuals_are_noise(fitted) if noisy else fitted.excess < EXPLAINED_ROUNDING


def judged(fitted: TrajectoryFit, explained: bool, reason: str, noisy: bool) -> tuple[bool, str]:
    """Whether the data are explained after all, and why, with a warning where they are not."""
    if noisy and no_motion(fitted):
        reason = f"{reason}; a constant for each node explains the data as well, so there is no motion beyond their noise (no dynamics found)"
        warn(f"do not trust this law: {reason}. Take snapshots of a time when the states move, or more exact ones")
        return False, reason
    if noisy and (doubt := doubt_in_noise(fitted)) is not None:
        warn_of_law(doubt)
        return False, f"{reason}; it {doubt}"
    if not explained and noisy:
        warn_of_law(f"leaves residuals of {fitted.excess:.3g} times the noise")
    elif not explained and (share := fitted.share()) > POOR_MISFIT:
        warn_of_law(f"misses typical states by {100 * share:.2g} % of how far they are from their mean")
    return explained, reason
