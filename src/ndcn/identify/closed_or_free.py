"""Which is taken, a formula or the free form, and whether it explains the data."""

from __future__ import annotations

from .equation_fit import EXPLAINED_ROUNDING
from .other_couplings import TAKEN_FOR_NOISE
from .residual_noise import residuals_are_noise
from .trajectory_fit import TrajectoryFit
from .trajectory_search import NOTHING_LEFT_EXCESS, as_good


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
    """Whether a law leaves nothing but noise or, without noise, rounding."""
    return residuals_are_noise(fitted) if noisy else fitted.excess < EXPLAINED_ROUNDING
