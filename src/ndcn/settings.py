"""What the arguments of an estimator must be: numbers in their range, known names, and no choice that has no effect."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import torch
from torch import nn

from .field import Field
from .forecast.options import Auto
from .identify.interaction import Interaction
from .laws import Law
from .models.node_curves import Curve
from .named_models import NAMED as MODELS
from .named_models import OF_TRAINING, named
from .recipes import READY_MODULE, RECIPES, Recipe
from .solve import Solver

LARGEST_SEED = 2**63 - 1
OF_NAMED_MODELS: tuple[str, ...] = ("preset", "hidden", "operator", "activation", "knots")


def recipe_of(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> Recipe:
    """The recipe that the arguments of a ``DynamicsRegressor`` ask for, or an error that says what is wrong with them."""
    if isinstance(given["model"], (Interaction, Auto)):
        given = {**given, "model": "auto" if isinstance(given["model"], Auto) else "interaction"}
    model, named_model = given["model"], isinstance(given["model"], str)
    if not named_model and not isinstance(model, nn.Module):
        kinds = "a name, an nn.Module, an ndcn.Interaction or an ndcn.forecast.Auto"
        raise TypeError(f"model must be {kinds}, got {type(model).__name__}")
    if named_model and model not in MODELS:
        raise ValueError(f"unknown model {model!r}; known are {', '.join(MODELS)}, or pass a ready nn.Module")
    if given["solver"] is not None and not isinstance(given["solver"], Solver):
        raise TypeError(f'solver must be an ndcn.Solver such as Solver("dopri5"), got {given["solver"]!r}')
    named(RECIPES, "preset", given["preset"])
    _refuse_what_has_no_effect(given, defaults)
    _whole("hidden", given["hidden"], 1, optional=True)
    _whole("ensemble", given["ensemble"], 1)
    _whole("seed", given["seed"], 0, LARGEST_SEED - given["ensemble"] + 1)
    _whole("jobs", given["jobs"], 1, optional=True)
    if not _real(given["validation"]) or not 0 <= given["validation"] < 1:
        raise ValueError(f"validation is a share of the training times in [0, 1), got {given['validation']!r}")
    _whole("patience", given["patience"], 1, optional=True)
    if given["patience"] is not None and given["validation"] == 0:
        raise ValueError("patience needs a validation share, e.g. validation=0.1")
    if given["clip_norm"] is not None and not (_real(given["clip_norm"]) and given["clip_norm"] > 0):
        raise ValueError(f"clip_norm must be a positive number, got {given['clip_norm']!r}")
    names = ("epochs", "learning_rate", "weight_decay", "schedule")
    chosen = {name: given[name] for name in names if given[name] is not None}
    recipe = replace(MODELS[model].recipes[given["preset"]] if named_model else READY_MODULE, **chosen)
    _whole("epochs", recipe.epochs, 1)
    if not _real(recipe.learning_rate) or not recipe.learning_rate > 0:
        raise ValueError(f"learning_rate must be a number > 0, got {recipe.learning_rate!r}")
    if not _real(recipe.weight_decay) or not recipe.weight_decay >= 0:
        raise ValueError(f"weight_decay must be a number >= 0, got {recipe.weight_decay!r}")
    if recipe.schedule not in ("cosine", "constant"):
        raise ValueError(f'schedule must be "cosine" or "constant", got {recipe.schedule!r}')
    return replace(  # NumPy's numbers become Python's
        recipe,
        epochs=int(recipe.epochs),
        learning_rate=float(recipe.learning_rate),
        weight_decay=float(recipe.weight_decay),
    )


def _refuse_what_has_no_effect(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    model = given["model"]
    ready = isinstance(model, nn.Module)
    if ready:
        ignored = OF_NAMED_MODELS if isinstance(model, Field) else (*OF_NAMED_MODELS, "solver")
        ignored = (*ignored, *OF_TRAINING) if isinstance(model, Curve) else ignored
        ignored = MODELS["interaction"].ignores if isinstance(model, Law) and model.unknown else ignored
    else:
        ignored = MODELS[model].ignores
    idle = [
        name
        for name in ignored
        if (given[name] is not None if defaults[name] is None else given[name] != defaults[name])
    ]
    if idle:
        what = f"a ready module such as this {type(model).__name__}" if ready else model
        drop = f"drop {'it' if len(idle) == 1 else 'them'}" + (", and make the module as you want it" if ready else "")
        drop += ", or name a model that is trained, as ndcn" if model == "auto" else ""
        raise ValueError(f"{', '.join(idle)}: of no effect on {what}; {drop}")


def _real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _whole(name: str, value: Any, low: int, high: int | None = None, *, optional: bool = False) -> None:
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
    except (
        RuntimeError,
        AssertionError,
        NotImplementedError,
        TypeError,
    ) as error:  # torch raises any of them, by device
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
