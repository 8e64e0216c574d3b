"""What has to be right before training starts: data, model, names; and what a run is known by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from .field import check_field
from .kernels import euler_compiled
from .models import GraphODE
from .objective import CrossEntropy, Objective
from .training import Problem
from .trajectory import Trajectory


def checked_data(data: Trajectory | Sequence[Trajectory]) -> list[Trajectory]:
    """The trajectories to learn from, or an error that says why they cannot be learned from."""
    trajectories = [data] if isinstance(data, Trajectory) else list(data)
    if not trajectories or not all(isinstance(t, Trajectory) for t in trajectories):
        raise TypeError(
            "fit needs an ndcn.Trajectory, or a list of them; Trajectory(times=..., states=..., graph=...) makes one"
        )
    for trajectory in trajectories:
        if trajectory.mask is not None and not trajectory.mask.any():
            raise ValueError("the mask marks every entry as missing: there is nothing to learn from")
        if len(trajectory) < 2:
            raise ValueError("one snapshot does not show any dynamics: at least two are needed to learn from")
        if not (trajectory.times.diff() > 0).all():
            raise ValueError("the times of the training data must be in increasing order, each once")
    if len({t.num_features for t in trajectories}) > 1:
        raise ValueError(
            f"the trajectories have different numbers of features: {[t.num_features for t in trajectories]}"
        )
    return trajectories


def check_model(model: nn.Module, problem: Problem) -> None:
    """Call the model once and explain what is wrong with its answer, if anything is."""
    x0, expected = problem.x0, tuple(problem.target.states.shape)
    try:
        with torch.no_grad():
            if isinstance(model, GraphODE):
                check_field(model.field, problem.graph, model.encoder(x0), problem.t0)
                part, shape, expected = "decoder", tuple(model.decoder(model.encoder(x0)).shape), expected[1:]
            else:
                part, shape = "model", tuple(model(x0, problem.times, problem.graph, problem.t0).shape)
    except RuntimeError as error:  # torch's, of matrices that do not fit
        raise ValueError(f"the model does not fit states of shape {tuple(x0.shape)}: {error}") from error
    if shape != expected:
        raise ValueError(f"the {part} returns shape {shape} where the data have {expected}")


def hold_out(trajectories: Sequence[Trajectory], share: float, seed: int) -> tuple[list[Trajectory], list[Trajectory]]:
    """Snapshots to learn from, and a random share of each trajectory (never its first) to validate on."""
    if share == 0:
        return list(trajectories), []
    generator = np.random.default_rng(seed)
    learn, held = [], []
    for trajectory in trajectories:
        count = max(1, round(share * len(trajectory)))
        if len(trajectory) - count < 2:
            raise ValueError(f"{len(trajectory)} snapshots are too few to hold out {count} and learn from the rest")
        drawn = np.sort(1 + generator.choice(len(trajectory) - 1, size=count, replace=False))
        learn.append(trajectory[np.setdiff1d(np.arange(len(trajectory)), drawn)])
        held.append(trajectory[drawn])
    return learn, held


def fingerprint(settings: dict[str, Any], model: nn.Module, trajectories: Sequence[Trajectory]) -> str:
    """A hash of all that decides the result of a fit: settings, first weights, kernel and data."""
    texts = {name: _text(value) for name, value in settings.items()}
    weights = {name: _text(value) for name, value in model.state_dict().items()}
    kernel = "torch" if euler_compiled.library() is None else "compiled"  # their last bits differ
    text = json.dumps([texts, weights, kernel, [t.fingerprint for t in trajectories]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _text(value: Any) -> str:
    """A value as text that is the same in another process; tensors and large objects by their hash."""
    if isinstance(value, torch.Tensor):
        data = value.detach().cpu().contiguous()
        return f"{data.dtype} {tuple(data.shape)} {hashlib.sha256(data.numpy().tobytes()).hexdigest()}"
    if isinstance(value, Objective):
        return f"{value.running} {_text(value.terminal)} {value.terminal_weight} {value.time_weights}"
    if isinstance(value, CrossEntropy):
        return f"CrossEntropy {_text(value.labels)} {_text(value.mask)}"
    if isinstance(value, nn.Module) or (callable(value) and not hasattr(value, "__qualname__")):
        return type(value).__qualname__  # a module's weights are counted among the first weights
    if callable(value):
        return f"{value.__module__}.{value.__qualname__}"
    return repr(value)


def named(known: dict[str, Any], kind: str, name: str) -> Any:
    """What goes by a name, or an error that lists the names."""
    if name not in known:
        raise ValueError(f"unknown {kind} {name!r}; known are {', '.join(known)}")
    return known[name]


def device_named(name: str) -> torch.device:
    """A device on which this torch can compute, by name."""
    try:
        device = torch.device(name)
        torch.empty(1, device=device).add_(1).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ValueError(f"cannot compute on device {name!r}: {reason}; try cpu") from None
    return device


def dtype_named(name: str) -> torch.dtype:
    """float32 or float64, by name."""
    if name not in ("float32", "float64"):
        raise ValueError(f'dtype must be "float32" or "float64", got {name!r}')
    kind: torch.dtype = getattr(torch, name)
    return kind
