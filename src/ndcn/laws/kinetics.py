"""How fast reactions go: x^h, x^h / (x^h + 1), and the law of Michaelis and Menten."""

from __future__ import annotations

from typing import Any

import torch

from ..graph import Graph
from .law import Law


class MichaelisMenten(Law):
    """Regulation that saturates: dx_i/dt = -x_i + sum_j A_ij x_j^h_j / (1 + x_j^h_j).

    This is ``Gene`` with b = f = 1 and, by default, without cooperation. Where every node has degree d and h = 1, all
    that is active comes to x = d - 1.

    Args:
        h: Hill coefficient of the acting node, a number or one for each node.

    Example:
        >>> import ndcn, torch
        >>> path = ndcn.Graph.from_edges([(0, 1)])
        >>> ndcn.laws.MichaelisMenten()(torch.tensor(0.0), torch.tensor([[1.0], [3.0]]), path)
        tensor([[-0.2500],
                [-2.5000]])
    """

    formulas = (("-x", 0), ("x_j^h/(x_j^h + 1)", 0))

    def __init__(self, h: Any = 1.0) -> None:
        super().__init__()
        self._set(h=h)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """-x."""
        return -x

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """x_j^h / (1 + x_j^h)."""
        return hill(x_j, self._number("h", x_j))

    def _coupling(self, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        return graph.adjacency @ hill(x, self._value("h", x))


def hill(x: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
    """x^h / (x^h + 1)."""
    raised = power(x, h)
    return raised / (raised + 1)


def power(x: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    """x^exponent; gradients reach an exponent that is learned."""
    if exponent.dim() == 0 and not exponent.requires_grad:
        value = exponent.item()
        if value == 1:
            return x
        if value == 2:
            return x * x
    return torch.pow(x, exponent)
