"""What a page shows of a forecast: the past that it was made from, the steps after it, and its past errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..data import Trajectory
from ..forecast import ALWAYS
from ..regressor import Parts, check_forecast_data
from .encode import plain
from .frames import AFTER, FUTURE, KINDS, Frames
from .section import PageContext

if TYPE_CHECKING:
    from ..regressor import DynamicsRegressor

LEVEL = 0.9  # of the intervals
ROWS = 8  # candidates that are shown at once


def forecast_frames(estimator: DynamicsRegressor, data: Trajectory | None) -> Frames:
    """The snapshots of the data, and the steps of the forecast; nothing is predicted about the past.

    Raises:
        ValueError: the data have other nodes or features.
    """
    ahead = estimator.fitted_.ahead
    assert ahead is not None
    steps = torch.tensor(ahead.times).double()
    near, times, where = 1e-6 * ahead.step, steps, torch.arange(0)
    if data is not None:
        check_forecast_data(estimator, data)
        data = data[data.times.argsort()] if (data.times.diff() < 0).any() else data
        free = ((steps[:, None] - data.times[None, :]).abs() > near).all(dim=1)
        times, order = torch.cat([data.times, steps[free]]).sort()
        where = order.argsort()[: len(data)]  # of each snapshot among the moments
    said = (times > ahead.start + near) & (times <= steps[-1] + near)
    guess = estimator.predict(times[said])
    prediction, band = _spread_out(guess.states, said), None
    if estimator.fitted_.can.spread:
        lower, upper = estimator.intervals(times[said], LEVEL)
        band = (_spread_out(lower.states, said), _spread_out(upper.states, said))
    kinds = np.full(len(times), FUTURE)
    truth = measured = parts = None
    if data is not None:
        after, compared = data.times > ahead.start + near, said[where]
        kinds[where] = np.where(compared, KINDS["extrapolation"], np.where(after, AFTER, KINDS["train"]))
        truth = np.full(prediction.shape, np.nan)
        truth[where] = data.states.detach().cpu().double().numpy()
        parts = Parts(~after, torch.zeros_like(after), compared, None)
        if compared.any():
            made = torch.from_numpy(prediction[where])
            measured = (data, data.replaced(states=made, mask=made.isfinite()))
    return Frames(times.numpy(), "".join(kinds), prediction, truth, data, measured, parts, guess.features, band=band)


def about_forecast(page: PageContext) -> dict[str, Any] | None:
    """What was chosen and why, and the past errors of all candidates; None for models of dynamics."""
    found = page.forecast
    if found is None:
        return None
    features = []
    for k, (name, kind, table) in enumerate(zip(found.features, found.kinds, found.tables, strict=True)):
        known = [(row, np.array([np.nan if e is None else e for e in errors])) for row, _, errors in table.rows]
        rows = [[row, *plain(errors, 3)] for row, errors in sorted(known, key=lambda one: _rank(one[0]))]
        lines = [{"steps": steps, "words": words} for steps, words in found.verdicts(k)]
        horizons = list(table.horizons)
        features.append({"name": name, "kind": kind, "verdicts": lines, "horizons": horizons, "table": rows})
    about = {"level": LEVEL, "horizon": found.horizon, "rows": ROWS}
    return {**about, "features": features}


def _rank(name: str) -> int:
    """What is used and what it is compared with come before the others, which stay by their errors."""
    return ALWAYS.index(name) if name in ALWAYS else len(ALWAYS)


def _spread_out(states: torch.Tensor, where: torch.Tensor) -> np.ndarray:
    """States at some of the moments, NaN at the others."""
    out = np.full((len(where), *states.shape[1:]), np.nan)
    out[where.numpy()] = states.double().numpy()
    return out
