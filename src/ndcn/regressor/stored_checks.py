"""What model files hold, checked before it is used: shapes, kinds of numbers, and units that can be divided by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from .._support.checks import is_real
from ..data import checked_times

Tensors = Mapping[str, torch.Tensor]


def check_common(about: Mapping[str, Any], tensors: Tensors) -> None:
    """Refuse initial conditions, units and histories that no fit can have written.

    Raises:
        KeyError: an entry is missing.
        ValueError: one is of another kind or shape; the message names it.
    """
    starts, histories = about["starts"], about["histories"]
    for name, entries in (("starts", starts), ("histories", histories)):
        if not isinstance(entries, list) or not entries or not all(isinstance(one, dict) for one in entries):
            raise ValueError(f"{name} must be a list of at least one entry")
    features = len(_features(starts[0]))
    for k, start in enumerate(starts):
        _check_start(start, tensors, f"start.{k}.")
    units, scale = about["units"], tensors["scale"]
    if not isinstance(units, dict) or not is_real(units["origin"]):
        raise ValueError("units must have an origin")
    if not is_real(units["rate"]) or not units["rate"] > 0:
        raise ValueError(f"the rate of time must be a number > 0, got {units['rate']!r}")
    check_tensor(tensors, "scale", (features,))
    if not (scale > 0).all():
        raise ValueError("scale must hold numbers > 0")
    for k, history in enumerate(histories):
        if not isinstance(history.get("stopped"), str) or not is_real(history.get("seconds")):
            raise ValueError(f"history {k} must say why it stopped and after how many seconds")
        for name, shape in ((f"loss.{k}", (None,)), (f"validation.{k}", (None, 2))):
            if name in tensors:  # a kind without epochs need not have them
                check_tensor(tensors, name, shape, finite=False)


def check_law(tensors: Tensors, common: int, every: int, initial: Sequence[torch.Tensor]) -> None:
    """Refuse errors, posterior samples and states of a law that do not belong to its parameters and initial states.

    ``common`` is the number of parameters with a covariance, ``every`` that of all.
    """
    check_tensor(tensors, "law.covariance", (common, common), finite=False)
    check_tensor(tensors, "law.draws", (None, every))
    if "law.errors" in tensors:
        check_tensor(tensors, "law.errors", (every,), finite=False)
    check_tensor(tensors, "law.states", (None, initial[0].shape[1]))
    if not len(tensors["law.states"]):
        raise ValueError("law.states is empty")
    samples = len(tensors["law.draws"])
    for k, x0 in enumerate(initial):
        if f"law.start_draws.{k}" in tensors:
            check_tensor(tensors, f"law.start_draws.{k}", (samples, *x0.shape))


def check_tensor(tensors: Tensors, name: str, shape: tuple[int | None, ...], *, finite: bool = True) -> None:
    """Refuse a tensor that is not of this shape, of floating-point numbers and, if asked for, finite; None is any size."""
    found = tensors[name]
    sizes = zip(found.shape, shape, strict=False)
    if found.dim() != len(shape) or any(size != wanted for size, wanted in sizes if wanted is not None):
        wanted = " x ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(f"{name} must be of size {wanted}, got {' x '.join(map(str, found.shape)) or 'one number'}")
    if not found.is_floating_point():
        raise ValueError(f"{name} must hold floating-point numbers, got {found.dtype}")
    if finite and not found.isfinite().all():
        raise ValueError(f"{name} must hold finite numbers")


def _check_start(start: Mapping[str, Any], tensors: Tensors, prefix: str) -> None:
    """One initial condition."""
    x0, features = tensors[f"{prefix}x0"], _features(start)
    check_tensor(tensors, f"{prefix}x0", (None, len(features)))
    if not is_real(start["t0"]) or start["directed"] not in (True, False):
        raise ValueError(f"{prefix}t0 must be a time, and directed true or false")
    check_tensor(tensors, f"{prefix}times", (None,))
    checked_times(tensors[f"{prefix}times"], ordered=True)
    if f"{prefix}states" in tensors:
        check_tensor(tensors, f"{prefix}states", (len(tensors[f"{prefix}times"]), *x0.shape), finite=False)


def _features(start: Mapping[str, Any]) -> list[str]:
    names = start["features"]
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"features must be a list of names, got {names!r}")
    return names
