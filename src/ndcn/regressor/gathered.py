"""Initial conditions of a network that several processes share, as a model file holds them."""

from __future__ import annotations

from dataclasses import replace

import torch
from scipy import sparse

from ..distributed import whole_graph, whole_states
from ..graph import Graph, PartGraph
from .initial import InitialCondition

LARGEST = 20_000_000  # nodes and entries of A that a file holds, 0.3 GB; a larger network stays in its parts


def gathered(initial: InitialCondition) -> InitialCondition | None:
    """The whole of it in the first process, None in others; of a very large network, that it lies in parts elsewhere."""
    graph = initial.graph
    if not isinstance(graph, PartGraph):
        return initial
    size = torch.tensor([graph.num_nodes + graph.num_edges])
    if int(graph.total(size)) > LARGEST:
        width = initial.x0.shape[1]
        alone = Graph(sparse.csr_array((1, 1)), nodes=[f"partition {graph.identity}"])
        none = initial.x0.new_zeros(1, width)
        there = replace(initial, graph=alone, x0=none, observed=None, elsewhere=graph.identity)
        return there if graph.world.first else None
    whole, x0 = whole_graph(graph), whole_states(initial.x0, graph)
    observed = None if initial.observed is None else whole_states(initial.observed, graph)
    return None if whole is None or x0 is None else replace(initial, graph=whole, x0=x0, observed=observed)
