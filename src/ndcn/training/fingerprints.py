"""What a run is known by, so that a checkpoint of another run is refused."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from ..solve import Solver, kernel_in_use
from .objective import CrossEntropy, Objective


def fingerprint(settings: Mapping[str, Any], model: nn.Module, data: Sequence[str]) -> str:
    """A hash of all that decides the result of a fit: settings, the model with its first weights, kernel and data.

    Args:
        settings: by name.
        model: before training.
        data: the fingerprints of what is learned from.
    """
    texts = {name: as_text(value) for name, value in settings.items()}
    weights = {name: as_text(value) for name, value in model.state_dict().items()}
    text = json.dumps([texts, _parts(model), weights, kernel_in_use(), list(data)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _parts(model: nn.Module) -> list[str]:
    """What weights do not tell: the kinds of its modules, their solvers, and the functions that they were given."""
    parts = [repr(model)]
    for where, module in model.named_modules():
        for name, value in sorted(vars(module).items()):
            if not name.startswith("_") and (isinstance(value, Solver) or callable(value)):
                parts.append(f"{where}.{name} {as_text(value)}")
    return parts


def as_text(value: Any) -> str:
    """A value as text that is the same in another process; tensors and large objects by their hash."""
    if isinstance(value, torch.Tensor):
        data = value.detach().cpu().contiguous()
        return f"{data.dtype} {tuple(data.shape)} {hashlib.sha256(data.numpy().tobytes()).hexdigest()}"
    if isinstance(value, Objective):
        return f"{value.running} {as_text(value.terminal)} {value.terminal_weight} {value.time_weights}"
    if isinstance(value, CrossEntropy):
        return f"CrossEntropy {as_text(value.labels)} {as_text(value.mask)}"
    if isinstance(value, functools.partial):
        return f"partial {as_text(value.func)} {[as_text(a) for a in value.args]} {value.keywords}"
    if isinstance(value, nn.Module) or (callable(value) and not hasattr(value, "__qualname__")):
        return type(value).__qualname__  # a module's weights are counted among the first weights
    if callable(value):
        module = value.__module__.replace("ndcn.graph.operators", "ndcn.operators")  # where 0.1 had it: its runs go on
        return f"{module}.{value.__qualname__} {_body(value)}"
    return repr(value)


def _body(function: Any) -> list[str]:
    """What tells one lambda from another: the names and plain values in it."""
    code = getattr(function, "__code__", None)
    if code is None:  # not written in Python: its name says it all
        return []
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    plain = [repr(value) for value in (*code.co_consts, *cells) if isinstance(value, (int, float, str, tuple))]
    return [*code.co_names, *plain]
