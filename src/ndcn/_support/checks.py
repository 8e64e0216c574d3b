"""Checks of arguments: numbers in their range, known names, devices and precisions that torch has."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import torch

LARGEST_SEED = 2**63 - 1


def named(known: Mapping[str, Any], kind: str, name: object) -> Any:
    """What goes by a name, or an error that lists the names."""
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"unknown {kind} {name!r}; known are {', '.join(known)}")
    return known[name]


def is_real(value: object) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def check_number(name: str, value: Any, expected: str, holds: Callable[[Any], bool]) -> None:
    """Refuse what is no finite number, or not the number expected; None passes."""
    if value is not None and not (is_real(value) and holds(value)):
        raise ValueError(f"{name} must be {expected}, got {value!r}")


def check_whole(name: str, value: Any, low: int, high: int | None = None, *, optional: bool = False) -> None:
    """Refuse what is no whole number from ``low`` to ``high``; None passes if it is optional."""
    if value is None and optional:
        return
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or int(value) < low or (high is not None and int(value) > high):
        between = f">= {low}" if high is None else f"from {low} to {high}"
        raise ValueError(f"{name} must be a whole number {between}, got {value!r}")


def device_named(name: str | torch.device) -> torch.device:
    """A device on which this torch can compute, by name."""
    try:
        device = torch.device(name)
        torch.empty(1, device=device).add_(1).item()
    except (RuntimeError, AssertionError, TypeError) as error:  # torch raises any of them, by device
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ValueError(f"cannot compute on device {str(name)!r}: {reason}; try cpu") from None
    return device


def dtype_named(name: str | torch.dtype) -> torch.dtype:
    """float32 or float64, by name or as torch knows it."""
    for kind in (torch.float32, torch.float64):
        if name == kind or name == dtype_name(kind):
            return kind
    raise ValueError(f'dtype must be "float32" or "float64", got {name!r}')


def dtype_name(kind: torch.dtype) -> str:
    """The name by which ``dtype_named`` knows it."""
    return str(kind).removeprefix("torch.")
