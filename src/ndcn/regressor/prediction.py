"""From trained models to an answer: what was asked for, in the model's own units, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import torch
from torch import nn

from ..data import Statistics, TimeGrid, Trajectory, checked_state, checked_times
from ..graph import Graph
from ..neural import Continuation, GraphODE, ResidualGNN, TemporalGNN
from ..training import Units
from .fitting import Start, checked_start


@dataclass(frozen=True)
class Question:
    """Times at which the state is wanted, on a graph, from the state x0 at t0; all in the data's units.

    ``goes_on`` is whether x0 was left out: then models that can do so go on from all training snapshots.
    """

    times: torch.Tensor
    graph: Graph
    x0: torch.Tensor
    t0: float
    goes_on: bool


def question(start: Start, times: Any, graph: Graph | None, x0: Any, t0: float | None) -> Question:
    """What ``DynamicsRegressor.predict`` was asked, or an error that says what is wrong with it."""
    if graph is not None and not isinstance(graph, Graph):
        raise TypeError(f"graph must be an ndcn.Graph, got {type(graph).__name__}")
    if graph is not None and x0 is None and graph != start.graph:
        raise ValueError("another graph needs its initial state: predict(times, graph=..., x0=...)")
    graph = graph or start.graph
    x = start.x0 if x0 is None else checked_state(x0, graph)
    if x.shape[1] != start.x0.shape[1]:
        raise ValueError(f"x0 has {x.shape[1]} features, the model was trained on {start.x0.shape[1]}")
    asked = checked_times(times, ordered=False)
    begin = start.t0 if t0 is None else checked_start(t0, x0)
    if asked.min() < begin - start.tolerance:
        what = "the first training time is" if t0 is None else "the state x0 is given at"
        raise ValueError(
            f"cannot predict t = {asked.min().item():.15g}: {what} {begin:.15g}, and the model only goes forward "
            "from there"
        )
    return Question(asked, graph, x, begin, x0 is None)


@torch.no_grad()
def run(
    model: nn.Module, asked: Question, start: Start, units: Units, dtype: torch.dtype, device: torch.device
) -> tuple[torch.Tensor, Statistics | None]:
    """The states that one model predicts, shape (T, n, d), in its own units and on the CPU."""
    also = start.steps(getattr(model, "solver", None), asked.t0, asked.times.max().item())
    begin, clock = _clock(model, torch.cat([also, asked.times]), asked.t0, units)
    x0, statistics = (asked.x0.double() / units.scale).to(device, dtype), None
    if isinstance(model, Continuation) and asked.goes_on and start.seen is not None:
        states = model.go_on(units.trajectory(start.seen), clock)
    elif isinstance(model, GraphODE):
        solution = model.solve(x0, clock, asked.graph, begin)
        states, statistics = solution.states, solution.statistics
    else:
        states = model(x0, clock, asked.graph, begin)
    return states[len(also) :].double().cpu(), statistics


def _clock(model: nn.Module, times: torch.Tensor, t0: float, units: Units) -> tuple[float, torch.Tensor]:
    """t0 and the times in the model's own; those of a model with equal steps must be on its grid."""
    begin = units.time(torch.tensor(t0, dtype=torch.float64)).item()
    if isinstance(model, (TemporalGNN, ResidualGNN)):
        return begin, begin + model.step * TimeGrid(t0, model.step / units.rate).index(times)
    return begin, units.time(times).clamp(min=begin)


def answers(
    asked: Question, runs: Sequence[tuple[torch.Tensor, Statistics | None]], scale: torch.Tensor | None, start: Start
) -> tuple[Trajectory, Trajectory | None]:
    """Mean and, of several runs, standard deviation of the states in the data's units: ``scale`` times the model's."""
    every = [(s if scale is None else s * scale).to(asked.x0.dtype) for s, _ in runs]

    def trajectory(states: torch.Tensor) -> Trajectory:
        return Trajectory(
            times=asked.times,
            states=states,
            graph=asked.graph,
            features=start.features if states.shape[2] == len(start.features) else None,
            ordered=bool((asked.times.diff() > 0).all()),
            statistics=runs[0][1],
        )

    if len(every) == 1:
        return trajectory(every[0]), None
    together = torch.stack(every)
    return trajectory(together.mean(dim=0)), trajectory(together.std(dim=0))


def band(mean: Trajectory, deviation: Trajectory, level: float) -> tuple[Trajectory, Trajectory]:
    """Mean - z std and mean + z std, where z is the normal quantile for a share ``level`` between them."""
    wide = NormalDist().inv_cdf(0.5 + level / 2) * deviation.states
    ordered = bool((mean.times.diff() > 0).all())
    lower, upper = (
        Trajectory(times=mean.times, states=states, graph=mean.graph, features=mean.features, ordered=ordered)
        for states in (mean.states - wide, mean.states + wide)
    )
    return lower, upper
