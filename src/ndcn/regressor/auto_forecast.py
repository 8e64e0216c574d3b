"""``DynamicsRegressor(model="auto")``: a forecast chosen by backtest; and the test of the network for any model."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ..data import Dataset, Trajectory
from ..forecast import Auto, Forecast, NetworkTest, auto, network_test
from ..graph import Graph, GraphSequence
from ..training import History, units_of
from .fitting import Start, checked_data
from .named_models import RAW

if TYPE_CHECKING:
    from .estimator import DynamicsRegressor

Data = Trajectory | Dataset | Sequence[Trajectory]


class ForecastModel(nn.Module):
    """A forecast in the place of a trained module: it has no weights, and asks nothing but the times."""

    def __init__(self, forecast: Forecast) -> None:
        super().__init__()
        self.forecast = forecast

    def forward(self, x0: torch.Tensor, times: torch.Tensor, graph: Graph, t0: float = 0.0) -> torch.Tensor:
        """The forecast at these times, shape (T, n, d); ``x0``, ``graph`` and ``t0`` have no effect."""
        return self.forecast.predict(times).states


def auto_of(model: object) -> Auto | None:
    """The choice of a forecast that a model stands for, if it does."""
    if model == "auto":
        return Auto()
    return model if isinstance(model, Auto) else None


def longest_run(data: Data) -> tuple[Trajectory, GraphSequence | None]:
    """The run to forecast, and the graphs in force; of several runs the longest, with a warning."""
    graphs = data.graphs if isinstance(data, Dataset) else None
    runs = checked_data(list(data.runs) if isinstance(data, Dataset) else data)
    names = data.names if isinstance(data, Dataset) and data.names else tuple(str(k) for k in range(len(runs)))
    k = max(range(len(runs)), key=lambda k: len(runs[k]))
    if len(runs) > 1:
        said = f"{len(runs)} runs were given, and one is used: {names[k]}, the first of the longest, {len(runs[k])} snapshots"
        warnings.warn(said, stacklevel=4)
    return runs[k], graphs


def fit_auto(estimator: DynamicsRegressor, data: Data, what: Auto) -> None:
    """Choose a forecast, and keep it with what an estimator keeps."""
    began = time.monotonic()
    run, graphs = longest_run(data)
    found = auto(
        run,
        horizon=what.horizon,
        graphs=graphs,
        learned=tuple(what.learned),
        seed=int(estimator.seed),
        progress=estimator.progress,
    )
    estimator.units_ = units_of([run], RAW)
    keep(estimator, found, [replace(Start.of(run), graph=found.graph)], time.monotonic() - began)


def keep(estimator: DynamicsRegressor, found: Forecast, starts: list[Start], seconds: float) -> None:
    """A forecast as what an estimator has learned."""
    estimator.forecast_, estimator.train_ = found, starts
    estimator.models_, estimator.histories_ = [ForecastModel(found)], [History(seconds=seconds)]


def predict_auto(
    found: Forecast, times: Any, return_std: bool, *, graph: Graph | None, x0: Any, t0: float | None
) -> Trajectory | tuple[Trajectory, Trajectory]:
    """What ``DynamicsRegressor.predict`` answers with a forecast."""
    check_goes_on(found, graph, x0, t0)
    mean = found.predict(times)
    return (mean, found.deviation(times)) if return_std else mean


def check_goes_on(found: Forecast, graph: Graph | None, x0: Any, t0: float | None) -> None:
    """Refuse another graph or start: a forecast has no dynamics that could begin there."""
    if x0 is not None or t0 is not None or (graph is not None and graph != found.graph):
        raise ValueError(
            "a forecast goes on from the last snapshot of the data that it was chosen on: it takes no x0, t0 or other graph. "
            'A model of dynamics does, as model="interaction" or "ndcn"'
        )


def answer_network_test(
    estimator: DynamicsRegressor,
    data: Data | None,
    *,
    shuffles: int,
    horizon: int | None,
    feature: int,
    seed: int,
    progress: bool | None,
) -> NetworkTest:
    """What ``DynamicsRegressor.network_test`` answers."""
    known = estimator.__dict__.get("data_") if data is None else data
    if known is None:
        raise ValueError(
            "a model from a file does not hold the data that it was fitted to: network_test(data=...) takes them"
        )
    run, graphs = longest_run(known)
    return network_test(
        run, graphs=graphs, feature=feature, horizon=horizon, shuffles=shuffles, seed=seed, progress=progress
    )
