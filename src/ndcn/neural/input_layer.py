"""InputLayer: what inputs u(t) add to a learned field, before its activation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import nn

from ..data import Inputs


class InputLayer(nn.Module):
    """u -> ((u - centre) / scale) V, one row for all nodes or one for each.

    Args:
        names: of the inputs, in order.
        width: features of the field.
        seen: inputs that it will be trained with, of each trajectory: their means and spreads are ``centre`` and ``scale``;
            0 and 1 by default.

    Example:
        >>> import ndcn, torch
        >>> layer = InputLayer(["rain"], 20)
        >>> layer({"rain": torch.ones(1, 1)}).shape
        torch.Size([1, 20])
    """

    centre: torch.Tensor
    scale: torch.Tensor

    def __init__(self, names: Sequence[str], width: int, seen: Sequence[Inputs] = ()) -> None:
        super().__init__()
        self.names = tuple(names)
        self.linear = nn.Linear(len(self.names), width, bias=False)
        centre, scale = torch.zeros(len(self.names)), torch.ones(len(self.names))
        for k, name in enumerate(self.names if seen else ()):
            values = torch.cat([one[name].values.reshape(-1) for one in seen])
            spread = float(values.std()) if len(values) > 1 else 0.0
            centre[k], scale[k] = float(values.mean()), spread if spread > 0 else 1.0
        self.register_buffer("centre", centre)
        self.register_buffer("scale", scale)

    def forward(self, u: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Values of shape (n, 1) or (1, 1) to (n, width) or (1, width)."""
        rows = torch.cat(torch.broadcast_tensors(*(u[name] for name in self.names)), dim=-1)
        out: torch.Tensor = self.linear((rows - self.centre) / self.scale)
        return out
