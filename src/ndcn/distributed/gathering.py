"""From parts to the whole, in the first process."""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse

from ..data import Trajectory
from ..graph import Graph, PartGraph


def whole_graph(graph: Graph) -> Graph | None:
    """The graph that several processes share, in rank 0; None in the others. All of them call it.

    A graph that one process holds is returned as it is. Labels other than numbers are gathered as text.

    Example:
        >>> import ndcn
        >>> whole_graph(ndcn.networks.grid(4))
        Graph(4 nodes, 6 edges, undirected)
    """
    if not isinstance(graph, PartGraph):
        return graph
    part, world, n = graph.part, graph.world, graph.num_nodes_total
    everyone = np.concatenate([part.own, part.halo])
    row = np.repeat(part.own, np.diff(part.indptr))
    rows, columns, weights, own = (
        world.to_first(torch.from_numpy(np.ascontiguousarray(value)))
        for value in (row, everyone[part.indices], part.weights, part.own)
    )
    numbered = list(graph.nodes) == part.own.tolist()
    numbered = world.everywhere(numbered)
    texts = [] if numbered else world.texts("\0".join(str(node) for node in graph.nodes))
    if not world.first:
        return None
    a = sparse.coo_array(
        (torch.cat(weights).numpy(), (torch.cat(rows).numpy(), torch.cat(columns).numpy())), shape=(n, n)
    )
    nodes = None if numbered else _in_order([text.split("\0") for text in texts], own)
    return Graph(a, nodes=nodes, directed=graph.directed)


def _in_order(labels: list[list[str]], own: list[torch.Tensor]) -> list[str]:
    both = {
        place: name
        for names, places in zip(labels, own, strict=True)
        for place, name in zip(places.tolist(), names, strict=True)
    }
    return [both[k] for k in range(len(both))]


def whole_states(states: torch.Tensor, graph: Graph) -> torch.Tensor | None:
    """States (..., n, d) of all nodes in the order of the whole graph, in rank 0; None in the others. All of them call it."""
    if not isinstance(graph, PartGraph):
        return states
    rows = graph.world.to_first(states.detach().cpu().movedim(-2, 0).contiguous())
    own = graph.world.to_first(graph.places)
    if not graph.world.first:
        return None
    out = torch.empty((graph.num_nodes_total, *rows[0].shape[1:]), dtype=states.dtype)
    for places, part in zip(own, rows, strict=True):
        out[places] = part
    return out.movedim(0, -2)


def whole_trajectory(trajectory: Trajectory) -> Trajectory | None:
    """A trajectory of all nodes, in rank 0; None in the others. All processes call it.

    Example:
        >>> import ndcn, torch
        >>> graph = ndcn.networks.grid(4)
        >>> whole_trajectory(ndcn.Trajectory(times=[0.0], states=torch.ones(1, 4, 1), graph=graph))
        Trajectory(1 snapshot of 4 nodes, 1 feature, t = 0 .. 0)
    """
    graph = whole_graph(trajectory.graph)
    states = whole_states(trajectory.states, trajectory.graph)
    if graph is None or states is None:
        return None
    return trajectory.replaced(states=states, graph=graph, mask=~states.isnan() if states.isnan().any() else None)
