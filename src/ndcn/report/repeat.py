"""What is needed to repeat a model: settings, seed, versions, fingerprints, and the commands."""

from __future__ import annotations

import platform
import shlex
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .. import __version__
from ..networks import grid
from ..sampling import split
from ..settings import dtype_name, dtype_named
from ..trajectory import Trajectory
from .frames import Frames

if TYPE_CHECKING:
    from ..estimators import DynamicsRegressor

OPTIONS = (  # settings that `ndcn fit` has options for, besides model and seed
    "preset", "hidden", "operator", "activation", "objective", "epochs", "learning_rate", "weight_decay", "clip_norm",
    "validation", "patience", "ensemble", "device", "dtype",
)  # fmt: skip
SEEDS = 100  # of splits that are tried
TAIL = 4  # numbers of snapshots held back at the end that are tried


def repetition(estimator: DynamicsRegressor, frames: Frames, model_name: str, data_name: str | None) -> dict[str, Any]:
    """Settings, versions, fingerprints and commands, all as text."""
    settings = _settings(estimator)
    default = _settings(type(estimator)())
    truth = None if frames.measured is None else frames.measured[0]
    prints = {"graph": estimator.train_[0].graph.fingerprint}
    if truth is not None:
        prints["data"] = truth.fingerprint
    import scipy

    report = ["ndcn", "report", model_name, *([] if data_name is None else [data_name]), "--out", "report.html"]
    return {
        "settings": {k: {"value": _text(v), "default": v == default[k]} for k, v in settings.items()},
        "versions": {
            "ndcn": __version__,
            "Python": platform.python_version(),
            "torch": torch.__version__,
            "NumPy": np.__version__,
            "SciPy": scipy.__version__,
        },
        "fingerprints": prints,
        "commands": [*_fit(estimator, settings, default, truth, model_name, data_name), shlex.join(report)],
        "training_times": len(estimator.train_[0].times),
        "trajectories": len(estimator.train_),
    }


def _settings(estimator: DynamicsRegressor) -> dict[str, Any]:
    found = estimator.get_params(deep=False)
    for name in ("checkpoint", "progress", "jobs"):  # of no effect on the result
        del found[name]
    found["dtype"], found["device"] = dtype_name(dtype_named(found["dtype"])), str(found["device"])
    return found


def _text(value: Any) -> str:
    text = "default" if value is None else value if isinstance(value, str) else repr(value)
    return text if len(text) <= 200 else f"{text[:200]} ..."


def _fit(
    estimator: DynamicsRegressor,
    settings: dict[str, Any],
    default: dict[str, Any],
    truth: Trajectory | None,
    model_name: str,
    data_name: str | None,
) -> list[str]:
    """`ndcn fit` as it was, or nothing where the command line cannot say it."""
    unsaid = [k for k, v in settings.items() if v != default[k] and k not in (*OPTIONS, "model", "seed")]
    if unsaid or not isinstance(estimator.model, str) or not isinstance(estimator.objective, str):
        return []
    parts = None if truth is None else _split(estimator, truth)
    if parts is None or len(estimator.train_) > 1:
        return []
    words = ["ndcn", "fit", data_name or "DATA", "--model", estimator.model]
    for name in OPTIONS:
        if settings[name] != default[name]:
            words += [f"--{name.replace('_', '-')}", str(settings[name])]
    words += ["--seed", str(estimator.seed), *parts, "--out", model_name]
    return [shlex.join(words)]


def _split(estimator: DynamicsRegressor, truth: Trajectory) -> list[str] | None:
    """Options of the split that gives the training times, found by trying seeds; None if none of them does.

    The snapshots just before those held back at the end may have been drawn for interpolation, so that it is not known
    how many were held back there: the default is tried first.
    """
    start, total = estimator.train_[0], len(truth)
    if (truth.times.diff() <= 0).any():
        return None
    clock = Trajectory(times=truth.times, states=torch.zeros(total, 1, 1), graph=grid(1))
    usual, most = round(total / 6), int((truth.times > start.times[-1]).sum())
    for after in dict.fromkeys([usual, *range(most, max(-1, most - TAIL), -1)]):
        inside = total - after - len(start.times)
        if after > most or inside < 0 or len(start.times) < 2:
            continue
        for seed in range(SEEDS if inside else 1):
            found = split(clock, interpolation=inside / total, extrapolation=after / total, seed=seed).train.times
            if len(found) == len(start.times) and torch.allclose(found, start.times, rtol=0, atol=start.tolerance):
                words = [] if inside == usual else ["--interpolation", f"{inside / total:.6g}"]
                words += [] if after == usual else ["--extrapolation", f"{after / total:.6g}"]
                return words + (["--split-seed", str(seed)] if seed else [])
    return None
