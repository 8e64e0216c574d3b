"""How well a model predicts data: which snapshots it was trained on, and its errors on them and on the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ..data import Trajectory, metrics

if TYPE_CHECKING:
    from ..data import Dataset
    from .estimator import DynamicsRegressor

Scores = dict[str, "float | int | None"]


class Parts(NamedTuple):
    """Which snapshots of some data are of which kind, each of shape (T,), and where a prediction of them starts.

    ``x0`` is the first state of data that start from another state than the training data; then no snapshot counts as
    trained on, and the first, which is given, counts as nothing. Otherwise it is None.
    """

    train: torch.Tensor
    interpolation: torch.Tensor
    extrapolation: torch.Tensor
    x0: torch.Tensor | None


def parts_of(estimator: DynamicsRegressor, truth: Trajectory) -> Parts:
    """Snapshots trained on; others up to the last training time (interpolation) and after it (extrapolation).

    Raises:
        ValueError: the data live on another graph, or have other features.
    """
    start, times = estimator.train_[0], trained_times(estimator)
    _check_features(estimator, truth)
    graph = estimator.graphs_.last if _changes(estimator) and estimator.graphs_ is not None else start.graph
    if truth.graph != graph:
        raise ValueError(
            f"the data live on another graph ({truth.graph!r}) than the model was trained on ({graph!r}); "
            "`ndcn predict --data` predicts on another graph"
        )
    gaps = torch.cat([times.diff(), truth.times.diff()])
    near = 1e-6 * gaps.min().item()  # far less than what lies between any two snapshots
    trained = ((truth.times[:, None] - times[None, :]).abs() <= near).any(dim=1)
    after, scored, x0 = truth.times > times[-1], torch.ones(len(truth), dtype=torch.bool), None
    if abs(truth.times[0].item() - start.t0) <= near and _starts_elsewhere(truth, start.x0):
        x0, scored[0], trained = truth.first_state(), False, torch.zeros_like(trained)
    return Parts(trained, ~trained & ~after & scored, ~trained & after & scored, x0)


def score_parts(estimator: DynamicsRegressor, truth: Trajectory) -> tuple[dict[str, Scores | None], list[str]]:
    """Errors on the training, interpolation and extrapolation times, None for a part without snapshots; and notes.

    A forecast is measured at the snapshots after those that it was made from.

    Raises:
        ValueError: the data live on another graph, or have other features.

    Example:
        >>> import ndcn
        >>> graph, times = ndcn.networks.grid(9), ndcn.sampling.regular_times(1.0, 10)
        >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
        >>> reg = ndcn.DynamicsRegressor(epochs=2).fit(data[:8])
        >>> score_parts(reg, data)[0]["extrapolation"]["snapshots"]
        2
    """
    if not estimator.fitted_.can.past:
        return {"train": None, "interpolation": None, "extrapolation": forecast_scores(estimator, truth)}, []
    parts = parts_of(estimator, truth)
    elsewhere = "the data start from another state than the training data: no snapshot counts as trained on"
    prediction = estimator.predict(truth.times, x0=parts.x0)
    inside = {"train": parts.train, "interpolation": parts.interpolation, "extrapolation": parts.extrapolation}
    found = {name: scores(prediction, truth, where) for name, where in inside.items()}
    return found, [] if parts.x0 is None else [elsewhere]


def trained_times(estimator: DynamicsRegressor) -> torch.Tensor:
    """When the first training trajectory was observed; of data cut where the graph changes, all their times."""
    starts = estimator.train_
    return torch.cat([start.times for start in starts]).unique() if _changes(estimator) else starts[0].times


def _changes(estimator: DynamicsRegressor) -> bool:
    return estimator.graphs_ is not None and len(estimator.graphs_) > 1 and estimator.fitted_.can.any_graph


def in_time_of(estimator: DynamicsRegressor, data: Dataset, run: Trajectory) -> Trajectory:
    """A run of the data, with its times counted as those of the model where both have dates."""
    own = estimator.calendar_
    if data.calendar is None or own is None or own == data.calendar:
        return run
    dates: Any = data.calendar.dates(run.times.numpy())
    if data.calendar.tz is not None:
        dates = dates.tz_convert("UTC").tz_localize(None)
    return run.replaced(times=torch.as_tensor(own.numbers(dates), dtype=torch.float64))


def forecast_scores(estimator: DynamicsRegressor, truth: Trajectory) -> Scores | None:
    """Errors of a forecast at the snapshots after the last one that it was made from, up to its horizon.

    Raises:
        ValueError: there is no such snapshot, or the data have other nodes or features.
    """
    check_forecast_data(estimator, truth)
    ahead = estimator.fitted_.ahead
    assert ahead is not None
    near, end = 1e-6 * ahead.step, ahead.start + ahead.steps * ahead.step
    after = (truth.times > ahead.start + near) & (truth.times <= end + near)
    if not after.any():
        raise ValueError(
            f"the data have no snapshot after t = {ahead.start:.15g}, the last that the forecast was made from, up to "
            f"{end:.15g}: there is nothing to judge it by but its past errors, which `ndcn fit` printed"
        )
    real = truth[after]
    return scores(estimator.predict(real.times), real, torch.ones(len(real), dtype=torch.bool))


def check_forecast_data(estimator: DynamicsRegressor, truth: Trajectory) -> None:
    """Refuse data of other nodes or features than the forecast was made for."""
    _check_features(estimator, truth)
    if truth.graph.nodes != estimator.train_[0].graph.nodes:
        raise ValueError("the data have other nodes than the forecast was made for")


def _check_features(estimator: DynamicsRegressor, truth: Trajectory) -> None:
    own = estimator.train_[0].features
    if truth.features != own:
        found = ", ".join(truth.features)
        raise ValueError(f"the data have the features {found}, the model was trained on {', '.join(own)}")


def scores(prediction: Trajectory, truth: Trajectory, inside: torch.Tensor) -> Scores | None:
    """Errors over some of the snapshots, shape (T,); None if nothing was observed there."""
    seen = inside if truth.mask is None else inside & truth.mask.any(dim=2).any(dim=1)
    if not seen.any():
        return None
    guess, real = prediction[seen], truth[seen]
    nonzero = bool((real.states.nan_to_num(0.0) != 0).any())
    return {
        "normalized_l1": metrics.normalized_l1(guess, real) if nonzero else None,
        "l1": metrics.l1(guess, real),
        "rmse": metrics.rmse(guess, real),
        "snapshots": len(real),
    }


def _starts_elsewhere(truth: Trajectory, x0: torch.Tensor) -> bool:
    """Whether the first state of the data is another than that in which training began."""
    seen = truth.states[0]
    return not (torch.isclose(seen.double(), x0.double(), rtol=1e-5, atol=1e-6) | seen.isnan()).all()
