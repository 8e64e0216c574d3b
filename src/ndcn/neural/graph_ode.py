"""GraphODE: encode the state, integrate a field over continuous time, decode."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ..data import Inputs
from ..graph import Graph
from ..solve import Solution, Solver, solve_and_decode


class GraphODE(nn.Module):
    """X_h(t0) = encoder(X(t0)); dX_h/dt = field(t, X_h, G); X(t) = decoder(X_h(t)).

    Args:
        encoder: any nn.Module from (n, d) to (n, h).
        field: any nn.Module called as field(t, x, graph) that keeps the shape (n, h); as field(t, x, graph, u) if it takes inputs.
        decoder: any nn.Module from (..., n, h) to (..., n, d).
        solver: how the field is integrated; DOPRI5 by default.

    Example:
        >>> import ndcn, torch
        >>> model = ndcn.GraphODE(torch.nn.Linear(1, 8), ndcn.fields.GraphField(8), torch.nn.Linear(8, 1))
        >>> graph = ndcn.networks.grid(9)
        >>> model(torch.rand(9, 1), [0.5, 1.0], graph).shape
        torch.Size([2, 9, 1])
    """

    def __init__(self, encoder: nn.Module, field: nn.Module, decoder: nn.Module, solver: Solver | None = None) -> None:
        super().__init__()
        for name, part in (("encoder", encoder), ("field", field), ("decoder", decoder)):
            if not isinstance(part, nn.Module):
                raise TypeError(f"{name} must be a torch.nn.Module, got {type(part).__name__}")
        self.encoder, self.field, self.decoder = encoder, field, decoder
        self.solver = solver or Solver()

    def solve(
        self, x0: torch.Tensor, times: Any, graph: Graph, t0: float = 0.0, inputs: Inputs | None = None
    ) -> Solution:
        """Decoded states at ``times``, shape (T, n, d), in the order asked for, with the solver's statistics."""
        return solve_and_decode(self.field, graph, self.encoder(x0), times, self.solver, t0, self.decoder, inputs)

    def forward(
        self, x0: torch.Tensor, times: Any, graph: Graph, t0: float = 0.0, inputs: Inputs | None = None
    ) -> torch.Tensor:
        """Decoded states at ``times`` from the state x0 (n, d) at t0, shape (T, n, d)."""
        return self.solve(x0, times, graph, t0, inputs).states

    def solver_times(self, times: torch.Tensor, t0: float) -> tuple[torch.Tensor, float]:
        """Times and t0 as the solver counts them: unchanged."""
        return times, t0
