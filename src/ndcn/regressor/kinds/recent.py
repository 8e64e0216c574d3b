"""The last snapshots of the training data, kept in files for pictures of a forecast beside its past."""

from __future__ import annotations

import torch

from ...data import Trajectory
from ..kind import Stored

RECENT = 60  # snapshots that are kept, or four horizons


def last_of(run: Trajectory, horizon: int) -> Trajectory:
    """The last snapshots of a run."""
    return run[-max(RECENT, 4 * horizon) :]


def recent_tensors(recent: Trajectory | None) -> dict[str, torch.Tensor]:
    """What a file holds of them; what was not observed is NaN."""
    if recent is None:
        return {}
    return {"recent.times": recent.times, "recent.states": recent.states.detach().cpu()}


def stored_recent(stored: Stored, features: tuple[str, ...]) -> Trajectory | None:
    """What a file holds of them, read again; None of files that hold none."""
    if "recent.times" not in stored.tensors:
        return None
    times, states = (stored.tensors[f"recent.{name}"] for name in ("times", "states"))
    graph = stored.initial[0].graph
    return Trajectory(times=times, states=states, mask=~states.isnan(), graph=graph, features=features, ordered=False)
