"""What is needed to repeat a model: settings, seed, versions, fingerprints, and the commands."""

from __future__ import annotations

import platform
import shlex
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .. import __version__
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
SEEDS = 100  # splits that are tried


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
    """Options of the split that gives the training times, found by trying seeds; None if none of them does."""
    times, total = estimator.train_[0].times, len(truth)
    inside = int((truth.times <= times[-1]).sum())
    shares = {"interpolation": (inside - len(times)) / total, "extrapolation": (total - inside) / total}
    if min(shares.values()) < 0 or (truth.times.diff() <= 0).any():
        return None
    states = torch.zeros(total, 1, 1)
    from ..networks import grid

    clock = Trajectory(times=truth.times, states=states, graph=grid(1))
    for seed in range(SEEDS if shares["interpolation"] else 1):
        found = split(clock, **shares, seed=seed).train.times
        if len(found) == len(times) and torch.allclose(found, times, rtol=1e-9, atol=estimator.train_[0].tolerance):
            words = []
            for name, share in shares.items():
                if round(share * total) != round(total / 6):
                    words += [f"--{name}", f"{share:.6g}"]
            return words + (["--split-seed", str(seed)] if seed else [])
    return None
