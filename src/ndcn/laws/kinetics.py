"""How fast reactions saturate: x^h and x^h / (x^h + 1)."""

from __future__ import annotations

import torch


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
