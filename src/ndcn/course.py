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
    """States (T, n, d) at the times of ``base`` if the changes happen at time ``at``: before it those of ``base``.

    Args:
        estimator: a fitted one.
        base: the unchanged course, with all nodes.
        changes: what happens.
        at: when.
        start: the unchanged state at that time, shape (n, d).

    Returns:
        The changed course; NaN for removed nodes from ``at`` on.

    Raises:
        ValueError: nodes, edges or features that are not there.
    """
    graphs: GraphSequence | None = getattr(estimator, "graphs_", None)
    now = base.graph if graphs is None else graphs.at(at)
    keep = kept_nodes(now, changes)
    x0 = changed_state(now, start, base.features, changes)
    later = base.times >= at
    out = base.states.clone()
    if not later.any():
        return out
    times = base.times[later]
    if graphs is None:
        after = estimator.predict(times, graph=changed_graph(now, changes), x0=x0, t0=at).states
    else:
        cut = [changed_graph(now, changes)]
        clock = [at]
        for t, graph in zip(graphs.times.tolist(), graphs.graphs, strict=True):
            if t > at:
                clock.append(t)
                cut.append(_again(graph, changes))
        after = predict_piecewise(estimator, times, GraphSequence(clock, cut), x0=x0, t0=at).states
    whole = torch.full((len(times), *out.shape[1:]), torch.nan, dtype=out.dtype)
    whole[:, keep] = after.to(out.dtype)
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
