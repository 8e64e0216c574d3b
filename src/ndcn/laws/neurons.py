"""Neurons: their mean activity (Wilson-Cowan) and their spikes (FitzHugh-Nagumo)."""

from __future__ import annotations

from typing import Any

import torch

from ..graph import Graph, laplacian
from .law import Law
from .states import uniform_state


class WilsonCowan(Law):
    """Activity of groups of neurons: dx_i/dt = -x_i + sum_j A_ij / (1 + exp(-tau_j (x_j - mu_j))).

    Args:
        tau: how sharply the acting node fires, a number or one for each node.
        mu: its threshold, a number or one for each node.

    Example:
        >>> import ndcn, torch
        >>> path = ndcn.Graph.from_edges([(0, 1)])
        >>> ndcn.laws.WilsonCowan()(torch.tensor(0.0), torch.tensor([[3.0], [100.0]]), path)
        tensor([[ -2.0000],
                [-99.5000]])
    """

    formulas = (("-x", 0), ("sigmoid(tau*(x_j - mu))", 0))

    def __init__(self, tau: Any = 1.0, mu: Any = 3.0) -> None:
        super().__init__()
        self._set(tau=tau, mu=mu)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """-x."""
        return -x

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """1 / (1 + exp(-tau (x_j - mu)))."""
        return torch.sigmoid(self._number("tau", x_j) * (x_j - self._number("mu", x_j)))

    def _coupling(self, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        return graph.adjacency @ torch.sigmoid(self._value("tau", x) * (x - self._value("mu", x)))


class FitzHughNagumo(Law):
    """Spiking neurons: dv_i/dt = v_i - v_i^3/3 - w_i + current_i + k_i sum_j A_ij (v_j - v_i).

    With it goes dw_i/dt = epsilon_i (v_i + a_i - b_i w_i).

    v is the voltage across the membrane, w the slow recovery; states have these two features. A neuron alone spikes
    again and again at the default current of 0.5, and rests at 0.

    Args:
        a: a number or one for each node, as all others.
        b: how much recovery slows itself.
        epsilon: how slow recovery is.
        current: what drives the neuron from outside.
        k: strength of the coupling.

    Example:
        >>> import ndcn, torch
        >>> path = ndcn.Graph.from_edges([(0, 1)])
        >>> law = ndcn.laws.FitzHughNagumo(current=0, k=1)
        >>> law(torch.tensor(0.0), torch.tensor([[0.0, 0.0], [3.0, 1.0]]), path)
        tensor([[ 3.0000,  0.0560],
                [-10.0000,  0.2320]])
    """

    features = ("v", "w")

    formulas = (("v - v^3/3 - w + current", 0), ("epsilon*(v + a - b*w)", 1), ("k*(v_j - v_i)", 0))

    def __init__(self, a: Any = 0.7, b: Any = 0.8, epsilon: Any = 0.08, current: Any = 0.5, k: Any = 0.1) -> None:
        super().__init__()
        self._set(a=a, b=b, epsilon=epsilon, current=current, k=k)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """(v - v^3/3 - w + current, epsilon (v + a - b w))."""
        v, w = x.split(1, dim=-1)
        a, b, epsilon, current = (self._value(name, v) for name in ("a", "b", "epsilon", "current"))
        return torch.cat([v - v * v * v / 3 - w + current, epsilon * (v + a - b * w)], dim=-1)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """(k (v_j - v_i), 0)."""
        v_i, v_j = x_i[..., :1], x_j[..., :1]
        return torch.cat([self._number("k", x_i) * (v_j - v_i), torch.zeros_like(v_i)], dim=-1)

    def _coupling(self, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        v = x[..., :1]
        current = -self._value("k", v) * (laplacian(graph) @ v)
        return torch.cat([current, torch.zeros_like(current)], dim=-1)

    def initial_state(self, graph: Graph, *, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Voltages drawn from [-2, 2), no recovery, shape (n, 2)."""
        v = uniform_state(graph, -2.0, 2.0, seed)
        return torch.cat([v, torch.zeros_like(v)], dim=1).to(dtype)
