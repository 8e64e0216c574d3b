"""How a disease spreads: SIS, where the recovered can fall ill again, SIR, where they cannot, and SIR among travellers."""

from __future__ import annotations

from typing import Any

import torch

from ..graph import Graph, laplacian
from .law import Law
from .states import uniform_state


class SIS(Law):
    """Susceptible, infected, susceptible: dx_i/dt = -delta_i x_i + beta_i (1 - x_i) sum_j A_ij x_j.

    x_i in [0, 1] is the probability that node i is infected. Where every node has degree d, the disease stays if
    beta d > delta, at x = 1 - delta / (beta d).

    Args:
        beta: how fast i is infected by a neighbour, a number or one for each node.
        delta: how fast i recovers, a number or one for each node.

    Example:
        >>> import ndcn, torch
        >>> path = ndcn.Graph.from_edges([(0, 1)])
        >>> ndcn.laws.SIS(beta=2)(torch.tensor(0.0), torch.tensor([[0.5], [0.25]]), path)
        tensor([[-0.2500],
                [ 0.5000]])
    """

    formulas = (("-delta*x", 0), ("beta*(1 - x_i)*x_j", 0))

    def __init__(self, beta: Any = 1.0, delta: Any = 1.0) -> None:
        super().__init__()
        self._set(beta=beta, delta=delta)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """-delta x."""
        return -self._value("delta", x) * x

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """beta (1 - x_i) x_j."""
        return self._number("beta", x_i) * (1 - x_i) * x_j

    def _coupling(self, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        return self._value("beta", x) * (1 - x) * (graph.adjacency @ x)

    def initial_state(self, graph: Graph, *, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Each node infected with a probability below 0.1, shape (n, 1)."""
        return uniform_state(graph, 0.0, 0.1, seed).to(dtype)


class SIR(Law):
    """Susceptible, infected, removed: ds_i/dt = -beta_i s_i sum_j A_ij i_j, di_i/dt = -ds_i/dt - gamma_i i_i.

    s_i and i_i are probabilities, and r_i = 1 - s_i - i_i is the third, which need not be computed: dr_i/dt = gamma_i i_i.
    States have two features, s and i.

    Args:
        beta: how fast i is infected by a neighbour, a number or one for each node.
        gamma: how fast i recovers and stays immune, a number or one for each node.

    Example:
        >>> import ndcn, torch
        >>> path = ndcn.Graph.from_edges([(0, 1)])
        >>> ndcn.laws.SIR()(torch.tensor(0.0), torch.tensor([[1.0, 0.0], [0.5, 0.5]]), path)
        tensor([[-0.5000,  0.5000],
                [ 0.0000, -0.5000]])
    """

    features = ("s", "i")

    formulas = (("-gamma*i", 1), ("-beta*s_i*i_j", 0), ("beta*s_i*i_j", 1))

    def __init__(self, beta: Any = 1.0, gamma: Any = 1.0) -> None:
        super().__init__()
        self._set(beta=beta, gamma=gamma)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """(0, -gamma i)."""
        s, i = x.split(1, dim=-1)
        return torch.cat([torch.zeros_like(s), -self._value("gamma", i) * i], dim=-1)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """(-beta s_i i_j, beta s_i i_j)."""
        infected = self._number("beta", x_i) * x_i[..., :1] * x_j[..., 1:]
        return torch.cat([-infected, infected], dim=-1)

    def _coupling(self, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        s, i = x.split(1, dim=-1)
        infected = self._value("beta", s) * s * (graph.adjacency @ i)
        return torch.cat([-infected, infected], dim=-1)

    def initial_state(self, graph: Graph, *, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Each node infected with a probability below 0.1, otherwise susceptible, shape (n, 2)."""
        infected = uniform_state(graph, 0.0, 0.1, seed)
        return torch.cat([1 - infected, infected], dim=1).to(dtype)


class MetapopulationSIR(Law):
    """SIR within populations that travellers join: ds_i/dt = -beta_i s_i i_i + k_i sum_j A_ij (s_j - s_i).

    With it goes di_i/dt = beta_i s_i i_i - gamma_i i_i + k_i sum_j A_ij (i_j - i_i).

    A node is a population, s_i and i_i are its susceptible and infected shares, and k A_ij is the rate at which people of i
    and j change places. Where the shares are equal everywhere, this is the SIR model of a single population.

    D. Brockmann and D. Helbing, The hidden geometry of complex, network-driven contagion phenomena, Science 342 (2013).

    Args:
        beta: how fast people of the same population infect each other, a number or one for each node.
        gamma: how fast they recover and stay immune, a number or one for each node.
        k: mobility, a number or one for each node.

    Example:
        >>> import ndcn, torch
        >>> path = ndcn.Graph.from_edges([(0, 1)])
        >>> law = ndcn.laws.MetapopulationSIR(beta=2, gamma=1, k=0.5)
        >>> law(torch.tensor(0.0), torch.tensor([[1.0, 0.0], [0.5, 0.5]]), path)
        tensor([[-0.2500,  0.2500],
                [-0.2500, -0.2500]])
    """

    features = ("s", "i")

    formulas = (("-beta*s*i", 0), ("beta*s*i - gamma*i", 1), ("k*(s_j - s_i)", 0), ("k*(i_j - i_i)", 1))

    def __init__(self, beta: Any = 1.0, gamma: Any = 0.5, k: Any = 0.1) -> None:
        super().__init__()
        self._set(beta=beta, gamma=gamma, k=k)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """(-beta s i, beta s i - gamma i)."""
        s, i = x.split(1, dim=-1)
        infected = self._value("beta", s) * s * i
        return torch.cat([-infected, infected - self._value("gamma", i) * i], dim=-1)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """k (x_j - x_i), of both shares."""
        return self._number("k", x_i) * (x_j - x_i)

    def _coupling(self, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        return -self._value("k", x) * (laplacian(graph) @ x)

    def initial_state(self, graph: Graph, *, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Each population infected to a share below 0.1, otherwise susceptible, shape (n, 2)."""
        return SIR().initial_state(graph, seed=seed, dtype=dtype)
