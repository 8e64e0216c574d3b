"""What is needed to repeat a model: settings, seed, versions, fingerprints, and the commands."""

from __future__ import annotations

import platform
import shlex
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
import torch

from .._support.checks import dtype_name, dtype_named
from .._support.version import __version__
from ..data import Trajectory, split
from .section import ClassContext, PageContext

if TYPE_CHECKING:
    from ..classify import NodeClassifier
    from ..regressor import DynamicsRegressor

OPTIONS = (  # settings that `ndcn fit` has options for, besides model and seed
    "preset", "hidden", "operator", "activation", "objective", "epochs", "learning_rate", "weight_decay", "clip_norm",
    "validation", "patience", "ensemble", "device", "dtype",
)  # fmt: skip
PLACEHOLDERS = {  # words for data whose files are not known, and what they stand for; True for two files
    True: (["EDGES", "STATES"], "EDGES and STATES stand for the two files that the data were read from."),
    False: (["DATA"], "DATA stands for the folder that the data were saved in, with Trajectory.save."),
}


def repetition(page: PageContext) -> dict[str, Any]:
    """Settings, versions, fingerprints and commands, all as text; what the commands call the data stands for them."""
    estimator, data_words = page.estimator, page.data_words
    settings = _settings(estimator)
    default = _settings(type(estimator)())
    truth = page.frames.known
    note = None
    if data_words is None and truth is not None:
        data_words, note = PLACEHOLDERS[page.shown.two_files]
    words = list(data_words or ())
    prints = {"graph": estimator.train_[0].graph.fingerprint}
    if truth is not None:
        prints["data"] = truth.fingerprint
    report = ["ndcn", "report", page.model_name, *words, "--out", "report.html"]
    return {
        "settings": {k: {"value": _text(v), "default": v == default[k]} for k, v in settings.items()},
        "versions": _versions(),
        "fingerprints": prints,
        "commands": [*_fit(page, settings, default, words), shlex.join(report)],
        "note": note,
        "training_times": len(estimator.train_[0].times),
        "trajectories": len(estimator.train_),
    }


def repetition_of_classifier(page: ClassContext) -> dict[str, Any]:
    """The same of a classifier; the file does not know the files of features and labels that it was trained on."""
    settings, default = _settings(page.classifier), _settings(type(page.classifier)())
    report = ["ndcn", "report", page.model_name, "--out", "report.html"]
    return {
        "settings": {k: {"value": _text(v), "default": v == default[k]} for k, v in settings.items()},
        "versions": _versions(),
        "fingerprints": {"graph": page.classifier.graph_.fingerprint},
        "commands": [shlex.join(report)],
        "note": None,
    }


def _versions() -> dict[str, str]:
    return {
        "ndcn": __version__,
        "Python": platform.python_version(),
        "torch": torch.__version__,
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
    }


def _settings(estimator: DynamicsRegressor | NodeClassifier) -> dict[str, Any]:
    found = estimator.get_params(deep=False)
    for name in ("checkpoint", "progress", "jobs"):  # they do not change the result
        found.pop(name, None)
    found["dtype"], found["device"] = dtype_name(dtype_named(found["dtype"])), str(found["device"])
    return found


def _text(value: Any) -> str:
    text = "default" if value is None else value if isinstance(value, str) else repr(value)
    return text if len(text) <= 200 else f"{text[:200]} ..."


def _fit(page: PageContext, settings: dict[str, Any], default: dict[str, Any], data_words: list[str]) -> list[str]:
    """`ndcn fit` as it was, or nothing where the command line cannot say it."""
    estimator, truth = page.estimator, page.frames.known
    unsaid = [k for k, v in settings.items() if v != default[k] and k not in (*OPTIONS, "model", "seed")]
    if unsaid or truth is None or not isinstance(estimator.objective, str):
        return []
    model, parts = estimator.kind_.words(estimator.model), _split(estimator, truth)
    if model is None or parts is None or len(estimator.train_) > 1:
        return []
    words = ["ndcn", "fit", *data_words, *model[:2]]
    for name in OPTIONS:
        if settings[name] != default[name]:
            words += [f"--{name.replace('_', '-')}", str(settings[name])]
    words += ["--seed", str(estimator.seed), *model[2:], *parts, "--out", page.model_name]
    return [shlex.join(words)]


def _split(estimator: DynamicsRegressor, truth: Trajectory) -> list[str] | None:
    """Options of the split that the model was trained on; None where the file does not hold it, or of other data."""
    rule, seen = estimator.split_, estimator.train_[0].times
    if rule is None:
        nothing = [] if estimator.fitted_.can.judges_itself else ["--interpolation", "0", "--extrapolation", "0"]
        return nothing if len(truth) == len(seen) else None
    if (truth.times.diff() <= 0).any():
        return None
    again = split(truth, **rule._asdict()).train.times
    if len(again) != len(seen) or not torch.allclose(again, seen, rtol=0, atol=estimator.train_[0].tolerance):
        return None
    words = ["--split-seed", str(rule.seed)] if rule.seed else []
    shares = zip(rule._fields[:2], rule[:2], strict=True)
    return [word for name, value in shares if value != 1 / 6 for word in (f"--{name}", f"{value:.6g}")] + words
