"""How exactly laws are integrated along trajectories."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..data import Trajectory
from .observations import CLEAN_TOLERANCE, Observations, largest, rounding_of

# Of integration where there is noise, as a share of the largest state: well below that of ``NOISY_ABOVE``.
SEARCH_TOLERANCE = 1e-4
BELOW_ROUNDING = (
    0.1  # share of the rounding of observations with few decimals: larger errors would look like a lack of the law
)


def tolerance_along(trajectories: Sequence[Trajectory], data: Sequence[Observations], *, noisy: bool) -> torch.Tensor:
    """The error of integration allowed, (d,): below the noise, and below the rounding of observations with few decimals."""
    finest = CLEAN_TOLERANCE * largest(data)
    if not noisy:
        return finest
    usual = SEARCH_TOLERANCE * largest(data)
    written = torch.stack([rounding_of(t) for t in trajectories]).amin(0)
    return torch.where(written > 0, torch.minimum(usual, torch.maximum(BELOW_ROUNDING * written, finest)), usual)
