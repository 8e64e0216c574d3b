"""Whether two laws say the same, also of states that no trajectory went through."""

from __future__ import annotations

import torch

from ..graph import Graph
from .result import FoundLaw

DRAWS = 20  # snapshots of drawn states: at 25 nodes they tell the difference to 1 / sqrt(500), 4 % of it


def disagreement(one: FoundLaw, other: FoundLaw, graph: Graph, seed: int = 0) -> float:
    """How far the rates of two laws are apart, as a share of their size, of the feature where that is most.

    Each node gets a state that was seen at some node and some time, drawn anew for every node. Along the trajectories two laws that explain
    them agree anyway; laws that agree here have the same functions, however their formulas are written.

    Example:
        >>> import ndcn
        >>> from ndcn.identify.trial import law_on_trial
        >>> graph, times = ndcn.networks.grid(25), ndcn.sampling.regular_times(1.0, 20)
        >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
        >>> part, whole = (law_on_trial([some], 30.0) for some in (data[:15], data))
        >>> disagreement(part, whole, graph) < 1e-4
        True
    """
    pool = other.states.double()
    now = torch.zeros((), dtype=torch.float64)  # these laws do not depend on time
    generator = torch.Generator().manual_seed(seed)
    apart, size = torch.zeros(pool.shape[1]).double(), torch.zeros(pool.shape[1]).double()
    for _ in range(DRAWS):
        x = pool[torch.randint(len(pool), (graph.num_nodes,), generator=generator)]
        mine, theirs = (found.law(now, x, graph).detach() for found in (one, other))
        apart += (mine - theirs).square().sum(0)
        size += theirs.square().sum(0)
    share = (apart / size.clamp(min=1e-300)).sqrt()
    return float(share.max()) if share.isfinite().all() else float("inf")
