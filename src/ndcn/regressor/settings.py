"""Settings: the arguments of a ``DynamicsRegressor``, checked, with the recipe that they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from .._support.checks import LARGEST_SEED, check_number, check_whole, device_named, dtype_named, is_real, named
from ..solve import Solver
from ..training import RECIPES, Recipe, Units
from .kind import ARGUMENTS, Kind
from .kind_lookup import kind_for


@dataclass(frozen=True)
class Settings:
    """Arguments of a ``DynamicsRegressor``: ``settings["epochs"]`` is what was given, ``recipe.epochs`` what follows.

    Attributes:
        arguments: as given, by name.
        recipe: how it is trained.
        resume: whether to continue from the checkpoint.
        start: units and modules whose weights training begins with; None draws them from the seed.
    """

    arguments: Mapping[str, Any]
    recipe: Recipe
    resume: bool = False
    start: tuple[Units, list[nn.Module]] | None = None

    def __getitem__(self, name: str) -> Any:
        return self.arguments[name]

    @property
    def model(self) -> Any:
        """The model: a name, options, or a ready module."""
        return self.arguments["model"]

    @property
    def kind(self) -> Kind:
        """The kind of the model."""
        return kind_for(self.model)

    @property
    def seed(self) -> int:
        """Seed of all random draws."""
        return int(self.arguments["seed"])

    @property
    def width(self) -> int:
        """Features of the hidden state: those asked for, or the kind's own."""
        return int(self.arguments["hidden"] or self.kind.width)

    @property
    def dtype(self) -> torch.dtype:
        """Precision to compute in."""
        return dtype_named(self.arguments["dtype"])

    @property
    def device(self) -> torch.device:
        """Where to compute."""
        return device_named(self.arguments["device"])

    def but(self, **arguments: Any) -> Settings:
        """The same with other arguments."""
        return replace(self, arguments={**self.arguments, **arguments})


def checked_settings(given: Mapping[str, Any], defaults: Mapping[str, Any], *, resume: bool = False) -> Settings:
    """Settings, or an error that says what is wrong with the arguments.

    Raises:
        TypeError: a model or solver that is none.
        ValueError: unknown names, numbers out of range, or arguments that the model does not use.
    """
    kind = kind_for(given["model"])
    if given["solver"] is not None and not isinstance(given["solver"], Solver):
        raise TypeError(f'solver must be an ndcn.Solver such as Solver("dopri5"), got {given["solver"]!r}')
    named(RECIPES, "preset", given["preset"])
    _refuse_unused(kind, given, defaults)
    if resume and not kind.can.resume:
        subject = kind.subject(given["model"])
        raise ValueError(f"{subject} does not use `resume`, for it keeps no checkpoints; remove it")
    check_whole("hidden", given["hidden"], 1, optional=True)
    check_whole("ensemble", given["ensemble"], 1)
    if given["ensemble"] > 1 and not kind.can.ensemble:
        raise ValueError(kind.alone(given["model"]))
    check_whole("seed", given["seed"], 0, LARGEST_SEED - given["ensemble"] + 1)
    if not isinstance(given["jobs"], str):  # the address of a Ray cluster
        check_whole("jobs", given["jobs"], 1, optional=True)
    if not is_real(given["validation"]) or not 0 <= given["validation"] < 1:
        raise ValueError(f"validation is a share of the training times in [0, 1), got {given['validation']!r}")
    check_whole("patience", given["patience"], 1, optional=True)
    if given["patience"] is not None and given["validation"] == 0:
        raise ValueError("patience needs a validation share, e.g. validation=0.1")
    check_number("clip_norm", given["clip_norm"], "a positive number", lambda x: x > 0)
    return Settings(given, _checked_recipe(kind.recipes[given["preset"]], given), resume)


def _checked_recipe(preset: Recipe, given: Mapping[str, Any]) -> Recipe:
    names = ("epochs", "learning_rate", "weight_decay", "schedule")
    recipe = replace(preset, **{name: given[name] for name in names if given[name] is not None})
    check_whole("epochs", recipe.epochs, 1)
    check_number("learning_rate", recipe.learning_rate, "a number > 0", lambda x: x > 0)
    check_number("weight_decay", recipe.weight_decay, "a number >= 0", lambda x: x >= 0)
    if recipe.schedule not in ("cosine", "constant"):
        raise ValueError(f'schedule must be "cosine" or "constant", got {recipe.schedule!r}')
    rate, decay = float(recipe.learning_rate), float(recipe.weight_decay)  # NumPy's numbers become Python's
    return replace(recipe, epochs=int(recipe.epochs), learning_rate=rate, weight_decay=decay)


def _refuse_unused(kind: Kind, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    model, refused = given["model"], kind.refused(given["model"])
    unused = [name for name in ARGUMENTS if name in refused and not _same(given[name], defaults[name])]
    if unused:
        names = ", ".join(f"`{name}`" for name in unused)
        remove = f"remove {'it' if len(unused) == 1 else 'them'}{kind.advice(model)}"
        raise ValueError(f"{kind.subject(model)} does not use {names}; {remove}")


def _same(value: Any, default: Any) -> bool:
    return value is None if default is None else bool(value == default)
