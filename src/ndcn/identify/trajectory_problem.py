"""TrajectoryProblem: a trajectory to be fitted as a whole, with its initial state and the steps it is integrated in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from ..laws import Model, Network
from ..solve import RK4
from .initial_states import Elimination, Solutions
from .observations import Observations
from .shooting import steps_needed
from .tape import Tape, record, roll

# Step times the largest sum of a row of |J| at most. That sum bounds all eigenvalues (Gershgorin), and RK4 is stable to 2.78 on the negative
# axis and to 2.83 on the imaginary one; the rest is for states near the trajectory.
STABLE = 2.0
MOST_STEPS = 128  # for each interval; intervals that need more are integrated in twice as many
LOST_SHARE = 0.2  # a model for which more intervals than this need more is given up
ROOM = 0.2  # of the range of states seen, by which initial states may lie outside it
LEAST_ERROR = 1e-9  # of an initial state, as a share of the spread of states: its inverse stays finite


@dataclass(frozen=True)
class TrajectoryProblem:
    """One trajectory to be fitted."""

    data: Observations
    steps: tuple[int, ...]  # for each interval
    x0: torch.Tensor  # the initial state, (n, d)
    guess: (
        torch.Tensor
    )  # what is known of it before: observations of the first snapshot, or where there are none, of any other
    error: torch.Tensor  # of that guess
    bounds: tuple[torch.Tensor, torch.Tensor]  # least and largest initial state of each feature
    elimination: Elimination | Solutions | None = None  # of the initial state in the iteration before

    def followed(self, model: Model) -> torch.Tensor | None:
        """The states of the model from the initial one on, (T, n, d); None if they explode."""
        return roll(model, self.data.network, self.x0, self.data.spans, self.steps)

    def recorded(self, model: Model) -> Tape | None:
        """The same with the tape of its derivatives."""
        return record(model, self.data.network, self.x0, self.data.spans, self.steps)

    def moved(self, step: torch.Tensor) -> TrajectoryProblem:
        """With another initial state, not far outside what was ever seen."""
        return replace(self, x0=torch.clamp(self.x0 + step, *self.bounds))

    def movable(self, down: np.ndarray) -> np.ndarray:
        """Which entries of x0 may move in this direction, (n d,): not those at their bounds, nor those seen without noise."""
        low, high = self.bounds
        along = torch.from_numpy(down).reshape(self.x0.shape)
        stuck = ((self.x0 <= low) & (along < 0)) | ((self.x0 >= high) & (along > 0))
        return ~(stuck | (self.data.seen[0] & self.data.gaps)).reshape(-1).numpy()

    def sigma(self, states: torch.Tensor) -> torch.Tensor:
        """Noise of observations of these states."""
        return self.data.measured.at(states).clamp(min=1e-12)


def problem_of(one: Observations, steps: Sequence[int]) -> TrajectoryProblem:
    """Ready to fit, from the first snapshot, as far as it was seen."""
    seen = one.seen[0]
    guess = torch.where(seen, one.states[0].nan_to_num(0.0), one.level[0])
    flat = one.level.reshape(-1, one.level.shape[-1])
    # States that were not seen may be as far apart as those that were: trajectories that draw together begin far apart.
    begun = torch.where(seen, guess, torch.nan)
    apart = (begun - begun.nanmean(0)).square().nanmean(0).sqrt().nan_to_num(0.0)
    spread = torch.maximum(flat.std(0), apart)
    low = flat.amin(0)
    high = flat.amax(0)
    error = torch.where(seen, one.measured.at(guess), spread.expand_as(guess)) + LEAST_ERROR * spread
    room = ROOM * (high - low)
    bounds = (torch.where(low >= 0, torch.zeros_like(low), low - room), high + room)
    return TrajectoryProblem(one, tuple(steps), guess, guess, error, bounds)


def problems_for(data: Sequence[Observations], model: Model, tolerance: torch.Tensor) -> list[TrajectoryProblem] | None:
    """Problems with the steps that the model needs along the data; None if it is too fast."""
    out = []
    for one in data:
        steps = steps_along(model, one, one.level, tolerance, MOST_STEPS)
        if (steps == 0).float().mean() > LOST_SHARE:
            return None
        out.append(problem_of(one, torch.where(steps == 0, 2 * MOST_STEPS, steps).tolist()))
    return out


def steps_along(
    model: Model, one: Observations, states: torch.Tensor, tolerance: torch.Tensor, most: int
) -> torch.Tensor:
    """Steps for each interval along these states, (T - 1,): for this error, and so that small errors fade where they should.

    Where the model stands still, large steps are accurate but let whatever is near it explode, derivatives first. Intervals
    for which ``most`` do not suffice get 0.
    """
    steps = steps_needed(model, one.network, states[:-1], one.spans, tolerance, most, RK4)
    fastest = torch.cat(
        [_fastest(model, one.network, some, tolerance) for some in states[:-1].split(one.network.together())]
    )
    stable = (one.spans * fastest / STABLE).nan_to_num(torch.inf).clamp(max=most + 1).ceil().long()
    return torch.where((steps == 0) | (stable > most), 0, torch.maximum(steps, stable))


def _fastest(model: Model, network: Network, states: torch.Tensor, unit: torch.Tensor) -> torch.Tensor:
    """The largest sum of a row of |J| at each of some states (K, n, d), features being compared by how large they are, (K,)."""
    each = unit.expand(states.shape[-1]).numpy()
    size = np.where(np.isfinite(each), each, 0.0)
    if (kernel := model.kernel(network)) is not None:
        own, edges = (np.abs(part) @ size / each for part in kernel.jacobian(states.numpy()))
        return torch.from_numpy(own + network.summed(edges)).flatten(1).amax(1)
    slopes = model.slopes(states, network)
    nodes = states.shape[0] * states.shape[1]
    sums = abs(network.jacobian(slopes.own, slopes.edges)) @ np.tile(size, nodes) / np.tile(each, nodes)
    return torch.from_numpy(sums).reshape(len(states), -1).amax(1)
