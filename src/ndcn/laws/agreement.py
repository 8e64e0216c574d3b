"""How neighbours come to agree: Kuramoto's oscillators on a phase, consensus on an opinion."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..graph import Graph
from .law import Law
from .states import uniform_state


class Kuramoto(Law):
    """Phase oscillators: dx_i/dt = omega_i + k_i sum_j A_ij sin(x_j - x_i).

    x_i is the phase of node i in radians; it is not brought back to [0, 2 pi). Where A is symmetric and k the same
    everywhere, the mean phase grows at the mean of omega.

    Args:
        omega: natural frequency, a number or one for each node.
        k: strength of the coupling, a number or one for each node.

    Example:
        >>> import ndcn, torch
        >>> path = ndcn.Graph.from_edges([(0, 1)])
        >>> ndcn.laws.Kuramoto(omega=[1, 3], k=0.5)(torch.tensor(0.0), torch.tensor([[0.0], [torch.pi / 2]]), path)
        tensor([[1.5000],
                [2.5000]])
    """

    formulas = (("omega", 0), ("k*sin(x_j - x_i)", 0))

    def __init__(self, omega: Any = 0.0, k: Any = 1.0) -> None:
        super().__init__()
        self._set(omega=omega, k=k)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """omega."""
        return self._value("omega", x).expand_as(x)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """k sin(x_j - x_i)."""
        return self._number("k", x_i) * torch.sin(x_j - x_i)

    def _coupling(self, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        sin = x.sin()  # sin(x_j - x_i) = cos x_i sin x_j - sin x_i cos x_j
        cos = x.cos()
        sines, cosines = (graph.adjacency @ torch.cat([sin, cos], dim=-1)).chunk(2, dim=-1)
        return self._value("k", x) * (cos * sines - sin * cosines)

    def initial_state(self, graph: Graph, *, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Phases drawn from [0, 2 pi), shape (n, 1)."""
        return uniform_state(graph, 0.0, 2 * math.pi, seed).to(dtype)


class Consensus(Law):
    """Opinions under bounded influence: dx_i/dt = k_i sum_j A_ij tanh(s_i (x_j - x_i)).

    Neighbours draw each other's opinions closer, but none by more than k however far apart they are; where opinions are
    close, it is heat diffusion with k s. Where A is symmetric and k and s are the same everywhere, the mean opinion stays.

    Args:
        k: the largest influence of one neighbour, a number or one for each node.
        s: how soon influence saturates with distance, a number or one for each node.

    Example:
        >>> import ndcn, torch
        >>> path = ndcn.Graph.from_edges([(0, 1)])
        >>> ndcn.laws.Consensus(k=2)(torch.tensor(0.0), torch.tensor([[0.0], [100.0]]), path)
        tensor([[ 2.],
                [-2.]])
    """

    formulas = (("k*tanh(s*(x_j - x_i))", 0),)

    def __init__(self, k: Any = 1.0, s: Any = 1.0) -> None:
        super().__init__()
        self._set(k=k, s=s)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """k tanh(s (x_j - x_i))."""
        return self._number("k", x_i) * torch.tanh(self._number("s", x_i) * (x_j - x_i))

    def _coupling(self, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        i, j = graph.edge_index(x.device)
        s = self._value("s", x)
        s = s if s.dim() == 0 else s.index_select(0, i)
        pull = torch.tanh(s * (x.index_select(-2, j) - x.index_select(-2, i)))
        return self._value("k", x) * graph.aggregate(pull)

    def initial_state(self, graph: Graph, *, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Opinions drawn from [-1, 1), shape (n, 1)."""
        return uniform_state(graph, -1.0, 1.0, seed).to(dtype)
