"""Units: between those of the data and the model's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ..data import Trajectory
from .recipes import Recipe


@dataclass(frozen=True)
class Units:
    """Between the data's units and the model's own: x = scale x_model, t = origin + t_model / rate."""

    scale: torch.Tensor
    origin: float
    rate: float

    @classmethod
    def identity(cls, features: int) -> Units:
        """The data's own units."""
        return cls(torch.ones(features, dtype=torch.float64), 0.0, 1.0)

    def time(self, t: torch.Tensor) -> torch.Tensor:
        """Data time to model time."""
        return (t - self.origin) * self.rate

    def trajectory(self, data: Trajectory) -> Trajectory:
        """Data in the data's units to the model's, in float64."""
        states = data.states.double() / self.scale.to(data.states.device)
        return Trajectory(times=self.time(data.times), states=states, graph=data.graph, mask=data.mask)


def units_of(trajectories: Sequence[Trajectory], recipe: Recipe) -> Units:
    """Each feature in units of its mean absolute value, and the training window of length ``recipe.span``, if wanted."""
    d = trajectories[0].num_features
    if not recipe.rescale:
        return Units.identity(d)
    total, count = torch.zeros(d, dtype=torch.float64), torch.zeros(d, dtype=torch.float64)
    for t in trajectories:
        total += t.states.detach().abs().nansum(dim=(0, 1), dtype=torch.float64).cpu()
        count += len(t) * t.graph.num_nodes if t.mask is None else t.mask.sum(dim=(0, 1)).cpu()
    scale = total / count
    origin = min(t.times[0].item() for t in trajectories)
    last = max(t.times[-1].item() for t in trajectories)
    return Units(torch.where(scale > 0, scale, 1.0), origin, recipe.span / (last - origin))
