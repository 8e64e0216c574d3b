"""What has to be right before training starts, of data and of models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from ..data import Dataset, TimeGrid, Trajectory
from ..neural import GraphODE, TemporalGNN, filled
from ..solve import check_field, with_inputs
from ..training import Objective, Problem, Units
from .kind import Data, Fitted, TrainingData
from .settings import Settings


def runs_in(data: Any) -> Iterator[Any]:
    """The runs of a trajectory, a dataset, or a list of both; those of datasets are cut where the graph changes."""
    for one in [data] if isinstance(data, (Trajectory, Dataset)) else data:
        yield from one.pieces() if isinstance(one, Dataset) else (one,)


def checked_data(data: Trajectory | Dataset | Sequence[Trajectory | Dataset]) -> list[Trajectory]:
    """The trajectories to learn from, or an error that says why they cannot be learned from."""
    trajectories = list(runs_in(data))
    if not trajectories or not all(isinstance(t, Trajectory) for t in trajectories):
        raise TypeError("fit needs an ndcn.Trajectory, or a list of them: Trajectory(times=..., states=..., graph=...)")
    for trajectory in trajectories:
        if trajectory.mask is not None and not trajectory.mask.any():
            raise ValueError("the mask marks every entry as missing: there is nothing to learn from")
        if len(trajectory) < 2:
            split = (
                "; scikit-learn's cross-validation splits a trajectory into snapshots: give it a list of runs, or use "
                "ndcn.backtest"
            )
            raise ValueError(
                "one snapshot does not show any dynamics: at least two are needed to learn from"
                + (split if len(trajectories) > 1 else "")
            )
        if not (trajectory.times.diff() > 0).all():
            raise ValueError("the times of the training data must be in increasing order, each once")
        if trajectory.states.dtype == torch.bfloat16:
            raise ValueError("states in bfloat16 have too few digits to learn from: use states.float()")
    counts = [t.num_features for t in trajectories]
    if len(set(counts)) > 1:
        raise ValueError(f"the trajectories have different numbers of features: {counts}")
    if len({t.features for t in trajectories}) > 1:
        known = "; ".join(sorted({", ".join(t.features) for t in trajectories}))
        raise ValueError(
            f"the trajectories have features of different names ({known}): give all the same, in one order"
        )
    return trajectories


def fit_kind(data: Data, trajectories: list[Trajectory], settings: Settings) -> Fitted:
    """Fit the kind of model that the settings ask for.

    Raises:
        ValueError: several processes share the network, and the kind, or an ensemble of it, cannot be trained so.
    """
    kind, shared = settings.kind, any(t.graph.in_parts for t in trajectories)
    if shared and (not kind.can.in_parts or settings["ensemble"] > 1):
        what = f"{kind.subject(settings.model)} as an ensemble" if kind.can.in_parts else kind.subject(settings.model)
        raise ValueError(
            f"{what} cannot be fitted on a network that several processes share: use ndcn, no_encode, no_graph, no_control, a module of "
            "your own, or interaction for a law; or fit it in one process on data that were not cut"
        )
    return kind.fit(TrainingData(data, trajectories), settings)


def problem_of(
    model: nn.Module,
    whole: Trajectory,
    part: Trajectory,
    units: Units,
    objective: Objective,
    dtype: torch.dtype,
    device: torch.device,
) -> Problem:
    """Learn the snapshots ``part`` of a trajectory.

    A temporal GNN predicts all but the first of them, each from the true ones before; those that are held out it reads too.
    """
    spread = rows = None
    if isinstance(model, TemporalGNN):
        times = units.time(whole.times)  # a ready TemporalGNN must have their step; a named one was made for it
        if TimeGrid(times[0].item(), model.step).index(times)[-1] != len(times) - 1:
            gap = (times[-1] - times[0]).item() / (len(times) - 1)
            raise ValueError(
                f"this TemporalGNN takes steps of {model.step:.6g}, and the snapshots are {gap:.6g} apart: make it with "
                f"step={gap:.6g}"
            )
        here = torch.searchsorted(whole.times, part.times)
        part, rows = part[(here > 0).numpy()], here[here > 0] - 1
        if part.mask is not None and not part.mask.any():
            raise ValueError("nothing was observed after the first snapshot: there is no step to learn from")
        spread = model.spread(filled(units.trajectory(whole))[:-1].to(device, dtype), whole.graph)
        rows = None if len(rows) == len(spread) else rows.to(device)
    return Problem(
        graph=whole.graph,
        x0=(whole.first_state().double() / units.scale).to(device, dtype),
        t0=units.time(whole.times[0]).item(),
        times=units.time(part.times),
        target=objective.target(part, units.scale, dtype, device),
        spread=spread,
        rows=rows,
        inputs=None if whole.inputs is None else whole.inputs.moved(units.origin, units.rate),
    )


def check_model(model: nn.Module, problem: Problem, objective: Objective) -> None:
    """Call the model once and explain what is wrong with its answer, if anything is.

    Its shape matters where the objective compares it with the data; a terminal loss of one's own may score any other.
    """
    x0, expected = problem.x0, tuple(problem.target.states.shape)
    try:
        with torch.no_grad():
            if isinstance(model, GraphODE):
                last = max(problem.times[-1].item(), problem.t0)
                field = with_inputs(model.field, problem.inputs, problem.graph, problem.t0, last)
                check_field(field, problem.graph, model.encoder(x0), problem.t0)
                part, shape, expected = "decoder", tuple(model.decoder(model.encoder(x0)).shape), expected[1:]
            else:
                part, shape = "model", _shape(model, problem)
    except RuntimeError as error:  # torch's, of matrices that do not fit
        raise ValueError(f"the model does not fit states of shape {tuple(x0.shape)}: {error}") from error
    if not objective.compares:
        shape, expected = shape[:-1], expected[:-1]
    if shape != expected:
        raise ValueError(f"the {part} returns shape {shape} where the data have {expected}")


def _shape(model: nn.Module, problem: Problem) -> tuple[int, ...]:
    name = type(model).__name__
    try:
        out = model(problem.x0, problem.times, problem.graph, problem.t0)
    except TypeError as error:
        raise TypeError(
            f"{name} could not be called as model(x0, times, graph, t0): {error}; "
            "GraphODE(encoder, field, decoder) makes such a model of its parts"
        ) from error
    if not isinstance(out, torch.Tensor):
        raise TypeError(f"{name} returned {type(out).__name__}; it must return a tensor of shape (time, node, feature)")
    return tuple(out.shape)


def hold_out(
    trajectories: Sequence[Trajectory], share: float, seed: int, objective: Objective
) -> tuple[list[Trajectory], list[Trajectory]]:
    """Snapshots to learn from, and a random share of each trajectory (never its first) to validate on.

    With a terminal loss, which belongs to the last time, the last snapshot is always learned from.
    """
    if share == 0:
        return list(trajectories), []
    if objective.running is None:
        raise ValueError(
            "validation judges snapshots before the last by the running loss, and this objective has none: give it one, "
            'as in Objective(running="l1", terminal=...), or drop validation'
        )
    generator = np.random.default_rng([seed, 2])  # another stream than those of times and splits
    learn, held = [], []
    for trajectory in trajectories:
        count = max(1, round(share * len(trajectory)))
        if len(trajectory) - count < 2:
            raise ValueError(f"{len(trajectory)} snapshots are too few to hold out {count} and learn from the rest")
        free = len(trajectory) - (1 if objective.terminal is None else 2)
        drawn = np.sort(1 + generator.choice(free, size=count, replace=False))
        learn.append(trajectory[np.setdiff1d(np.arange(len(trajectory)), drawn)])
        held.append(trajectory[drawn])
    return learn, held
