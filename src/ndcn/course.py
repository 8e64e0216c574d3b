"""The course of a network as a model predicts it, unchanged and after changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from .graph_sequence import GraphSequence
from .piecewise import predict_piecewise
from .trajectory import Trajectory
from .what_if import Change, Remove, changed_graph, changed_state, kept_nodes

if TYPE_CHECKING:
    from .estimators import DynamicsRegressor
    from .graph import Graph


def changed_course(
    estimator: DynamicsRegressor, base: Trajectory, changes: Sequence[Change], *, at: float, start: torch.Tensor
) -> torch.Tensor:
    """X'(t) = X(t) + (Y'(t) - Y(t)), where Y and Y' run from time ``at`` on, without and with the changes.

    Both start from the same unchanged state, so that their difference is due to the changes alone, also for models that
    do not give back exactly the state in which they are started. Before ``at`` the course is unchanged.

    Args:
        estimator: a fitted one.
        base: the unchanged course X, with all nodes.
        changes: what happens.
        at: when.
        start: the unchanged state at that time, shape (n, d).

    Returns:
        X' at the times of ``base``, shape (T, n, d); NaN for removed nodes from ``at`` on.

    Raises:
        ValueError: nodes, edges or features that are not there.
    """
    graphs: GraphSequence | None = getattr(estimator, "graphs_", None)
    now = base.graph if graphs is None else graphs.at(at)
    keep = kept_nodes(now, changes)
    clock, before, after = [at], [now], [changed_graph(now, changes)]
    for t, graph in [] if graphs is None else zip(graphs.times.tolist(), graphs.graphs, strict=True):
        if t > at:
            clock, before, after = [*clock, t], [*before, graph], [*after, _again(graph, changes)]
    x0 = changed_state(now, start, base.features, changes)
    later = base.times >= at
    out = base.states.clone()
    if not later.any():
        return out
    times = base.times[later]
    plain = predict_piecewise(estimator, times, GraphSequence(clock, before), x0=start, t0=at).states
    changed = predict_piecewise(estimator, times, GraphSequence(clock, after), x0=x0, t0=at).states
    whole = torch.full((len(times), *out.shape[1:]), torch.nan, dtype=out.dtype)
    whole[:, keep] = base.states[later][:, keep] + (changed - plain[:, keep]).to(out.dtype)
    out[later] = whole
    return out


def _again(graph: Graph, changes: Sequence[Change]) -> Graph:
    """The same changes on a later graph, where an edge may be gone already."""
    for change in changes:
        try:
            graph = changed_graph(graph, [change])
        except ValueError:
            if isinstance(change, Remove):
                raise
    return graph
