"""Checkpoints: all that training needs to resume exactly where it stopped, in one safetensors file; and what identifies a run."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from .._support.checks import is_real
from .._support.plain_json import from_json
from .._support.tensor_files import read_tensors, read_text, write_tensors
from ..solve import Solver, kernel_in_use
from .objective import CrossEntropy, Objective

if TYPE_CHECKING:
    from .loop import Run

FORMAT = "ndcn-checkpoint"
VERSION = 2
READ = (1, 2)  # version 1 had trajectories only: the rank of an epoch was its loss, and no generator went on


def save_checkpoint(path: Path, fingerprint: str, run: Run) -> None:
    """Write the state of a run in one move."""
    tensors = {"loss": torch.tensor(run.history.loss, dtype=torch.float64)}
    tensors["validation"] = torch.tensor(run.history.validation, dtype=torch.float64).reshape(-1, 2)
    tensors["ranks"] = torch.tensor(run.ranks, dtype=torch.float64)
    for k, value in enumerate(run.tensors):
        for name, kept in (("weight", value), ("good", run.good[k]), ("best", run.best[k])):
            tensors[f"{name}.{k}"] = kept.detach().contiguous()
    for k, p in enumerate(run.parameters):
        for name, value in run.optimizer.state.get(p, {}).items():  # empty for a parameter that had no gradient yet
            tensors[f"{name}.{k}"] = value.clone().contiguous()  # weights may share the number of steps
    for k, generator in enumerate(run.generators):
        tensors[f"generator.{k}"] = generator.get_state()
    about = {
        "format": FORMAT,
        "version": VERSION,
        "fingerprint": fingerprint,
        "best_rank": run.best_rank,
        "best_epoch": run.best_epoch,
        "seconds": run.history.seconds,
    }
    write_tensors(path, json.dumps(about), tensors)


def load_checkpoint(path: Path, fingerprint: str, run: Run) -> None:
    """Put a run where the checkpoint left it.

    Raises:
        ValueError: the file is not a checkpoint, or belongs to other data or settings.
    """
    about, _ = _read(path, whole=False)  # what is not ours is not read on
    if about.get("fingerprint") != fingerprint:
        raise ValueError(
            f"{path} belongs to other data or settings, or to another kernel; remove it to start anew, or leave out "
            "resume (--resume)"
        )
    about, tensors = _read(path, whole=True)
    try:
        _check(about, tensors, run)  # before anything is changed
        _put(about, tensors, run)
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        raise ValueError(f"{path} does not fit the model: {error}; remove it to start anew") from error


def _read(path: Path, *, whole: bool) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """What a checkpoint says of itself, and its tensors if the ``whole`` is wanted."""
    try:
        text, tensors = read_tensors(path, "checkpoint") if whole else (read_text(path, "checkpoint"), {})
        about = from_json(text)
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} is not a checkpoint that can be read: {error}; remove it to start anew") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT or about.get("version") not in READ:
        raise ValueError(f"{path} is not a checkpoint of this version of ndcn; remove it to start anew")
    return about, tensors


def _check(about: dict[str, Any], tensors: dict[str, torch.Tensor], run: Run) -> None:
    """Refuse numbers of another shape or kind than the run has: the fused Adam writes where they say, unchecked."""
    first_version = about["version"] == 1
    ranks = [-about["best_loss"]] if first_version else about["best_rank"]
    if not isinstance(ranks, list) or not all(type(rank) is float for rank in ranks):
        raise ValueError(f"best_rank must be a list of numbers, got {ranks!r}")
    if not is_real(about["seconds"]) or about["seconds"] < 0 or type(about["best_epoch"]) is not int:
        raise ValueError("seconds and best_epoch must be numbers")
    validated = len(tensors["validation"])
    _expect(tensors, "loss", tensors["loss"].new_empty(tensors["loss"].numel(), dtype=torch.float64))
    _expect(tensors, "validation", torch.empty(validated, 2, dtype=torch.float64))
    if not first_version and validated:
        _expect(tensors, "ranks", torch.empty(validated, tensors["ranks"][:1].numel(), dtype=torch.float64))
    for name in ("weight", "good", "best"):
        for k, value in enumerate(run.tensors):
            _expect(tensors, f"{name}.{k}", value)
    for k, p in enumerate(run.parameters):
        if f"step.{k}" in tensors:
            step = tensors[f"step.{k}"]
            if not step.is_floating_point() or step.dim() or not 0 <= step.item() <= len(tensors["loss"]):
                raise ValueError(f"step.{k} is no number of steps")
            for name in ("exp_avg", "exp_avg_sq"):
                _expect(tensors, f"{name}.{k}", p)
    for k, generator in enumerate(run.generators):
        _expect(tensors, f"generator.{k}", generator.get_state())


def _expect(tensors: dict[str, torch.Tensor], name: str, like: torch.Tensor) -> None:
    found = tensors[name]
    if found.shape != like.shape or found.dtype != like.dtype:
        expected = f"{tuple(like.shape)} of {like.dtype}"
        raise ValueError(f"{name} must have shape {expected}, got {tuple(found.shape)} of {found.dtype}")


def _put(about: dict[str, Any], tensors: dict[str, torch.Tensor], run: Run) -> None:
    history = run.history
    history.loss = tensors["loss"].tolist()
    history.validation = [(int(epoch), value) for epoch, value in tensors["validation"].tolist()]
    history.seconds = about["seconds"]
    first_version = about["version"] == 1
    ranks = -tensors["validation"][:, 1:] if first_version else tensors["ranks"]
    run.ranks = [tuple(rank) for rank in ranks.tolist()]
    for (epoch, _), rank in zip(history.validation, run.ranks, strict=True):
        run.stopping.see(epoch, rank)
    run.best_rank = (-about["best_loss"],) if first_version else tuple(about["best_rank"])
    run.best_epoch = about["best_epoch"]
    with torch.no_grad():
        for name, kept in (("weight", run.tensors), ("good", run.good), ("best", run.best)):
            for k, value in enumerate(kept):
                value.copy_(tensors[f"{name}.{k}"])
    fused = run.optimizer.defaults["fused"]
    for k, p in enumerate(run.parameters):
        if f"step.{k}" in tensors:
            state = {name: tensors[f"{name}.{k}"].to(p.device) for name in ("exp_avg", "exp_avg_sq")}
            step = tensors[f"step.{k}"]  # which only the fused Adam wants on the device
            run.optimizer.state[p] = {"step": step.to(p.device) if fused else step, **state}
    for k, generator in enumerate(run.generators):
        generator.set_state(tensors[f"generator.{k}"])


def fingerprint(settings: Mapping[str, Any], model: nn.Module, data: Sequence[str]) -> str:
    """A hash of all that decides the result of a fit: settings, the model before training, kernel, fingerprints of the data."""
    texts = {name: as_text(value) for name, value in settings.items()}
    weights = {name: as_text(value) for name, value in model.state_dict().items()}
    # What weights do not tell: the kinds of the modules, their solvers, and the functions that they were given.
    parts = [repr(model)]
    for where, module in model.named_modules():
        for name, value in sorted(vars(module).items()):
            if not name.startswith("_") and (isinstance(value, Solver) or callable(value)):
                parts.append(f"{where}.{name} {as_text(value)}")
    text = json.dumps([texts, parts, weights, kernel_in_use(), list(data)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


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
