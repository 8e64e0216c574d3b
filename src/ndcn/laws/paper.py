"""The three laws of the paper: heat diffusion, mutualism, gene regulation."""

from __future__ import annotations

from typing import Any

import torch

from ..graph import Graph, laplacian
from .kinetics import hill, power
from .law import Law


class Heat(Law):
    """Heat diffusion: dx_i/dt = -k_i sum_j A_ij (x_i - x_j).

    Args:
        k: conductivity, a number or one for each node.

    Example:
        >>> import ndcn, torch
        >>> path = ndcn.Graph.from_edges([(0, 1)])
        >>> ndcn.laws.Heat()(torch.tensor(0.0), torch.tensor([[1.0], [0.0]]), path)
        tensor([[-1.],
                [ 1.]])
    """

    formulas = (("k*(x_j - x_i)", 0),)

    def __init__(self, k: Any = 1.0) -> None:
        super().__init__()
        self._set(k=k)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """k (x_j - x_i)."""
        return self._number("k", x_i) * (x_j - x_i)

    def _coupling(self, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        return -self._value("k", x) * (laplacian(graph) @ x)


class Mutualistic(Law):
    """Mutualism among species: dx_i/dt = b + x_i (1 - x_i/k) (x_i/c - 1) + sum_j A_ij x_i x_j / (d + e x_i + h x_j).

    The defaults are the paper's. Its published code exchanged e and h: ``Mutualistic(e=0.1, h=0.9)`` is what its tables
    were made with. Every parameter is a number or one for each node (h belongs to the acting node j, the others to i).

    Example:
        >>> import ndcn
        >>> ndcn.laws.Mutualistic()
        Mutualistic(b=0.1, k=5, c=1, d=5, e=0.9, h=0.1)
    """

    formulas = (("b + x*(1 - x/k)*(x/c - 1)", 0), ("x_i*x_j/(d + e*x_i + h*x_j)", 0))

    def __init__(self, b: Any = 0.1, k: Any = 5.0, c: Any = 1.0, d: Any = 5.0, e: Any = 0.9, h: Any = 0.1) -> None:
        super().__init__()
        self._set(b=b, k=k, c=c, d=d, e=e, h=h)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """b + x (1 - x/k) (x/c - 1)."""
        b, k, c = (self._value(name, x) for name in "bkc")
        return b + x * (1 - x / k) * (x / c - 1)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """x_i x_j / (d + e x_i + h x_j)."""
        d, e, h = (self._number(name, x_i) for name in "deh")
        return x_i * x_j / (d + e * x_i + h * x_j)

    def _coupling(self, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        """What belongs to one end of an edge is computed per node before it is taken to the edges."""
        i, j = graph.edge_index(x.device)
        own = self._value("d", x) + self._value("e", x) * x
        other = self._value("h", x) * x
        message = x.index_select(-2, j) / (own.index_select(-2, i) + other.index_select(-2, j))
        return x * graph.aggregate(message)


class Gene(Law):
    """Gene regulation (Michaelis-Menten): dx_i/dt = -b_i x_i^f + sum_j A_ij x_j^h / (x_j^h + 1).

    Args:
        b: degradation, a number or one for each node.
        f: 1 for degradation, 2 for dimerisation.
        h: Hill coefficient.

    Example:
        >>> import ndcn
        >>> ndcn.laws.Gene()
        Gene(b=1, f=1, h=2)
    """

    formulas = (("-b*x^f", 0), ("x_j^h/(x_j^h + 1)", 0))

    def __init__(self, b: Any = 1.0, f: Any = 1.0, h: Any = 2.0) -> None:
        super().__init__()
        self._set(b=b, f=f, h=h)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """-b x^f."""
        return -self._value("b", x) * power(x, self._value("f", x))

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """x_j^h / (x_j^h + 1)."""
        return hill(x_j, self._number("h", x_j))

    def _coupling(self, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        return graph.adjacency @ hill(x, self._value("h", x))
