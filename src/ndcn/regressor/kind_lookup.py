"""Which kind a model is: looked up here, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._support.registries import MODEL_OBJECTS, MODELS
from .kind import Kind


def kind_for(model: object) -> Kind:
    """The kind of what was given as ``model``: a name, a kind itself, options of a kind, or a ready module.

    Raises:
        TypeError: it is none of these.
        ValueError: no model has this name.
    """
    if isinstance(model, Kind):
        return model
    if isinstance(model, str):
        if model not in MODELS:
            raise ValueError(f"unknown model {model!r}; known are {', '.join(MODELS)}, or pass a ready nn.Module")
        found: Kind | None = MODELS[model]
    else:
        found = next((kind for kind in MODEL_OBJECTS.values() if kind.accepts(model)), None)
    if found is None:
        options = "a name, an nn.Module, an ndcn.Interaction or an ndcn.forecast.Auto"
        raise TypeError(f"model must be {options}, got {type(model).__name__}")
    return found


def model_in_file(about: Mapping[str, Any], model: object) -> tuple[Kind, Any]:
    """The kind of a stored model, and what to pass as ``model``; ``model`` is what the user gave, for a ready module."""
    plain = about["settings"]["model"]
    if plain is None:
        return kind_for(model), model
    if isinstance(plain, str):
        return kind_for(plain), plain
    place = about.get("model_kind") or ("auto" if "horizon" in plain else "interaction")  # 0.1 did not write the kind
    kind: Kind = MODELS[place]
    return kind, kind.from_plain(plain)
