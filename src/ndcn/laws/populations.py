"""Species that compete for the same resources."""

from __future__ import annotations

from typing import Any

import torch

from ..graph import Graph
from .law import Law
from .states import uniform_state


class LotkaVolterra(Law):
    """Competing species: dx_i/dt = alpha_i x_i - theta_i x_i^2 - c_i sum_j A_ij x_i x_j.

    Where all species survive, (theta + c A) x = alpha. Negative weights or c < 0 are mutualism, and the populations
    may then explode.

    Args:
        alpha: growth, a number or one for each node.
        theta: competition within the species, a number or one for each node.
        c: strength of competition with others, a number or one for each node.

    Example:
        >>> import ndcn, torch
        >>> path = ndcn.Graph.from_edges([(0, 1)])
        >>> ndcn.laws.LotkaVolterra(c=0.5)(torch.tensor(0.0), torch.tensor([[0.5], [2.0]]), path)
        tensor([[-0.2500],
                [-2.5000]])
    """

    formulas = (("x*(alpha - theta*x)", 0), ("-c*x_i*x_j", 0))

    def __init__(self, alpha: Any = 1.0, theta: Any = 1.0, c: Any = 1.0) -> None:
        super().__init__()
        self._set(alpha=alpha, theta=theta, c=c)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """alpha x - theta x^2."""
        return x * (self._value("alpha", x) - self._value("theta", x) * x)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """-c x_i x_j."""
        return -self._number("c", x_i) * x_i * x_j

    def _coupling(self, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        return -self._value("c", x) * x * (graph.adjacency @ x)

    def initial_state(self, graph: Graph, *, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Populations drawn from [0.1, 1), so that no species is extinct from the start, shape (n, 1)."""
        return uniform_state(graph, 0.1, 1.0, seed).to(dtype)
