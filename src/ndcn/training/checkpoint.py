"""Checkpoints: all that training needs to go on exactly where it stopped, in one safetensors file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from .._support.files import write

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
            tensors[f"{name}.{k}"] = value.contiguous()
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
    write(path, lambda new: save_file(tensors, new, metadata={"ndcn": json.dumps(about)}))


def load_checkpoint(path: Path, fingerprint: str, run: Run) -> None:
    """Put a run where the checkpoint left it.

    Raises:
        ValueError: the file is not a checkpoint, or belongs to other data or settings.
    """
    try:
        with safe_open(path, "pt") as file:
            about = json.loads((file.metadata() or {}).get("ndcn", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # it is no dict
    except (SafetensorError, OSError, ValueError) as error:
        raise ValueError(f"{path} is not a checkpoint that can be read: {error}; remove it to start anew") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT or about.get("version") not in READ:
        raise ValueError(f"{path} is not a checkpoint of this version of ndcn; remove it to start anew")
    if about.get("fingerprint") != fingerprint:
        raise ValueError(
            f"{path} belongs to other data or settings, or to another kernel; remove it to start anew, or fit without resume"
        )
    try:
        _put(about, tensors, run)
    except (KeyError, RuntimeError, TypeError) as error:
        raise ValueError(f"{path} does not fit the model: {error}; remove it to start anew") from error


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
        for k, value in enumerate(run.tensors):
            value.copy_(tensors[f"weight.{k}"])
            run.good[k].copy_(tensors[f"good.{k}"])
            run.best[k].copy_(tensors[f"best.{k}"])
    fused = run.optimizer.defaults["fused"]
    for k, p in enumerate(run.parameters):
        if f"step.{k}" in tensors:
            state = {name: tensors[f"{name}.{k}"].to(p.device) for name in ("exp_avg", "exp_avg_sq")}
            step = tensors[f"step.{k}"]
            run.optimizer.state[p] = {
                "step": step.to(p.device) if fused else step,
                **state,
            }  # else Adam wants it on the CPU
    for k, generator in enumerate(run.generators):
        generator.set_state(tensors[f"generator.{k}"])
