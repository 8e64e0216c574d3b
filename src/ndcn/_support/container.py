"""The file that trained models of every kind are kept in: safetensors for numbers, JSON for the rest, no code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from .files import write
from .version import __version__

FORMAT = "ndcn-model"
VERSION = 1


def write_model(path: Path, kind: str, about: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    """Write a model of a kind, what is to be known about it, and its tensors; the file appears in one move."""
    head = {"format": FORMAT, "version": VERSION, "ndcn": __version__, "torch": torch.__version__, "kind": kind}
    text = json.dumps({**head, **about}, default=_plain)
    own = {name: value.clone(memory_format=torch.contiguous_format) for name, value in tensors.items()}  # no views
    write(path, lambda new: save_file(own, new, metadata={"ndcn": text}))


def kind_of(path: Path) -> str:
    """Which estimator a model file holds; raises what ``read_model`` does."""
    return str(read_model(path, None)[0].get("kind"))


def read_model(path: Path, kind: str | None) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """What is known about a model of a kind, and its tensors; None takes any kind, without tensors.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged, not ours, or of another version or kind.
    """
    if not path.exists():
        raise FileNotFoundError(f"there is no model file {path}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a model file; `ndcn fit` and the estimators' save write such files")
    try:
        with safe_open(path, "pt") as file:
            about = json.loads((file.metadata() or {}).get("ndcn", "{}"))
            if not isinstance(about, dict) or about.get("format") != FORMAT:
                raise ValueError(f"{path} is a safetensors file, but not an ndcn model")
            if about.get("version") != VERSION:
                found = f"{path} has format version {about.get('version')}"
                raise ValueError(f"{found}, this ndcn reads version {VERSION}; use a newer ndcn")
            if kind is None:
                return about, {}
            if about.get("kind") != kind:
                raise ValueError(f"{path} holds a {about.get('kind')}, not a {kind}; use ndcn.load")
            return about, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # it is no dict
    except (SafetensorError, OSError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not an ndcn model, or is damaged: {error}") from error


def _plain(value: object) -> object:
    """NumPy's numbers as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
