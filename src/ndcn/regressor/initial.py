"""InitialCondition: where a training trajectory began, and when it was observed."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ..data import Inputs, Trajectory
from ..graph import Graph
from ..solve import Solver


@dataclass(frozen=True)
class InitialCondition:
    """X(t0) = x0 on a graph: what predictions start from, with the times at which the trajectory was observed.

    Attributes:
        seen: the whole trajectory, for models that go on from all of it.
        observed: the first state as it was observed, where ``x0`` was estimated.
        elsewhere: id of the partition that holds the network and its states, where the file of a model is too small for them.
        inputs: what acted on the network.
    """

    graph: Graph
    x0: torch.Tensor
    t0: float
    times: torch.Tensor
    features: tuple[str, ...]
    seen: Trajectory | None = None
    observed: torch.Tensor | None = None
    elsewhere: str | None = None
    inputs: Inputs | None = None

    @property
    def first(self) -> torch.Tensor:
        """The first state as it was observed."""
        return self.x0 if self.observed is None else self.observed

    @classmethod
    def of(cls, data: Trajectory) -> InitialCondition:
        """That of a trajectory."""
        first = data.times[0].item()
        return cls(data.graph, data.first_state(), first, data.times, data.features, inputs=data.inputs)

    @property
    def tolerance(self) -> float:
        """Times nearer than this are the same: rounding to float32 moves them by less than a millionth of the window."""
        return 1e-6 * float(self.times[-1] - self.times[0])

    def steps(self, solver: Solver | None, t0: float, until: float) -> torch.Tensor:
        """Times between t0 and ``until`` on which a prediction steps besides those asked for.

        A model that steps on observations learned the steps between its training times; other models need none.
        """
        if solver is None or solver.step_size != "observations":
            return self.times[:0]
        own = self.times + (t0 - self.t0)
        return own[own < until]
