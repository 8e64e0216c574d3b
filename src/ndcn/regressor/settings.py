"""What the arguments of an estimator must be: numbers in their range, known names, and no choice that has no effect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import nn

from .._support.checks import LARGEST_SEED, check_whole, is_real, named
from ..forecast import Auto
from ..identify import Interaction
from ..laws import Law
from ..neural import Curve
from ..solve import Field, Solver
from ..training import READY_MODULE, RECIPES, Recipe
from .named_models import NAMED as MODELS
from .named_models import OF_TRAINING

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
    check_whole("hidden", given["hidden"], 1, optional=True)
    check_whole("ensemble", given["ensemble"], 1)
    check_whole("seed", given["seed"], 0, LARGEST_SEED - given["ensemble"] + 1)
    if not isinstance(given["jobs"], str):  # the address of a Ray cluster
        check_whole("jobs", given["jobs"], 1, optional=True)
    if not is_real(given["validation"]) or not 0 <= given["validation"] < 1:
        raise ValueError(f"validation is a share of the training times in [0, 1), got {given['validation']!r}")
    check_whole("patience", given["patience"], 1, optional=True)
    if given["patience"] is not None and given["validation"] == 0:
        raise ValueError("patience needs a validation share, e.g. validation=0.1")
    if given["clip_norm"] is not None and not (is_real(given["clip_norm"]) and given["clip_norm"] > 0):
        raise ValueError(f"clip_norm must be a positive number, got {given['clip_norm']!r}")
    names = ("epochs", "learning_rate", "weight_decay", "schedule")
    chosen = {name: given[name] for name in names if given[name] is not None}
    recipe = replace(MODELS[model].recipes[given["preset"]] if named_model else READY_MODULE, **chosen)
    check_whole("epochs", recipe.epochs, 1)
    if not is_real(recipe.learning_rate) or not recipe.learning_rate > 0:
        raise ValueError(f"learning_rate must be a number > 0, got {recipe.learning_rate!r}")
    if not is_real(recipe.weight_decay) or not recipe.weight_decay >= 0:
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
