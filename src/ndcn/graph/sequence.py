"""GraphSequence: a network whose edges change at known times."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from .._support.wording import counted
from .graph import Graph


class GraphSequence:
    """G(t) = G_k for t_k <= t < t_{k+1}: one graph after the other on the same nodes, frozen.

    Args:
        times: when each graph begins to hold, shape (K,), strictly increasing and finite.
        graphs: K graphs with the same node labels in the same order.

    Raises:
        TypeError: an element is not a Graph.
        ValueError: no graph, another number of times, times that do not increase, or nodes that differ.

    Example:
        >>> import ndcn
        >>> first, second = ndcn.networks.grid(4), ndcn.Graph.from_edges([(0, 3)], num_nodes=4)
        >>> changing = ndcn.GraphSequence([0.0, 2.5], [first, second])
        >>> changing.at(2.4) is first, changing.at(2.5) is second
        (True, True)
    """

    def __init__(self, times: Any, graphs: Sequence[Graph]) -> None:
        graphs = tuple(graphs)
        for graph in graphs:
            if not isinstance(graph, Graph):
                raise TypeError(f"a GraphSequence holds ndcn.Graph objects, got {type(graph).__name__}")
        clock = torch.as_tensor(times, dtype=torch.float64).detach().cpu().clone()
        if not graphs or clock.shape != (len(graphs),):
            raise ValueError(
                f"a GraphSequence needs one time for each graph and at least one of them, got times of shape "
                f"{tuple(clock.shape)} for {len(graphs)} graphs"
            )
        if not clock.isfinite().all() or (clock.diff() <= 0).any():
            raise ValueError("times of a GraphSequence must be finite and strictly increasing: sort them, each once")
        for k, graph in enumerate(graphs):
            if graph.nodes != graphs[0].nodes:
                raise ValueError(
                    f"graph {k} has other nodes than graph 0: give all graphs the same nodes in the same order, also "
                    "those without edges (Graph.from_edges(..., nodes=...))"
                )
        object.__setattr__(self, "times", clock)
        object.__setattr__(self, "graphs", graphs)

    if TYPE_CHECKING:
        times: torch.Tensor
        graphs: tuple[Graph, ...]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a GraphSequence is frozen: make a new one instead of setting {name!r}")

    def __len__(self) -> int:
        return len(self.graphs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GraphSequence) and torch.equal(self.times, other.times) and self.graphs == other.graphs

    def __hash__(self) -> int:
        return hash((tuple(self.times.tolist()), self.graphs))

    def __reduce__(self) -> tuple[Any, ...]:
        return GraphSequence, (self.times, self.graphs)

    def at(self, t: float) -> Graph:
        """The last graph with time <= t; before the first time, the first graph."""
        return self.graphs[max(0, bisect_right(self.times.tolist(), float(t)) - 1)]

    @property
    def last(self) -> Graph:
        """The graph that holds from the last time on."""
        return self.graphs[-1]

    def __repr__(self) -> str:
        low, high = self.times[0].item(), self.times[-1].item()
        return f"GraphSequence({counted(len(self), 'graph')} of {self.last.num_nodes} nodes, from t = {low:.4g} .. {high:.4g})"
