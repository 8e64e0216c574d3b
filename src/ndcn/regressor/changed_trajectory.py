"""The trajectory of a network after changes, as a model predicts it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .._support.warn import warn
from ..data import Trajectory
from ..graph import Graph, GraphSequence
from .plausible import ChangedTrajectory, SeenRange, distances, lost_input, notes_of
from .what_if import Change, Remove, changed_graph, changed_state, kept_nodes

MISSED = 0.03  # warn above this miss, as a share of the shock or of the range of states
Predict = Callable[[torch.Tensor, GraphSequence, torch.Tensor, float], Trajectory]


def changed_trajectory(
    predict: Predict,
    base: Trajectory,
    changes: Sequence[Change],
    graphs: GraphSequence,
    at: float,
    start: torch.Tensor,
    seen: Sequence[SeenRange] | None,
    when: Callable[[float], str],
) -> ChangedTrajectory:
    """X'(t) = X(t) + (Y'(t) - Y(t)), where Y and Y' run from time ``at`` on, without and with the changes.

    Both start from the same unchanged state, so that their difference is due to the changes alone, also for models that
    do not reproduce their initial condition exactly. A warning says by how much X'(at) then misses the changed state.

    ``base`` is the unchanged trajectory X with all nodes, ``start`` its state (n, d) at time ``at``, ``graphs`` those without
    the changes; ``seen`` is what training showed, ``when`` a time in words. Returns X' at the times of ``base``; removed nodes
    are missing from ``at`` on. What the user has to know is in its ``notes``, and each is a warning too.

    Raises:
        ValueError: nodes, edges or features that are not there.
    """
    now = graphs.at(at)
    keep = kept_nodes(now, changes)
    clock, before, after = [at], [now], [changed_graph(now, changes)]
    for t, graph in zip(graphs.times.tolist(), graphs.graphs, strict=True):
        if t > at:
            clock, before, after = [*clock, t], [*before, graph], [*after, _again(graph, changes)]
    x0 = changed_state(now, start, base.features, changes)
    later = base.times >= at
    out = base.states.clone()
    if later.any():
        times = torch.cat([base.times.new_tensor([at]), base.times[later]])
        plain = predict(times, GraphSequence(clock, before), start, at).states
        said = predict(times, GraphSequence(clock, after), x0, at).states
        effect = said - plain[:, keep]
        _warn_of_miss(base.features, effect[0], x0 - start[keep], start)
        whole = torch.full((len(times) - 1, *out.shape[1:]), torch.nan, dtype=out.dtype)
        whole[:, keep] = base.states[later][:, keep] + effect[1:].to(out.dtype)
        out[later] = whole
    same: dict[str, Any] = {"times": base.times, "graph": base.graph, "features": base.features}
    ordered = bool((base.times.diff() > 0).all())
    changed = ChangedTrajectory(states=out, mask=~out.isnan(), ordered=ordered, calendar=base.calendar, **same)
    changed.lost_input = lost_input(now, after[0])
    changed.distances = None if seen is None else distances(x0, seen)
    if later.any():
        order = base.times[later].argsort()
        then = changed[torch.nonzero(later).ravel()[order].numpy()]
        changed.notes = notes_of(then, x0, after[0], seen, changed.lost_input, when)
    for note in changed.notes:
        warn(note)
    return changed


def _warn_of_miss(features: Sequence[str], effect: torch.Tensor, wanted: torch.Tensor, start: torch.Tensor) -> None:
    """Warn if the state at the time of the changes is not the changed one."""
    shocks, misses = wanted.abs().amax(dim=0).tolist(), (effect - wanted).abs().amax(dim=0).tolist()
    ranges = (start.amax(dim=0) - start.amin(dim=0)).tolist()
    for name, shock, span, miss in zip(features, shocks, ranges, misses, strict=True):
        if miss > MISSED * (shock or span):
            share = f"{100 * miss / (shock or span or miss):.0f} % of {'the shock' if shock else 'its range'}"
            warn(
                f"just after the changes, {name} is up to {miss:.3g} off the requested state ({share}): this model does not "
                "reproduce its initial condition, and the trajectory that follows is as far off; a law starts exactly "
                'there: fit model="interaction" (--model interaction)'
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
