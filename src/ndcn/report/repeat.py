"""What is needed to repeat a model: settings, seed, versions, fingerprints, and the commands."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
import torch

from .._support.checks import dtype_name, dtype_named
from .._support.version import __version__
from ..data import Trajectory, split
from ..forecast import NAMES
from ..graph import networks
from ..regressor import auto_of
from .frames import Frames

if TYPE_CHECKING:
    from ..regressor import DynamicsRegressor

OPTIONS = (  # settings that `ndcn fit` has options for, besides model and seed
    "preset", "hidden", "operator", "activation", "objective", "epochs", "learning_rate", "weight_decay", "clip_norm",
    "validation", "patience", "ensemble", "device", "dtype",
)  # fmt: skip
SEEDS = 100  # of splits that are tried
TAIL = 4  # numbers of snapshots held back at the end that are tried


def repetition(
    estimator: DynamicsRegressor,
    frames: Frames,
    model_name: str,
    data_words: Sequence[str] | None,
    *,
    two_files: bool,
) -> dict[str, Any]:
    """Settings, versions, fingerprints and commands, all as text; what the commands call the data stands for them."""
    settings = _settings(estimator)
    default = _settings(type(estimator)())
    truth, note = frames.known, None
    if data_words is None and truth is not None:
        data_words, note = _placeholders(two_files)
    words = list(data_words or ())
    prints = {"graph": estimator.train_[0].graph.fingerprint}
    if truth is not None:
        prints["data"] = truth.fingerprint
    report = ["ndcn", "report", model_name, *words, "--out", "report.html"]
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
        "commands": [*_fit(estimator, settings, default, truth, model_name, words), shlex.join(report)],
        "note": note,
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
    data_words: list[str],
) -> list[str]:
    """`ndcn fit` as it was, or nothing where the command line cannot say it."""
    unsaid = [k for k, v in settings.items() if v != default[k] and k not in (*OPTIONS, "model", "seed")]
    if unsaid or truth is None or not isinstance(estimator.objective, str):
        return []
    model = "auto" if hasattr(estimator, "forecast_") else estimator.model
    if not isinstance(model, str) or len(estimator.train_) > 1:
        return []
    parts = _of_forecast(estimator, truth) if model == "auto" else _split(estimator, truth)
    if parts is None:
        return []
    words = ["ndcn", "fit", *data_words, "--model", model]
    for name in OPTIONS:
        if settings[name] != default[name]:
            words += [f"--{name.replace('_', '-')}", str(settings[name])]
    words += ["--seed", str(estimator.seed), *parts, "--out", model_name]
    return [shlex.join(words)]


def _placeholders(two_files: bool) -> tuple[list[str], str]:
    """Words for data whose files are not known, and what they stand for."""
    if two_files:
        return ["EDGES", "STATES"], "EDGES and STATES stand for the two files that the data were read from."
    return ["DATA"], "DATA stands for the folder that the data were saved in, with Trajectory.save."


def _of_forecast(estimator: DynamicsRegressor, truth: Trajectory) -> list[str] | None:
    """Options of a forecast that was made from all of these data; None if it was made from less."""
    what = auto_of(estimator.model)
    if what is None or tuple(what.learned) not in ((), NAMES) or len(truth) != len(estimator.train_[0].times):
        return None
    words = [] if what.horizon is None else ["--horizon", str(what.horizon)]
    return words + (["--compare-learned"] if what.learned else [])


def _split(estimator: DynamicsRegressor, truth: Trajectory) -> list[str] | None:
    """Options of the split that gives the training times, found by trying seeds; None if none of them does.

    The snapshots just before those held back at the end may have been drawn for interpolation, so that it is not known
    how many were held back there: the default is tried first.
    """
    start, total = estimator.train_[0], len(truth)
    if (truth.times.diff() <= 0).any():
        return None
    clock = Trajectory(times=truth.times, states=torch.zeros(total, 1, 1), graph=networks.grid(1))
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
