"""Inputs that are functions of time: time itself, and a step at some moment; known for ever, so that nobody has to give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from .inputs import Driver, Inputs


@dataclass(frozen=True)
class TimeItself(Driver):
    """u(t) = t, at all times."""

    @property
    def constant(self) -> bool:
        """Never."""
        return False

    def at(self, times: torch.Tensor) -> torch.Tensor:
        """The times themselves, shape (..., 1)."""
        return times.double().unsqueeze(-1)

    def knots(self, *, kinks: bool) -> torch.Tensor:
        """None: it neither jumps nor bends."""
        return self.times[:0]


def clock_inputs(clock: Mapping[str, float | None]) -> Inputs:
    """Functions of time by name: None stands for time itself, a number for a step from 0 to 1 at that time.

    Example:
        >>> inputs = clock_inputs({"t": None, "step": 2.5})
        >>> {name: value.tolist() for name, value in inputs.at([1.0, 3.0]).items()}
        {'t': [[1.0], [3.0]], 'step': [[0.0], [1.0]]}
        >>> inputs.stops(0.0, 5.0)
        [2.5]
    """
    ever = torch.tensor([-torch.inf, torch.inf], dtype=torch.float64)
    drivers: list[Driver] = []
    for name, at in clock.items():
        if at is None:
            drivers.append(TimeItself(name, ever, ever.new_zeros(2, 1), "linear"))
        else:
            times = torch.tensor([-torch.inf, at, torch.inf], dtype=torch.float64)
            drivers.append(Driver(name, times, times.new_tensor([[0.0], [1.0], [1.0]]), "held"))
    return Inputs.of(drivers)
