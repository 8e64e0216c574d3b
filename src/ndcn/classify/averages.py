"""Running averages of weights, which fluctuate less from epoch to epoch than the weights themselves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

SOON = 10  # the first steps, far from the end, are forgotten sooner: step k counts with at least 9 / (k + 10)


class Averages:
    """w <- m w + (1 - m) v, v being the weights of a model after each step; m at most ``momentum``.

    The averages are buffers of the model, so that checkpoints and the best epoch hold them too.

    Args:
        model: whose parameters are averaged.
        momentum: in (0, 1); 0.9 is an average of about ten steps.

    Example:
        >>> import torch
        >>> layer = torch.nn.Linear(1, 1, bias=False)
        >>> averages = Averages(layer, 0.5)
        >>> _ = torch.nn.init.zeros_(layer.weight)
        >>> averages.add(1000)
        >>> averages.keep()
        >>> bool(layer.weight.item() == 0), list(layer.buffers())
        (False, [])
    """

    def __init__(self, model: nn.Module, momentum: float) -> None:
        self.model, self.momentum = model, momentum
        self.names = {name: f"average_{name.replace('.', '_')}" for name, _ in model.named_parameters()}
        for name, value in list(model.named_parameters()):
            model.register_buffer(self.names[name], value.detach().clone(), persistent=False)

    def _pairs(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        buffers = dict(self.model.named_buffers())
        for name, value in self.model.named_parameters():
            yield value, buffers[self.names[name]]

    @torch.no_grad()
    def add(self, step: int) -> None:
        """Take the present weights, which so many steps made, into the averages."""
        momentum = min(self.momentum, (1 + step) / (SOON + step))
        for value, average in self._pairs():
            average.lerp_(value, 1 - momentum)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """The model with the averages in the place of its weights."""
        kept = [value.detach().clone() for value, _ in self._pairs()]
        self._put()
        try:
            yield
        finally:
            with torch.no_grad():
                for (value, _), before in zip(self._pairs(), kept, strict=True):
                    value.copy_(before)

    def keep(self) -> None:
        """Put the averages in the place of the weights for good."""
        self._put()
        for name in self.names.values():
            delattr(self.model, name)

    @torch.no_grad()
    def _put(self) -> None:
        for value, average in self._pairs():
            value.copy_(average)
