"""Observations written with few decimals: how coarse they are."""

from __future__ import annotations

import numpy as np
import torch

FEWEST = 20  # different values, that are no accident on a coarse grid
FINEST = 1e-9  # of the largest value: rounding of so little is below that of float64 solutions (``observations.FLOAT64_ROUNDING``)
ROUNDING_ERROR = 12**-0.5  # standard deviation of an error that is uniform over one step


def decimal_step(states: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """The largest power of ten of which all values of a feature are multiples, 0 if there is none, shape (d,).

    Example:
        >>> import torch
        >>> x = torch.linspace(0, 3, 100, dtype=torch.float64).reshape(-1, 1, 1)
        >>> decimal_step(torch.round(100 * x) / 100, torch.ones(100, 1, 1, dtype=torch.bool))
        tensor([0.0100], dtype=torch.float64)
        >>> decimal_step(x.sqrt(), torch.ones(100, 1, 1, dtype=torch.bool))
        tensor([0.], dtype=torch.float64)
    """
    found = [_step(states[..., k][seen[..., k]].cpu().numpy()) for k in range(states.shape[-1])]
    return torch.tensor(found, dtype=torch.float64)


def _step(values: np.ndarray) -> float:
    precision = 2 * np.finfo(values.dtype).eps
    x = values.astype(np.float64)
    largest = np.abs(x).max(initial=0.0)
    if not 0 < largest < np.inf or len(np.unique(x[:: max(1, len(x) // 1000)])) < FEWEST:
        return 0.0
    sample = x[:: max(1, len(x) // 100)]
    first = int(np.floor(np.log10(largest)))
    last = int(np.ceil(np.log10(max(FINEST, 4 * precision) * largest)))
    for power in range(first, last - 1, -1):
        if _on_grid(sample, power, precision) and _on_grid(x, power, precision):
            return 10.0**power
    return 0.0


def _on_grid(x: np.ndarray, power: int, precision: float) -> bool:
    steps = x * 10.0**-power
    return bool((np.abs(steps - np.round(steps)) <= precision * np.abs(steps)).all())
