"""Further snapshots: what a model has learned from, joined with what came since."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from ..data import Dataset, Trajectory, one_run, time_text
from .kind import Data
from .scored_snapshots import in_time_of, on_nodes_of, trained_times

if TYPE_CHECKING:
    from .estimator import DynamicsRegressor


def joined(estimator: DynamicsRegressor, new: Data) -> Data:
    """The data of the fit and new ones: further snapshots of the run, or further runs.

    Raises:
        ValueError: the data of the fit are not at hand, or both do not belong together.
    """
    old = estimator.__dict__.get("data_")
    if isinstance(old, (list, tuple)) or (isinstance(old, Dataset) and len(old.runs) > 1):
        return _more_runs(old, new)
    run = in_time_of(estimator, one_run(new, "an update"))
    if _covers(run, trained_times(estimator)):
        return new  # it holds all that was learned from
    if old is None:
        first = time_text(trained_times(estimator)[0].item(), estimator.calendar_)
        raise ValueError(
            "a model from a file does not hold the data of its fit: give update old and new snapshots together, from "
            f"{first} on"
        )
    if any(isinstance(data, Dataset) and data.graphs is not None for data in (old, new)):
        raise ValueError("the graph of these data changes: give update old and new snapshots together")
    known = one_run(old, "an update")
    run, strangers = on_nodes_of(estimator, run)
    if strangers:
        raise ValueError(f"the new data have other nodes: {'; '.join(strangers)}. Fit a new model to all of them")
    if run.graph != known.graph or run.features != known.features:
        raise ValueError(
            f"the new data live on {run.graph!r} with {', '.join(run.features)}, those of the fit on {known.graph!r} with "
            f"{', '.join(known.features)}: give snapshots of the same"
        )
    both = _one_after_the_other(known, run)
    if not isinstance(old, Dataset):
        return both
    return replace(old, runs=(both,))


def _more_runs(old: Any, new: Data) -> Data:
    if isinstance(old, Dataset) or isinstance(new, Dataset):
        raise ValueError("the model learned from several runs: fit it to old and new data together")
    return [*old, *([new] if isinstance(new, Trajectory) else new)]


def _covers(run: Trajectory, times: torch.Tensor) -> bool:
    """Whether a run has a snapshot at each of these times."""
    near = 1e-6 * float(times.diff().min()) if len(times) > 1 else 0.0
    place = torch.searchsorted(run.times, times - near).clamp(max=len(run) - 1)
    return bool(((run.times[place] - times).abs() <= near).all())


def _one_after_the_other(old: Trajectory, new: Trajectory) -> Trajectory:
    """Snapshots of both in order of time; where both have one, the new one."""
    near = 1e-6 * float(old.times.diff().min())
    kept = ((old.times[:, None] - new.times[None, :]).abs() > near).all(dim=1)
    times, order = torch.cat([old.times[kept], new.times]).sort()
    states = torch.cat([old.states[kept], new.states])[order]
    both = [one.inputs for one in (old, new) if one.inputs is not None]
    inputs = both[0].then(both[1]) if len(both) == 2 else both[0] if both else None
    same: dict[str, Any] = {"graph": old.graph, "features": old.features, "calendar": old.calendar, "inputs": inputs}
    return Trajectory(times=times, states=states, mask=~states.isnan(), **same)
