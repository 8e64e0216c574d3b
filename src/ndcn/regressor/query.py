"""Query and Prediction: what is asked of a fitted model, and its answer."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import torch

from .._support.checks import check_number
from ..data import Calendar, Inputs, Statistics, Trajectory, checked_state, checked_times, time_text
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
        from_history: True if no x0 was given: models that can do so continue from all training snapshots.
        calendar: what times mean, for messages; None where they are numbers.
        inputs: what acts on the network, of models that take inputs, known from t0 to the last time.
    """

    times: torch.Tensor
    graph: Graph | GraphSequence
    x0: torch.Tensor
    t0: float
    from_history: bool
    calendar: Calendar | None = None
    inputs: Inputs | None = None

    @property
    def first_graph(self) -> Graph:
        """The graph at the start."""
        return self.graph.graphs[0] if isinstance(self.graph, GraphSequence) else self.graph

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
    graph: Graph | GraphSequence | None,
    x0: Any,
    t0: float | None,
    graphs: GraphSequence | None = None,
    calendar: Calendar | None = None,
) -> Query:
    """A query from the arguments of ``predict``, or an error that says what is wrong with it.

    It starts from ``initial`` by default; ``graphs`` are those of the training data, if their graph changes, and
    ``calendar`` is what their times mean.
    """
    if graph is not None and not isinstance(graph, (Graph, GraphSequence)):
        raise TypeError(f"graph must be an ndcn.Graph, got {type(graph).__name__}")
    if isinstance(graph, Graph) and x0 is None and graph != initial.graph:
        raise ValueError("another graph needs its initial state: predict(times, graph=..., x0=...)")
    if initial.elsewhere is not None and x0 is None:
        raise ValueError(
            f"the network of this model lies in partition {initial.elsewhere}, too large for a model file: predict on its parts with "
            "`torchrun ... -m ndcn predict MODEL --data PARTS`, or give graph and x0"
        )
    where = graph or graphs or initial.graph
    first = where.graphs[0] if isinstance(where, GraphSequence) else where
    x = initial.x0 if x0 is None else checked_state(x0, first)
    if x.shape[1] != initial.x0.shape[1]:
        raise ValueError(f"x0 has {x.shape[1]} features, the model was trained on {initial.x0.shape[1]}")
    asked = checked_times(times, ordered=False)
    check_number("t0", t0, "a finite number, the time of x0", lambda _: True)
    if t0 is not None and x0 is None:
        raise ValueError("t0 is the time of x0: give x0 too, or drop t0 to start where training began")
    begin = initial.t0 if t0 is None else float(t0)
    if asked.min() < begin - initial.tolerance:
        what = "the first training time is" if t0 is None else "the state x0 is given at"
        early, start = (time_text(t, calendar) for t in (asked.min().item(), begin))
        only = "and the model only goes forward from there"
        raise ValueError(f"cannot predict {early}: {what} {start.removeprefix('t = ')}, {only}")
    return Query(asked, where, x, begin, x0 is None, calendar)


@dataclass(frozen=True)
class Prediction:
    """Mean and, where the model knows it, spread of the states asked for.

    Attributes:
        mean: the prediction.
        std: standard deviation.
        quantiles: a level to the ends of its interval, for models that do not take them from ``std``.
        exact: the same before ends of counts are made whole numbers; None where ``quantiles`` are exact.
    """

    mean: Trajectory
    std: Trajectory | None = None
    quantiles: Callable[[float], Ends] | None = None
    exact: Callable[[float], Ends] | None = None

    def dated(self, calendar: Calendar | None) -> Prediction:
        """The same, whose times are dates in tables."""
        for one in (self.mean, self.std):
            if one is not None:
                one.calendar = calendar
        return self

    def intervals(self, level: float) -> Ends:
        """Lower and upper ends between which a share ``level`` of the values should lie.

        Raises:
            ValueError: the model knows no spread.
        """
        if self.quantiles is not None:
            ends = self.quantiles(level)
            for end in ends:
                end.calendar = self.mean.calendar
            return ends
        if self.std is None:
            raise ValueError("this prediction has no spread")
        wide = NormalDist().inv_cdf(0.5 + level / 2) * self.std.states
        lower, upper = self.mean.states - wide, self.mean.states + wide
        return self.mean.replaced(states=lower, mask=None), self.mean.replaced(states=upper, mask=None)


def check_level(level: Any) -> None:
    """Refuse what is no share in (0, 1)."""
    if not isinstance(level, float) or not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, as 0.9; got {level!r}")


def from_graph_to_graph(query: Query, predict: Callable[[Query], Trajectory]) -> Trajectory:
    """dX/dt = f(X, G(t)): each graph from the state in which the last one ended.

    ``predict`` answers queries on one graph. The answer's ``graph`` is the last one that was used.
    """
    graphs, asked = query.graph, query.times
    assert isinstance(graphs, GraphSequence)
    last = float(asked.max())
    changes = [t for t in graphs.times.tolist() if query.t0 < t < last]
    bounds = [query.t0, *changes, max(last, query.t0)]
    state = query.x0
    out = torch.empty((len(asked), *state.shape), dtype=state.dtype)
    for k, (low, high) in enumerate(itertools.pairwise(bounds)):
        final, graph = k == len(bounds) - 2, graphs.at(low)
        inside = ((asked >= low) | (k == 0)) & ((asked < high) | final)
        here = asked[inside].clamp(min=low)
        wanted = here if final else torch.cat([here, torch.tensor([high], dtype=torch.float64)])
        piece = predict(replace(query, times=wanted, graph=graph, x0=state, t0=low, from_history=False))
        out[inside] = piece.states[: len(here)].to(out.dtype)
        features = piece.features
        if not final:
            state = piece.states[-1]
    return Trajectory(times=asked, states=out, graph=graph, features=features, ordered=False)
