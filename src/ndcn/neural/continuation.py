"""Continuation: models that go on from all snapshots they were fitted to, not from the first alone."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import nn

from ..data import Trajectory


class Continuation(nn.Module, ABC):
    """X(t) = F(t; X(t_1), ..., X(t_T))."""

    @abstractmethod
    def go_on(self, seen: Trajectory, times: torch.Tensor) -> torch.Tensor:
        """The states at ``times``, in any order, after and between the snapshots that were seen, shape (T, n, d).

        ``seen`` and ``times`` are in the model's own units.
        """
