"""Which intervals between snapshots a fit uses: docs/interaction.md, How it works, 4."""

from __future__ import annotations

import torch

from .observations import Observations


def interval_speeds(one: Observations) -> torch.Tensor:
    """How much happens in each interval, as a multiple of the mean over all, (T - 1,)."""
    moved = torch.asinh(one.level / one.unit).diff(dim=0).abs()
    return (moved / moved.mean(dim=(0, 1)).clamp(min=1e-300)).mean(dim=(1, 2))


def spread_intervals(one: Observations, count: int) -> torch.Tensor:
    """``count`` intervals: half of them the fastest, the others evenly spread."""
    speed = interval_speeds(one)
    if len(speed) <= count:
        return torch.arange(len(speed))
    fast = speed.argsort(descending=True)[: count // 2]
    even = torch.linspace(0, len(speed) - 1, count - count // 2).round().long()
    return torch.cat([fast, even]).unique()


def fastest_intervals(one: Observations, count: int) -> torch.Tensor:
    """``count`` of the fastest intervals, two of them slow ones.

    The very fastest, one in 40 and one more, are left out: a first guess, whose rates are off, overshoots there.
    """
    speed = interval_speeds(one)
    if len(speed) <= count:
        return torch.arange(len(speed))
    skip = min(1 + len(speed) // 40, len(speed) - count)
    fast = speed.argsort(descending=True)[skip : skip + count - 2]
    slow = torch.linspace(len(speed) // 2, len(speed) - 1, 2).round().long()
    return torch.cat([fast, slow]).unique()
