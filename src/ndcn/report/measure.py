"""Errors of a model on the data of a page, beside those of baselines."""

from __future__ import annotations

from typing import Any

import torch

from .._support.wording import some
from ..data import Trajectory
from ..graph import Graph
from ..regressor import DynamicsRegressor, scores
from .encode import plain
from .frames import KINDS, Frames

BASELINES = ("persistence", "linear", "spline")


def measured(estimator: DynamicsRegressor, frames: Frames) -> dict[str, Any] | None:
    """Scores by part and mean |error| over time, of the model and of the baselines; None without data.

    Baselines pass through the training snapshots, so they are scored on the held-out ones only.
    """
    if frames.measured is None or frames.parts is None:
        return None
    truth, prediction = frames.measured
    predicted = prediction.states.isfinite().any(dim=2).any(dim=1).cpu()
    masks = {name: getattr(frames.parts, name) & predicted for name in KINDS}
    held = masks["interpolation"] | masks["extrapolation"]
    name = estimator.title_
    rows = [{"name": name, "parts": {part: scores(prediction, truth, mask) for part, mask in masks.items()}}]
    curves = {name: _curves(prediction, truth)}
    note = _unseen(truth, frames)
    if not held.any():
        note = "No snapshots were held out, so baselines cannot be compared."
    for baseline in BASELINES if held.any() else ():
        if baseline == estimator.model or (
            baseline == "spline" and estimator.fitted_.ahead is not None
        ):  # a spline diverges after a few steps
            continue
        try:
            found = _predicted(baseline, truth, frames)
        except ValueError as error:
            note = f"{baseline} is left out: {error}"
            continue
        judged = {part: scores(found, truth, mask & held) for part, mask in masks.items()}
        rows.append({"name": baseline, "parts": judged})
        curves[baseline] = _curves(found, truth, held)
    return {"rows": rows, "curves": curves, "note": note}


def _predicted(baseline: str, truth: Trajectory, frames: Frames) -> Trajectory:
    assert frames.parts is not None
    trained = frames.parts.train
    if int(trained.sum()) < 2:
        raise ValueError("it extrapolates the training snapshots, and these data have none")
    known, seen = truth[trained.numpy()], _seen(truth, frames)
    if seen.all():
        return DynamicsRegressor(baseline).fit(known).predict(truth.times)
    here = truth.graph.to_scipy()[seen.numpy()][:, seen.numpy()]
    part = known.replaced(states=known.states[:, seen], mask=_of_nodes(known.mask, seen), graph=Graph(here))
    states = torch.full(truth.states.shape, torch.nan, dtype=torch.float64)
    states[:, seen] = DynamicsRegressor(baseline).fit(part).predict(truth.times).states.double()
    return truth.replaced(states=states, mask=states.isfinite())


def _of_nodes(mask: torch.Tensor | None, seen: torch.Tensor) -> torch.Tensor | None:
    return None if mask is None else mask[:, seen]


def _seen(truth: Trajectory, frames: Frames) -> torch.Tensor:
    """Nodes all of whose features were observed in training, shape (n,); baselines say nothing about the others."""
    assert frames.parts is not None
    return truth.states[frames.parts.train].isfinite().any(dim=0).all(dim=1).cpu()


def _unseen(truth: Trajectory, frames: Frames) -> str | None:
    """Which nodes baselines have no guess for, because they were never observed in training; None without them."""
    seen = _seen(truth, frames)
    if seen.all() or not seen.any():
        return None
    names = [truth.graph.nodes[i] for i in (~seen).nonzero().flatten().tolist()]
    return f"Baselines say nothing about {some(names)}: not observed before the forecast or in training."


def _curves(prediction: Trajectory, truth: Trajectory, where: torch.Tensor | None = None) -> list[list[float | None]]:
    """mean |error| over nodes at each time, for each feature; None at the other times."""
    error = (prediction.states.double() - truth.states.double()).abs().nanmean(dim=1).cpu()
    if where is not None:
        error[~where] = torch.nan
    return [plain(error[:, k].numpy(), 4) for k in range(error.shape[1])]
