"""Numbers that a law can be computed with: what has to be right of states, weights and times before a search begins."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..data import Trajectory
from ..graph import PartGraph

# Laws hold third powers and quotients, and fits squares of them: within 1e-40 to 1e40 none of these leaves the range of float64, 1e308.
LARGEST = 1e40
# A gap this much shorter than the typical one, in which states move at this many times the typical speed, is not resolved by float64 times or
# was made by two sources: no law jumps there and is smooth elsewhere.
SHORT_GAP = 1e-8
SUDDEN = 1e6


def check_motion(trajectories: Sequence[Trajectory]) -> None:
    """Refuse trajectories at rest.

    Raises:
        ValueError: no state ever changes.
    """
    if all(t.graph.everywhere(not (t.states - t.first_state()).nan_to_num(0.0).any()) for t in trajectories):
        raise ValueError("no state ever changes: there is no law to be seen in these trajectories")


def check_numbers(trajectories: Sequence[Trajectory]) -> None:
    """Refuse states and weights that overflow in a law, and snapshots between which states jump.

    Raises:
        ValueError: with what to divide them by, or which snapshot to drop.
    """
    with trajectories[0].graph.world.agreed():
        for trajectory in trajectories:
            _check(trajectory)


def _check(trajectory: Trajectory) -> None:
    for name, values in (("states", trajectory.states), ("weights of edges", _weights(trajectory))):
        size = values.detach().double().abs().nan_to_num(0.0)
        top = float(size.max()) if size.numel() else 0.0
        if top > 0 and not 1 / LARGEST <= top <= LARGEST:
            raise ValueError(
                f"the largest of the {name} is {top:.3g}, and a law is computed with powers of it, which float64 does not hold: "
                f"give them in another unit, for example divided by {top:.0e}"
            )
    _check_gaps(trajectory)


def _weights(trajectory: Trajectory) -> torch.Tensor:
    graph = trajectory.graph
    return torch.from_numpy(graph.part.weights if isinstance(graph, PartGraph) else graph.to_scipy().data)


def _check_gaps(trajectory: Trajectory) -> None:
    gaps = trajectory.times.double().diff()
    moved = trajectory.states.detach().double().diff(dim=0).abs().nan_to_num(0.0).amax(dim=(1, 2))
    speed = moved / gaps
    sudden = (gaps < SHORT_GAP * gaps.median()) & (speed > SUDDEN * speed.median())
    if sudden.any():
        k = int(sudden.nonzero()[0])
        raise ValueError(
            f"states move by up to {float(moved[k]):.3g} between t = {float(trajectory.times[k]):.12g} and the next snapshot, "
            f"{float(gaps[k]):.3g} later, where snapshots are {float(gaps.median()):.3g} apart elsewhere: no law explains such a jump. Drop "
            "one of the two snapshots, or correct its time"
        )
