"""Power grids: machines that keep in step through the lines between them."""

from __future__ import annotations

from typing import Any

import torch

from ..graph import Graph
from .law import Law
from .states import uniform_state


class Swing(Law):
    """Swing equation: dtheta_i/dt = omega_i, domega_i/dt = power_i - damping_i omega_i + k_i sum_j A_ij sin(theta_j - theta_i).

    theta_i is the angle of bus i in radians against the common rotation, omega_i how much faster than that it rotates.
    A_ij is the susceptance of the line, and all machines have the inertia 1/k. In step, omega = 0 and the power of each bus
    flows into its lines. States have the features theta and omega.

    G. Filatrella, A. H. Nielsen and N. F. Pedersen, Analysis of a power grid using a Kuramoto-like model,
    Eur. Phys. J. B 61 (2008).

    Args:
        power: produced less consumed over the inertia, a number or one for each node.
        damping: a number or one for each node.
        k: strength of the coupling, a number or one for each node.

    Example:
        >>> import ndcn, torch
        >>> line = ndcn.Graph.from_edges([("plant", "town")])
        >>> law = ndcn.laws.Swing(power=[1, -1], damping=0.5)
        >>> law(torch.tensor(0.0), torch.tensor([[torch.pi / 2, 0.0], [0.0, 2.0]]), line)
        tensor([[ 0.,  0.],
                [ 2., -1.]])
    """

    features = ("theta", "omega")

    formulas = (("omega", 0), ("power - damping*omega", 1), ("k*sin(theta_j - theta_i)", 1))

    def __init__(self, power: Any = 0.0, damping: Any = 0.1, k: Any = 1.0) -> None:
        super().__init__()
        self._set(power=power, damping=damping, k=k)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """(omega, power - damping omega)."""
        omega = x[..., 1:]
        return torch.cat([omega, self._value("power", omega) - self._value("damping", omega) * omega], dim=-1)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """(0, k sin(theta_j - theta_i))."""
        pull = self._number("k", x_i) * torch.sin(x_j[..., :1] - x_i[..., :1])
        return torch.cat([torch.zeros_like(pull), pull], dim=-1)

    def _coupling(self, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        theta = x[..., :1]
        sin, cos = theta.sin(), theta.cos()  # sin(b - a) = cos a sin b - sin a cos b
        sines, cosines = (graph.adjacency @ torch.cat([sin, cos], dim=-1)).chunk(2, dim=-1)
        pull = self._value("k", theta) * (cos * sines - sin * cosines)
        return torch.cat([torch.zeros_like(pull), pull], dim=-1)

    def initial_state(self, graph: Graph, *, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Angles drawn from [-0.5, 0.5), all at rest, shape (n, 2)."""
        theta = uniform_state(graph, -0.5, 0.5, seed)
        return torch.cat([theta, torch.zeros_like(theta)], dim=1).to(dtype)
