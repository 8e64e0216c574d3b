"""The moments that a page shows: the snapshots of the data, and what the model says comes after them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from ..data import Inputs, Trajectory
from ..regressor import Parts, inputs_of_run, parts_of, trained_times
from ..solve import IntegrationError

if TYPE_CHECKING:
    from ..regressor import DynamicsRegressor

MOMENTS = 120  # without data
BEYOND = {True: 0.25, False: 0.5}  # how far to go on, as a share of the window, with data and without
KINDS = {"train": "t", "interpolation": "i", "extrapolation": "e"}  # a letter for each kind of snapshot
GIVEN, FUTURE, INSIDE = "g", "f", "w"  # a first state that was given, without data to come, within the training window
AFTER = "a"  # data after all that was forecast


@dataclass(frozen=True)
class Frames:
    """Moments in increasing order, and the states at them.

    Attributes:
        times: shape (F,).
        kinds: a letter for each: "t" trained on, "i" interpolation, "e" extrapolation, "g" given, "f" after all data,
            "w" within the training window without data, "a" after a forecast.
        prediction: shape (F, n, d), NaN where nothing was predicted.
        truth: shape (F, n, d), NaN where nothing was observed; None without data.
        known: the data, by time; None without data.
        measured: the data, and the prediction at their times; None where nothing can be compared.
        parts: which of the data are what.
        std: of the prediction, where the model knows it.
        band: lower and upper ends of intervals, of a forecast.
        notes: what the reader has to know.
    """

    times: np.ndarray
    kinds: str
    prediction: np.ndarray
    truth: np.ndarray | None
    known: Trajectory | None
    measured: tuple[Trajectory, Trajectory] | None
    parts: Parts | None
    features: tuple[str, ...]
    std: np.ndarray | None = None
    band: tuple[np.ndarray, np.ndarray] | None = None
    notes: tuple[str, ...] = ()


def frames_of(estimator: DynamicsRegressor, data: Trajectory | None) -> Frames:
    """What a model says at the times of the data and after them; without data, in its training window and after it.

    Raises:
        ValueError: the data do not belong to the model.
        IntegrationError: the prediction explodes at the times of the data already.
    """
    notes: list[str] = []
    data = estimator.train_[0].seen if data is None else data
    if data is None:
        parts, times = None, _window(estimator)
    else:
        data = data[data.times.argsort()] if (data.times.diff() < 0).any() else data
        parts, times = parts_of(estimator, data), data.times
        if parts.x0 is not None:
            notes.append("The data start from another state than the training data: no snapshot counts as trained on.")
    x0 = None if parts is None else parts.x0
    after = _after(estimator, times, BEYOND[data is not None])
    inputs = inputs_of_run(estimator, data)
    if estimator.fitted_.takes:
        after = _as_long_as_known(estimator, inputs, after)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            prediction = estimator.predict(torch.cat([times, after]), x0=x0, inputs=inputs)
        except IntegrationError:
            notes.append("The prediction explodes after the last time shown.")
            prediction = estimator.predict(times, x0=x0, inputs=inputs)
        std, why = _spread(estimator, prediction.times, x0, inputs)
    notes += [] if why is None else [why]
    notes += list(dict.fromkeys(f"{str(w.message)[:1].upper()}{str(w.message)[1:]}." for w in said))
    moments = prediction.times.numpy()
    states = prediction.states.detach().cpu().double().numpy()
    kinds = _kinds(parts, times, trained_times(estimator)[-1].item(), len(moments))
    truth = measured = None
    if data is not None:
        truth = np.full(states.shape, np.nan)
        truth[: len(times)] = data.states.detach().cpu().double().numpy()
        measured = (data, prediction[: len(times)])
    spread = None if std is None else std.numpy()
    about = (data, measured, parts, prediction.features)
    return Frames(moments, kinds, states, truth, *about, std=spread, notes=tuple(notes))


def _as_long_as_known(estimator: DynamicsRegressor, inputs: Inputs | None, after: torch.Tensor) -> torch.Tensor:
    """Those of some times at which the inputs that a model takes are known."""
    known = [one.only(estimator.fitted_.takes).end for one in (inputs, estimator.train_[0].inputs) if one is not None]
    return after[after <= max(known)] if known else after[:0]


def _kinds(parts: Parts | None, times: torch.Tensor, last: float, count: int) -> str:
    if parts is None:
        inside = [INSIDE if t <= last + 1e-9 * abs(last) else FUTURE for t in times.tolist()]
    else:
        inside = [GIVEN] * len(times)
        for name, letter in KINDS.items():
            for k in getattr(parts, name).nonzero().flatten().tolist():
                inside[k] = letter
    return "".join(inside) + FUTURE * (count - len(times))


def _spread(
    estimator: DynamicsRegressor, times: torch.Tensor, x0: torch.Tensor | None, inputs: Inputs | None
) -> tuple[torch.Tensor | None, str | None]:
    """Standard deviation (T, n, d) where the model knows it, and why not where it should."""
    if not estimator.fitted_.can.spread:
        return None, None
    try:
        return estimator.predict(times, x0=x0, inputs=inputs, return_std=True)[1].states.double().cpu(), None
    except (IntegrationError, ValueError) as error:
        return None, f"The standard deviation is not shown: {error}."


def _window(estimator: DynamicsRegressor) -> torch.Tensor:
    times, step = trained_times(estimator), estimator.fitted_.step
    as_observed = step is not None or estimator.calendar_ is not None
    return times if as_observed else torch.linspace(times[0], times[-1], MOMENTS, dtype=torch.float64)


def _after(estimator: DynamicsRegressor, times: torch.Tensor, share: float) -> torch.Tensor:
    """Equally spaced times after the last, on the steps of a model that has such, or of data that have dates."""
    first, last, step = times[0].item(), times[-1].item(), estimator.fitted_.step
    count = max(1, round(share * len(times)))
    gap = share * (last - first) / count
    step = _common_step(times) if step is None and estimator.calendar_ is not None else step
    if step is not None:
        gap = step * max(1, round(gap / step))
    return last + gap * torch.arange(1, count + 1, dtype=torch.float64) if gap > 0 else times[:0]


def _common_step(times: torch.Tensor) -> float | None:
    """The least gap between times, if all gaps are multiples of it, as days without weekends."""
    gaps = times.diff()
    least = float(gaps.min()) if len(gaps) else 0.0
    many = gaps / max(least, 1e-300)
    return least if least > 0 and bool(((many - many.round()).abs() < 1e-6).all()) else None
