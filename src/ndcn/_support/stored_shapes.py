"""Modules of files: sizes are compared with the stored weights before anything of that size is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import nn


def check_sizes(build: Callable[[], nn.Module], weights: Mapping[str, torch.Tensor]) -> None:
    """Refuse weights that the module, which ``build`` makes, could not take; it is made without memory for its numbers.

    Raises:
        ValueError: the module has weights of other sizes; the message names the first.

    Example:
        >>> check_sizes(lambda: nn.Linear(2, 3), nn.Linear(2, 3).state_dict())
        >>> check_sizes(lambda: nn.Linear(10**9, 10**9), nn.Linear(2, 3).state_dict())
        Traceback (most recent call last):
        ...
        ValueError: size mismatch: the settings ask for weight of (1000000000, 1000000000), and (3, 2) is stored
    """
    with torch.device("meta"):
        expected = build().state_dict()
    for name, value in expected.items():
        if name in weights and weights[name].shape != value.shape:
            asked, stored = tuple(value.shape), tuple(weights[name].shape)
            raise ValueError(f"size mismatch: the settings ask for {name} of {asked}, and {stored} is stored")
        if name in weights and weights[name].is_floating_point() != value.is_floating_point():
            raise ValueError(f"{name} must be of {value.dtype}, and {weights[name].dtype} is stored")
    if missing := [name for name in expected if name not in weights]:
        raise ValueError(f"it holds no {', '.join(missing[:5])}")
