"""Carry out one run: simulate, split, learn, predict, measure."""

from __future__ import annotations

import platform
import time
import zlib
from functools import lru_cache
from typing import Any

import numpy as np
import torch

import ndcn

from .._support.threads import one_thread
from ..data import Split, Trajectory
from ..graph import Graph
from ..solve import kernel_in_use
from .result import Result


@one_thread()
def run_dynamics(settings: dict[str, Any], keep_states: bool = False) -> Result:
    """Train one model of a table and measure its errors after the last epoch.

    The prediction is asked for at all times of the data at once, as the published code does: the answer of its recipe
    depends on that. ``settings`` are those of a ``spec.Run``.
    """
    parts, data = truth(settings)
    estimator = ndcn.DynamicsRegressor(**settings["model"], seed=settings["seed"], progress=False)
    began = time.monotonic()
    estimator.fit(parts.train)
    seconds = time.monotonic() - began
    if estimator.history_.stopped == "interrupted":
        raise KeyboardInterrupt
    prediction = estimator.predict(data.times)
    if not bool(prediction.states.isfinite().all()):
        raise ArithmeticError("the prediction is not finite")
    scores = {}
    for name, part in parts._asdict().items():
        if part is not None:
            rows = torch.searchsorted(data.times, part.times)
            scores[name] = {
                "l1": ndcn.metrics.l1(prediction[rows], part),
                "normalized_l1": ndcn.metrics.normalized_l1(prediction[rows], part),
            }
    return Result(
        scores=scores,
        per_time={
            "times": data.times.tolist(),
            "l1": ndcn.metrics.per_time(prediction, data).tolist(),
            "truth": data.states.abs().mean(dim=(1, 2)).tolist(),
        },
        parameters=sum(p.numel() for p in estimator.model_.parameters()),
        seconds=seconds,
        versions=versions(),
        states=pack(prediction.states) if keep_states else None,
    )


def versions() -> dict[str, str]:
    """What computes here."""
    return {
        "ndcn": ndcn.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "kernel": kernel_in_use(),
    }


def truth(settings: dict[str, Any]) -> tuple[Split, Trajectory]:
    """The simulated data of a run, split and whole."""
    law, network, data, seed = (settings[name] for name in ("law", "network", "data", "seed"))
    graph = _network(network["name"], network["nodes"], network["seed"])
    if data["sampling"] == "irregular":
        times = ndcn.sampling.irregular_times(data["T"], data["snapshots"], ticks=data["ticks"], seed=seed)
    else:
        times = ndcn.sampling.regular_times(data["T"], data["snapshots"])
    rule = ndcn.laws.NAMED[law["name"]](**law["parameters"])
    whole = ndcn.simulate(rule, graph, ndcn.laws.initial_state(graph), times)
    held_back = {part: data[part] / data["snapshots"] for part in ("interpolation", "extrapolation")}
    return ndcn.split(whole, **held_back, seed=seed), whole


@lru_cache(maxsize=16)
def _network(name: str, nodes: int, seed: int) -> Graph:
    make = ndcn.networks.NAMED[name]
    return make(nodes) if name == "grid" else make(nodes, seed=seed)


def pack(states: torch.Tensor) -> bytes:
    """States as compressed float32 in the order of the tensor."""
    return zlib.compress(states.float().numpy().tobytes())


def unpack(packed: bytes, like: Trajectory) -> Trajectory:
    """Packed predictions at the times of ``like``, on its graph."""
    values = np.frombuffer(zlib.decompress(packed), dtype=np.float32).reshape(like.states.shape)
    return like.replaced(states=torch.from_numpy(values.copy()), mask=None)
