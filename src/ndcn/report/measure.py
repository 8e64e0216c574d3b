"""How wrong a model is on the data of a page, beside simple guesses that need no model."""

from __future__ import annotations

from typing import Any

import torch

from ..data import Trajectory
from ..regressor import DynamicsRegressor, scores
from .encode import plain
from .frames import KINDS, Frames

GUESSES = ("persistence", "linear", "spline")


def measured(estimator: DynamicsRegressor, frames: Frames) -> dict[str, Any] | None:
    """Scores by part and mean |error| over time, of the model and of the guesses; None without data.

    Guesses pass through the snapshots trained on, so that they are judged on the others only.
    """
    if frames.measured is None or frames.parts is None:
        return None
    truth, prediction = frames.measured
    said = prediction.states.isfinite().any(dim=2).any(dim=1).cpu()
    masks = {name: getattr(frames.parts, name) & said for name in KINDS}
    held = masks["interpolation"] | masks["extrapolation"]
    name = estimator.title_
    rows = [{"name": name, "parts": {part: scores(prediction, truth, mask) for part, mask in masks.items()}}]
    curves, note = {name: _curves(prediction, truth)}, None
    if not held.any():
        note = "No snapshot was held back, so that there is nothing to compare simple guesses on."
    for guess in GUESSES if held.any() else ():
        if guess == estimator.model or (
            guess == "spline" and not estimator.fitted_.can.past
        ):  # which goes astray after a few steps
            continue
        try:
            found = _guessed(guess, truth, frames)
        except ValueError as error:
            note = f"{guess} is left out: {error}"
            continue
        judged = {part: scores(found, truth, mask & held) for part, mask in masks.items()}
        rows.append({"name": guess, "parts": judged})
        curves[guess] = _curves(found, truth, held)
    return {"rows": rows, "curves": curves, "note": note}


def _guessed(guess: str, truth: Trajectory, frames: Frames) -> Trajectory:
    assert frames.parts is not None
    trained = frames.parts.train
    if int(trained.sum()) < 2:
        raise ValueError("it goes on from the snapshots trained on, and these data have none")
    return DynamicsRegressor(guess).fit(truth[trained.numpy()]).predict(truth.times)


def _curves(prediction: Trajectory, truth: Trajectory, where: torch.Tensor | None = None) -> list[list[float | None]]:
    """mean |error| over nodes at each time, for each feature; None at the other times."""
    error = (prediction.states.double() - truth.states.double()).abs().nanmean(dim=1).cpu()
    if where is not None:
        error[~where] = torch.nan
    return [plain(error[:, k].numpy(), 4) for k in range(error.shape[1])]
