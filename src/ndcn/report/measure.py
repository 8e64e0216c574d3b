"""How wrong a model is on the data of a page, beside simple guesses that need no model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluation import scores
from ..trajectory import Trajectory
from .encode import plain
from .frames import KINDS, Frames

if TYPE_CHECKING:
    from ..estimators import DynamicsRegressor

GUESSES = ("persistence", "linear", "spline")


def measured(estimator: DynamicsRegressor, frames: Frames) -> dict[str, Any] | None:
    """Scores by part and mean |error| over time, of the model and of the guesses; None without data."""
    if frames.measured is None or frames.parts is None:
        return None
    truth, prediction = frames.measured
    found = {name_of(estimator): prediction}
    note = None
    for guess in GUESSES:
        if guess == estimator.model:
            continue
        try:
            found[guess] = _guessed(guess, truth, frames)
        except ValueError as error:
            note = f"{guess} is left out: {error}"
    masks = {name: getattr(frames.parts, name) for name in KINDS}
    return {
        "rows": [
            {"name": name, "parts": {part: scores(one, truth, mask) for part, mask in masks.items()}}
            for name, one in found.items()
        ],
        "curves": {name: _curves(one, truth) for name, one in found.items()},
        "note": note,
    }


def name_of(estimator: DynamicsRegressor) -> str:
    """The model in a word."""
    return estimator.model if isinstance(estimator.model, str) else type(estimator.model).__name__


def _guessed(guess: str, truth: Trajectory, frames: Frames) -> Trajectory:
    from ..estimators import DynamicsRegressor

    assert frames.parts is not None
    trained = frames.parts.train
    if int(trained.sum()) < 2:
        raise ValueError("it goes on from the snapshots trained on, and these data have none")
    return DynamicsRegressor(guess).fit(truth[trained.numpy()]).predict(truth.times)


def _curves(prediction: Trajectory, truth: Trajectory) -> list[list[float | None]]:
    """mean |error| over nodes at each time, for each feature."""
    error = (prediction.states.double() - truth.states.double()).abs().nanmean(dim=1).cpu().numpy()
    return [plain(np.asarray(error[:, k]), 4) for k in range(error.shape[1])]
