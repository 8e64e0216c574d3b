"""Query and Prediction: what is asked of a fitted model, and its answer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from statistics import NormalDist
from typing import Any

import torch

from ..data import Statistics, Trajectory, checked_state, checked_times
from ..graph import Graph, GraphSequence
from .initial import InitialCondition

Ends = tuple[Trajectory, Trajectory]


@dataclass(frozen=True)
class Query:
    """The state at ``times``, on a graph or on graphs in turn, from x0 at t0; all in the data's units.

    Attributes:
        times: shape (T,), in any order.
        graph: one graph, or a ``GraphSequence`` where the graph changes.
        x0: initial state, shape (n, d).
        t0: its time.
        from_history: True if no x0 was given: models that can do so go on from all training snapshots.
    """

    times: torch.Tensor
    graph: Graph | GraphSequence
    x0: torch.Tensor
    t0: float
    from_history: bool

    @property
    def one_graph(self) -> Graph:
        """The graph, of a query without changes."""
        assert isinstance(self.graph, Graph)
        return self.graph

    def answer(
        self, states: torch.Tensor, features: tuple[str, ...], statistics: Statistics | None = None
    ) -> Trajectory:
        """States (T, n, d) at the times asked for, in the dtype of x0."""
        return Trajectory(
            times=self.times,
            states=states.to(self.x0.dtype),
            graph=self.one_graph,
            features=features if states.shape[2] == len(features) else None,
            ordered=bool((self.times.diff() > 0).all()),
            statistics=statistics,
        )


def query_of(
    initial: InitialCondition,
    times: Any,
    graph: Graph | GraphSequence | None = None,
    x0: Any = None,
    t0: float | None = None,
    *,
    graphs: GraphSequence | None = None,
) -> Query:
    """A query, or an error that says what is wrong with it.

    Args:
        initial: where training began; predictions start there by default.
        times, graph, x0, t0: as in ``DynamicsRegressor.predict``.
        graphs: of the training data, if their graph changes; used where no graph is given.
    """
    if graph is not None and not isinstance(graph, (Graph, GraphSequence)):
        raise TypeError(f"graph must be an ndcn.Graph, got {type(graph).__name__}")
    if isinstance(graph, Graph) and x0 is None and graph != initial.graph:
        raise ValueError("another graph needs its initial state: predict(times, graph=..., x0=...)")
    where = graph or graphs or initial.graph
    first = where.graphs[0] if isinstance(where, GraphSequence) else where
    x = initial.x0 if x0 is None else checked_state(x0, first)
    if x.shape[1] != initial.x0.shape[1]:
        raise ValueError(f"x0 has {x.shape[1]} features, the model was trained on {initial.x0.shape[1]}")
    asked = checked_times(times, ordered=False)
    begin = initial.t0 if t0 is None else _checked_time(t0, x0)
    if asked.min() < begin - initial.tolerance:
        what = "the first training time is" if t0 is None else "the state x0 is given at"
        raise ValueError(
            f"cannot predict t = {asked.min().item():.15g}: {what} {begin:.15g}, and the model only goes forward "
            "from there"
        )
    return Query(asked, where, x, begin, x0 is None)


def _checked_time(t0: object, x0: object) -> float:
    """The time of a state that was given, or an error that says what is missing."""
    if not isinstance(t0, Real) or isinstance(t0, bool) or not math.isfinite(t0):
        raise ValueError(f"t0 must be a finite number, the time of x0, got {t0!r}")
    if x0 is None:
        raise ValueError("t0 is the time of x0: give x0 too, or drop t0 to start where training began")
    return float(t0)


@dataclass(frozen=True)
class Prediction:
    """Mean and, where the model knows it, spread of the states asked for.

    Attributes:
        mean: the prediction.
        std: standard deviation.
        quantiles: a level to the ends of its interval, for models that do not take them from ``std``.
    """

    mean: Trajectory
    std: Trajectory | None = None
    quantiles: Callable[[float], Ends] | None = None

    def intervals(self, level: float) -> Ends:
        """Lower and upper ends between which a share ``level`` of the values should lie.

        Raises:
            ValueError: the model knows no spread.
        """
        if self.quantiles is not None:
            return self.quantiles(level)
        if self.std is None:
            raise ValueError("this prediction has no spread")
        wide = NormalDist().inv_cdf(0.5 + level / 2) * self.std.states
        lower, upper = (
            _with_states(self.mean, states) for states in (self.mean.states - wide, self.mean.states + wide)
        )
        return lower, upper


def _with_states(like: Trajectory, states: torch.Tensor) -> Trajectory:
    ordered = bool((like.times.diff() > 0).all())
    return Trajectory(times=like.times, states=states, graph=like.graph, features=like.features, ordered=ordered)


def from_graph_to_graph(query: Query, predict: Callable[[Query], Trajectory]) -> Trajectory:
    """dX/dt = f(X, G(t)): each graph from the state in which the last one ended.

    Args:
        query: on a ``GraphSequence``.
        predict: the answer to a query on one graph.

    Returns:
        The states at the times asked for; its ``graph`` is the last one that was used.
    """
    graphs, asked = query.graph, query.times
    assert isinstance(graphs, GraphSequence)
    last = float(asked.max())
    changes = [t for t in graphs.times.tolist() if query.t0 < t < last]
    bounds = [query.t0, *changes, max(last, query.t0)]
    state = query.x0
    out = torch.empty((len(asked), *state.shape), dtype=state.dtype)
    graph, features = graphs.at(query.t0), None
    for k, (low, high) in enumerate(itertools.pairwise(bounds)):
        final = k == len(bounds) - 2
        inside = (asked >= low) & (asked <= high) if final else (asked >= low) & (asked < high)
        inside |= (asked < low) if k == 0 else False
        graph = graphs.at(low)
        here = asked[inside].clamp(min=low)
        wanted = here if final else torch.cat([here, torch.tensor([high], dtype=torch.float64)])
        piece = predict(replace(query, times=wanted, graph=graph, x0=state, t0=low, from_history=False))
        out[inside] = piece.states[: len(here)].to(out.dtype)
        features = piece.features
        if not final:
            state = piece.states[-1]
    return Trajectory(times=asked, states=out, graph=graph, features=features, ordered=False)
