"""Graphs and problems whose answers are known exactly, shared by the tests."""

from __future__ import annotations

import torch

from ndcn import Graph, Trajectory

WEIGHTED = [[0, 2, 0, 0.5, 0], [2, 3, 1, 0, 0], [0, 1, 0, 4, 0], [0.5, 0, 4, 0, 0], [0, 0, 0, 0, 0]]
DIRECTED = [[0, 2, 0, 0, 0], [0, 1, 0.5, 0, 0], [3, 0, 0, 0, 1], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]]
SIGNED = [[0, -1, 2], [-1, 0, -0.5], [2, -0.5, 0]]

GRAPHS = {
    "path": Graph.from_edges([(0, 1), (1, 2), (2, 3)]),
    "weighted": Graph.from_dense(WEIGHTED),  # with a self-loop and an isolated node
    "directed": Graph.from_dense(DIRECTED),  # node 3 acts on nobody, nobody acts on node 4
    "single": Graph.from_edges([], num_nodes=1),
    "edgeless": Graph.from_edges([], num_nodes=3),
}
SIGNED_GRAPHS = {**GRAPHS, "signed": Graph.from_dense(SIGNED)}


def states(graph: Graph, *shape: int, seed: int = 0) -> torch.Tensor:
    """Positive random states (*shape[:-1], n, shape[-1]) in float64."""
    size = (*shape[:-1], graph.num_nodes, shape[-1])
    return torch.rand(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 3 + 0.1


def trajectory(graph: Graph, T: int = 4, d: int = 1, *, missing: bool = False, **arguments: object) -> Trajectory:
    """Random snapshots at uneven times, some entries missing if asked."""
    x = states(graph, T, d).float()
    mask = (x > 1) if missing else None
    return Trajectory(times=torch.arange(T, dtype=torch.float64) ** 1.5, states=x, graph=graph, mask=mask, **arguments)


def heat(graph: Graph, x0: torch.Tensor, times: torch.Tensor) -> torch.Tensor:
    """exp(-L t) x0 at each time, shape (T, n, d): the solution of heat diffusion."""
    a = graph.to_dense()
    laplacian = torch.diag(a.sum(1)) - a
    return torch.stack([torch.matrix_exp(-laplacian * t) @ x0.double() for t in torch.as_tensor(times)])
