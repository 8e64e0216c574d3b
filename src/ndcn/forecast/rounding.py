"""How many digits a median of counts is told with."""

from __future__ import annotations

import torch

SMALL = 10.0  # counts below which a tenth says something; the interval of a larger one is wider than 1


def rounded_counts(medians: torch.Tensor) -> torch.Tensor:
    """Medians of counts as whole numbers, below 10 with one decimal; it keeps their order, so that totals never fall.

    Example:
        >>> import torch
        >>> rounded_counts(torch.tensor([299.335, 10.4, 1.00001, 0.44], dtype=torch.float64)).tolist()
        [299.0, 10.0, 1.0, 0.4]
    """
    return torch.where(medians < SMALL, (10 * medians).round() / 10, medians.round())
