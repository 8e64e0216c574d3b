"""Residual GNN: NDCN in discrete layers, one for each step of time."""

from __future__ import annotations

import torch
from torch import nn

from ..data import TimeGrid
from ..graph import Graph, Operator, signed_laplacian
from ..solve import Solver, solve_and_decode
from .fields import Activation, GraphField
from .ndcn import encoder_of

LAYERS = Solver("euler", step_size=1.0)  # a layer is an Euler step of length 1 in a time that counts layers


class ResidualGNN(nn.Module):
    """X_h[0] = tanh(X[0] W_e + b_e) W_0 + b_0; X_h[k+1] = X_h[k] + ReLU(Phi X_h[k] W + b); X[k] = X_h[k] W_d + b_d.

    The discrete model that becomes NDCN when layers become time. All layers share W and b, so it can go on after the
    last training snapshot; between two steps it has no state.

    Args:
        features: d.
        hidden: width of X_h.
        operator: Phi; by default the normalised Laplacian of NDCN.
        activation: in place of ReLU.
        step: time between two layers.
        layers: how many layers it will have, about: the first W and b are divided by it, because a hundred layers of
            W with entries of ordinary size explode.

    Example:
        >>> import ndcn, torch
        >>> model = ndcn.models.ResidualGNN(step=0.5)
        >>> sum(p.numel() for p in model.parameters())
        901
        >>> model(torch.rand(9, 1), torch.tensor([0.5, 2.0]), ndcn.networks.grid(9)).shape
        torch.Size([2, 9, 1])
    """

    solver = LAYERS

    def __init__(
        self,
        features: int = 1,
        *,
        hidden: int = 20,
        operator: Operator = signed_laplacian,
        activation: Activation = torch.relu,
        step: float = 1.0,
        layers: int = 1,
    ) -> None:
        super().__init__()
        self.step = step
        self.encoder = encoder_of(features, hidden)
        self.field = GraphField(hidden, operator=operator, activation=activation)
        self.decoder = nn.Linear(hidden, features)
        with torch.no_grad():
            for p in self.field.parameters():
                p.div_(layers)

    def forward(self, x0: torch.Tensor, times: torch.Tensor, graph: Graph, t0: float = 0.0) -> torch.Tensor:
        """States at ``times``, which must be t0 + k step, from the state x0 (n, d) at t0; shape (T, n, d)."""
        layers, first = self.solver_times(torch.as_tensor(times), t0)
        return solve_and_decode(self.field, graph, self.encoder(x0), layers, self.solver, first, self.decoder).states

    def solver_times(self, times: torch.Tensor, t0: float) -> tuple[torch.Tensor, float]:
        """Times and t0 as the solver counts them, in layers."""
        return TimeGrid(t0, self.step).index(times).double(), 0.0
