"""Model: what identification fits, a rate of change with its derivatives by states and parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch

from ..solve import LawKernel
from .network import Network


@dataclass(frozen=True)
class Slopes:
    """A rate of change and its derivatives at a batch of K states."""

    rate: torch.Tensor  # dx/dt, (K, n, d)
    own: torch.Tensor  # parts of the Jacobian, this and the next: see ``Network``
    edges: torch.Tensor
    columns: torch.Tensor  # derivatives of the rate by each of P parameters, (K, n, d, P)

    def on(self, base: Model | None, x: torch.Tensor, network: Network) -> Slopes:
        """With the rate and Jacobian of a base that is corrected, whose parameters stay as they are."""
        if base is None:
            return self
        known = base.slopes(x, network)
        return Slopes(self.rate + known.rate, self.own + known.own, self.edges + known.edges, self.columns)


class Model(Protocol):
    """What can be fitted: a rate of change with parameters in one vector."""

    @property
    def parameters(self) -> torch.Tensor:
        """All parameters, shape (P,)."""

    def with_parameters(self, values: torch.Tensor) -> Model:
        """The same with other parameters."""

    def rate(self, x: torch.Tensor, network: Network) -> torch.Tensor:
        """dx/dt at states of shape (K, n, d)."""

    def slopes(self, x: torch.Tensor, network: Network) -> Slopes:
        """dx/dt and its derivatives."""

    def kernel(self, network: Network) -> LawKernel | None:
        """The same in C; None where there is no such kernel, and ``rate`` and ``slopes`` are to be used."""
