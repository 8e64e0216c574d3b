"""The file that trained models of every kind are kept in: safetensors for numbers, JSON for the rest, no code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .plain_json import from_json
from .tensor_files import read_tensors, read_text, write_tensors
from .version import __version__

FORMAT = "ndcn-model"
VERSION = 1
WHAT = "model"  # for messages


def write_model(path: Path, kind: str, about: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    """Write a model of a kind, what is to be known about it, and its tensors; the file appears in one move."""
    head = {"format": FORMAT, "version": VERSION, "ndcn": __version__, "torch": torch.__version__, "kind": kind}
    write_tensors(path, json.dumps({**head, **about}, default=_plain), tensors)


def kind_of(path: Path) -> str:
    """Which estimator a model file holds; raises what ``read_model`` does."""
    return str(_about(read_text(path, WHAT), path, None).get("kind"))


def read_model(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """What is known about a model of a kind, and its tensors.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged, not ours, or of another version or kind.
    """
    _about(read_text(path, WHAT), path, kind)  # what is not ours is not read whole
    text, tensors = read_tensors(path, WHAT)
    about = _about(text, path, kind)
    settings = about.get("settings")
    for name, value in settings.items() if isinstance(settings, dict) else ():
        if isinstance(value, int) and abs(value) >= 2**63:
            raise ValueError(f"{path} is damaged: its setting {name} is {value:.2g}, more than 64 bits hold")
    return about, tensors


def _about(text: str, path: Path, kind: str | None) -> dict[str, Any]:
    """What is known about the model of a file, of any kind if that is None."""
    try:
        about = from_json(text)
    except ValueError as error:
        raise ValueError(f"{path} is not an ndcn {WHAT}, or is damaged: {error}") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ValueError(f"{path} is a safetensors file, but not an ndcn model")
    if about.get("version") != VERSION:
        found = f"{path} has format version {about.get('version')}"
        raise ValueError(f"{found}, this ndcn reads version {VERSION}; use a newer ndcn")
    if kind is not None and about.get("kind") != kind:
        raise ValueError(f"{path} holds a {about.get('kind')}, not a {kind}; use ndcn.load")
    return about


def _plain(value: object) -> object:
    """NumPy's numbers as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
