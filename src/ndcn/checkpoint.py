"""Checkpoints: all that training needs to go on exactly where it stopped, in one safetensors file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from .files import write

if TYPE_CHECKING:
    from .training import _Run

FORMAT = "ndcn-checkpoint"
VERSION = 1
_ADAM = ("step", "exp_avg", "exp_avg_sq")


def save_checkpoint(path: Path, fingerprint: str, run: _Run) -> None:
    """Write the state of a run in one move."""
    from safetensors.torch import save_file

    tensors = {"loss": torch.tensor(run.history.loss, dtype=torch.float64)}
    tensors["validation"] = torch.tensor(run.history.validation, dtype=torch.float64).reshape(-1, 2)
    for k, p in enumerate(run.parameters):
        tensors[f"weight.{k}"] = p.detach().contiguous()
        tensors[f"good.{k}"], tensors[f"best.{k}"] = run.good[k].contiguous(), run.best[k].contiguous()
        for name in _ADAM:
            tensors[f"{name}.{k}"] = run.optimizer.state[p][name].contiguous()
    about = {
        "format": FORMAT,
        "version": VERSION,
        "fingerprint": fingerprint,
        "best_loss": run.best_loss,
        "best_epoch": run.best_epoch,
        "seconds": run.history.seconds,
    }
    write(path, lambda new: save_file(tensors, new, metadata={"ndcn": json.dumps(about)}))


def load_checkpoint(path: Path, fingerprint: str, run: _Run) -> None:
    """Put a run where the checkpoint left it.

    Raises:
        ValueError: the file is not a checkpoint, or belongs to other data or settings.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            about = json.loads((file.metadata() or {}).get("ndcn", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError) as error:
        raise ValueError(f"{path} is not a checkpoint that can be read: {error}; remove it to start anew") from error
    if about.get("format") != FORMAT or about.get("version") != VERSION:
        raise ValueError(f"{path} is not a checkpoint of this version of ndcn; remove it to start anew")
    if about["fingerprint"] != fingerprint:
        raise ValueError(f"{path} belongs to other data or settings; remove it to start anew, or fit without resume")
    history = run.history
    history.loss = tensors["loss"].tolist()
    history.validation = [(int(epoch), value) for epoch, value in tensors["validation"].tolist()]
    history.seconds = about["seconds"]
    run.best_loss, run.best_epoch = about["best_loss"], about["best_epoch"]
    with torch.no_grad():
        for k, p in enumerate(run.parameters):
            p.copy_(tensors[f"weight.{k}"])
            run.good[k].copy_(tensors[f"good.{k}"])
            run.best[k].copy_(tensors[f"best.{k}"])
            run.optimizer.state[p] = {
                name: tensors[f"{name}.{k}"].to("cpu" if name == "step" and p.device.type == "cpu" else p.device)
                for name in _ADAM
            }
