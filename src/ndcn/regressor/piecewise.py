"""Predictions on a graph that changes: from one graph to the next, each from the state in which the last one ended."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import torch

from ..data import Trajectory, checked_times
from ..graph import GraphSequence

if TYPE_CHECKING:
    from .estimator import DynamicsRegressor


def predict_piecewise(
    estimator: DynamicsRegressor, times: Any, graphs: GraphSequence, *, x0: Any = None, t0: float | None = None
) -> Trajectory:
    """dX/dt = f(X, G(t)): the state at any times from ``t0`` on, on the graph that holds at each.

    Args:
        estimator: a fitted one.
        times: shape (T,), in any order.
        graphs: the graph from each time on.
        x0: the state at ``t0``; where training began by default.
        t0: the time of ``x0``.

    Returns:
        The states at these times; its ``graph`` is the last one that was used.

    Example:
        >>> import ndcn
        >>> graph = ndcn.networks.grid(9)
        >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), [0.0, 0.5, 1.0])
        >>> reg = ndcn.DynamicsRegressor(epochs=2).fit(data)
        >>> apart = ndcn.Graph.from_edges([], num_nodes=9)
        >>> predict_piecewise(reg, [0.5, 1.5], ndcn.GraphSequence([0.0, 1.0], [graph, apart])).graph is apart
        True
    """
    start = estimator.train_[0]
    asked = checked_times(times, ordered=False)
    begin = start.t0 if t0 is None else float(t0)
    state = start.x0 if x0 is None else torch.as_tensor(x0)
    last = float(asked.max())
    if float(asked.min()) < begin - start.tolerance:
        raise ValueError(
            f"times must be at or after {begin:.15g}, where the prediction starts; the first is {asked.min():.15g}"
        )
    changes = [t for t in graphs.times.tolist() if begin < t < last]
    bounds = [begin, *changes, max(last, begin)]
    out = torch.empty((len(asked), *state.shape), dtype=state.dtype)
    graph, features = graphs.at(begin), start.features
    for k, (low, high) in enumerate(itertools.pairwise(bounds)):
        final = k == len(bounds) - 2
        inside = (asked >= low) & (asked <= high) if final else (asked >= low) & (asked < high)
        inside |= (asked < low) if k == 0 else False
        graph = graphs.at(low)
        here = asked[inside].clamp(min=low)
        wanted = here if final else torch.cat([here, torch.tensor([high], dtype=torch.float64)])
        piece = estimator.predict(wanted, graph=graph, x0=state, t0=low)
        out[inside] = piece.states[: len(here)].to(out.dtype)
        features = piece.features
        if not final:
            state = piece.states[-1]
    return Trajectory(times=asked, states=out, graph=graph, features=features, ordered=False)
