"""Errors of a model on the data of a page, beside those of baselines."""

from __future__ import annotations

from typing import Any

import torch

from ..data import Trajectory
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
    note = None
    if not held.any():
        note = "No snapshots were held out, so baselines cannot be compared."
    for baseline in BASELINES if held.any() else ():
        if baseline == estimator.model or (
            baseline == "spline" and not estimator.fitted_.can.past
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
    return DynamicsRegressor(baseline).fit(truth[trained.numpy()]).predict(truth.times)


def _curves(prediction: Trajectory, truth: Trajectory, where: torch.Tensor | None = None) -> list[list[float | None]]:
    """mean |error| over nodes at each time, for each feature; None at the other times."""
    error = (prediction.states.double() - truth.states.double()).abs().nanmean(dim=1).cpu()
    if where is not None:
        error[~where] = torch.nan
    return [plain(error[:, k].numpy(), 4) for k in range(error.shape[1])]
