"""The course of a network as a model predicts it, unchanged and after changes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from ..data import Trajectory
from ..graph import GraphSequence
from .piecewise import predict_piecewise
from .what_if import Change, Remove, changed_graph, changed_state, kept_nodes

if TYPE_CHECKING:
    from ..graph import Graph
    from .estimator import DynamicsRegressor

MISSED = 0.03  # of the size of a shock, or of the range of states: what a model may miss before it is said


def changed_course(
    estimator: DynamicsRegressor, base: Trajectory, changes: Sequence[Change], *, at: float, start: torch.Tensor
) -> torch.Tensor:
    """X'(t) = X(t) + (Y'(t) - Y(t)), where Y and Y' run from time ``at`` on, without and with the changes.

    Both start from the same unchanged state, so that their difference is due to the changes alone, also for models that
    do not give back exactly the state in which they are started. Before ``at`` the course is unchanged. Such models also
    take a shock for a somewhat other one: a warning says by how much X'(at) misses the changed state.

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
    times = torch.cat([base.times.new_tensor([at]), base.times[later]])
    plain = predict_piecewise(estimator, times, GraphSequence(clock, before), x0=start, t0=at).states
    changed = predict_piecewise(estimator, times, GraphSequence(clock, after), x0=x0, t0=at).states
    effect = changed - plain[:, keep]
    _warn_of_miss(base.features, effect[0], x0 - start[keep], start)
    whole = torch.full((len(times) - 1, *out.shape[1:]), torch.nan, dtype=out.dtype)
    whole[:, keep] = base.states[later][:, keep] + effect[1:].to(out.dtype)
    out[later] = whole
    return out


def _warn_of_miss(features: Sequence[str], effect: torch.Tensor, wanted: torch.Tensor, start: torch.Tensor) -> None:
    """Say by how much the state at the time of the changes is not the changed one, if it is more than a little."""
    shocks, misses = wanted.abs().amax(dim=0).tolist(), (effect - wanted).abs().amax(dim=0).tolist()
    ranges = (start.amax(dim=0) - start.amin(dim=0)).tolist()
    for name, shock, span, miss in zip(features, shocks, ranges, misses, strict=True):
        if miss > MISSED * (shock or span):
            share = f"{100 * miss / (shock or span or miss):.0f} % of {'the shock' if shock else 'its range'}"
            warnings.warn(
                f"just after the changes, {name} is up to {miss:.3g} off the state that was asked for ({share}): this model does "
                "not give back the state it starts from, and the course that follows is as far off; a law starts exactly "
                'there: fit model="interaction" (--model interaction)',
                stacklevel=3,
            )


def _again(graph: Graph, changes: Sequence[Change]) -> Graph:
    """The same changes on a later graph, where an edge may be gone already."""
    for change in changes:
        try:
            graph = changed_graph(graph, [change])
        except ValueError:
            if isinstance(change, Remove):
                raise
    return graph
