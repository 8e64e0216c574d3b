"""Equal time steps: where models live that go from one snapshot to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from .calendar import Calendar, time_text

FLOAT32 = 2.0**-23  # times that were float32 once are off by this share of their size


@dataclass(frozen=True)
class TimeGrid:
    """t_k = start + k step, k = 0, 1, 2, ...

    Times within a millionth of a step, or within the rounding of float32, are on the grid.
    """

    start: float
    step: float
    calendar: Calendar | None = None  # what times mean, for messages

    def index(self, times: torch.Tensor) -> torch.Tensor:
        """k of each time, shape (T,), or a ValueError that names the nearest times on the grid."""
        asked = times.detach().cpu().double()
        k = ((asked - self.start) / self.step).round()
        off = (asked - self.start - k * self.step).abs() > self._tolerance(asked)
        if (k < 0).any():
            early, first = (time_text(t, self.calendar) for t in (asked[k < 0][0].item(), self.start))
            raise ValueError(f"cannot predict {early}, before the start at {first.removeprefix('t = ')}")
        if off.any():
            t = asked[off][0].item()
            below = int((t - self.start) // self.step)
            beside = [self.start + j * self.step for j in (below, below + 1) if j >= 0]
            near = [self._text(one) for one in beside]
            raise ValueError(
                f"{time_text(t, self.calendar)} is between two steps: this model only knows the times "
                f"{self._text(self.start)} + k * {self.step:.9g}{'' if self.calendar is None else f' {self.calendar.unit}s'}; "
                f'ask for {" or ".join(near)}, or use model="ndcn", which predicts at any time'
            )
        return k.long()

    def _text(self, time: float) -> str:
        return f"{time:.9g}" if self.calendar is None else self.calendar.text(time)

    def _tolerance(self, times: torch.Tensor) -> torch.Tensor:
        rounding = FLOAT32 * times.abs().clamp(min=abs(self.start))
        return (1e-6 * self.step + rounding).clamp(max=1e-3 * self.step)


def common_grid(all_times: Sequence[torch.Tensor], model: str) -> TimeGrid:
    """The grid of the first of these times, of shape (T,) each; all must have the same equal steps.

    Raises:
        ValueError: the gaps differ; the message says which and what to do.
    """
    first = all_times[0]
    grid = TimeGrid(first[0].item(), (first[-1] - first[0]).item() / (len(first) - 1))
    for times in all_times:
        here = TimeGrid(times[0].item(), grid.step)
        away = (times - here.start - grid.step * torch.arange(len(times), dtype=times.dtype)).abs()
        if (away > here._tolerance(times)).any():
            gaps = torch.cat([t.diff() for t in all_times])
            raise ValueError(
                f"{model} learns steps of equal length, but the gaps between these snapshots go from {gaps.min().item():.6g} "
                f"to {gaps.max().item():.6g}; resample them at equal steps, with a mask where nothing was seen, hold no "
                'snapshots back between them (interpolation=0), or use model="ndcn", which takes any times'
            )
    return grid
