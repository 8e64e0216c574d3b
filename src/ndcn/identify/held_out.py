"""A law judged by snapshots that it was not found from: does it miss them by no more than their noise?"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ..data import Trajectory
from ..laws import LawODE
from ..solve import IntegrationError
from .data_smoothing import Noise
from .residual_noise import likely_noise
from .result import FoundLaw

# Of the largest state held out: less is rounding, and what the integration adds to it.
LEAST_ERROR = 1e-4
MEAN_OF_NORMAL = 0.7979  # mean |x| of normal x with standard deviation 1


@dataclass(frozen=True)
class HeldOut:
    """How a law did on snapshots after those that it was found from.

    Attributes:
        error: mean |error| over mean |state|.
        noise: what noise alone would give, by the residuals of the snapshots that it was found from.
        excess: root mean square of errors in units of the noise; 1 is perfect.
        late: the same over the last half of the snapshots.
    """

    error: float
    noise: float
    excess: float
    late: float


def held_out(found: FoundLaw, known: Trajectory, later: Trajectory) -> HeldOut | None:
    """The law that was found from ``known``, followed on through ``later``; None if it cannot be integrated so far.

    It goes on from where its trajectory has led, never from a snapshot that was held out.
    """
    start = found.initial_states[0].double()
    times = torch.cat([known.times, later.times])
    try:
        states, _ = LawODE(found.law).followed(start, times, known.graph, known.times[0].item())
    except IntegrationError:
        return None
    states = states.detach().double()
    before, after = states[: len(known)], states[len(known) :]
    seen = later.states.detach().cpu().double()
    largest = seen.abs().nan_to_num(0.0).amax(dim=(0, 1))
    noise = _noise(before, known).at_least(LEAST_ERROR * largest)
    sigma, rest = noise.at(after), (seen - after).abs()
    ratio = (rest / sigma.clamp(min=1e-300)).square()
    half = len(ratio) // 2
    size = max(float(seen.abs().nanmean()), 1e-300)
    excess, late = float(ratio.nanmean().sqrt()), float(ratio[half:].nanmean().sqrt())
    usual = torch.where(rest.isnan(), torch.nan, sigma).nanmean()
    return HeldOut(float(rest.nanmean()) / size, MEAN_OF_NORMAL * float(usual) / size, excess, late)


def observation_noise(found: FoundLaw, run: Trajectory) -> Noise:
    """Noise of observations by the residuals of a law along the run that it was found from.

    Raises:
        IntegrationError: the law cannot be integrated along it.
    """
    states, _ = LawODE(found.law).followed(found.initial_states[0].double(), run.times, run.graph, run.times[0].item())
    return _noise(states.detach().double(), run)


def _noise(states: torch.Tensor, known: Trajectory) -> Noise:
    """Noise of each feature by residuals, of all snapshots but the first, which the initial state may follow."""
    seen = known.states.detach().cpu().double()
    kinds = []
    for k in range(seen.shape[-1]):
        level, rest = states[1:, :, k], (seen - states)[1:, :, k]
        there = rest.isfinite()
        kinds.append(likely_noise(level[there], rest[there]))
    additive, share = (torch.tensor(values, dtype=torch.float64) for values in zip(*kinds, strict=True))
    return Noise(additive, share)
