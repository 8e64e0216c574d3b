"""How many digits a median of counts is told with."""

from __future__ import annotations

import torch

TENTHS = 10  # the ends of intervals of counts are whole numbers: a tenth is at most a tenth of the narrowest one


def rounded_counts(medians: torch.Tensor) -> torch.Tensor:
    """Medians of counts with one decimal; it keeps their order, so that totals never fall.

    Example:
        >>> import torch
        >>> rounded_counts(torch.tensor([299.335, 1.00001, 0.44], dtype=torch.float64)).tolist()
        [299.3, 1.0, 0.4]
    """
    return (TENTHS * medians).round() / TENTHS
