"""The square layout: node i at row i // N, column i % N, N = ceil(sqrt(n)); which snapshots and features go on it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from matplotlib.colors import Normalize

from ..data import Trajectory
from ..graph import Graph
from .style import at_time, colour_scale


def squares(states: torch.Tensor) -> np.ndarray:
    """States of one feature, shape (T, n), as pictures of shape (T, N, N); cells without a node are NaN.

    Example:
        >>> import torch
        >>> squares(torch.tensor([[1.0, 2.0, 3.0]]))
        array([[[ 1.,  2.],
                [ 3., nan]]])
    """
    count, n = states.shape
    side = math.isqrt(n - 1) + 1
    cells = np.full((count, side * side), np.nan)
    cells[:, :n] = states.detach().cpu().double().numpy()
    return cells.reshape(count, side, side)


def checked_pair(truth: Trajectory, prediction: Trajectory, feature: int | str, name: str = "prediction") -> int:
    """The position of the feature, once it is clear that both trajectories can be compared.

    Raises:
        TypeError: one of them is no trajectory.
        ValueError: they differ in shape or times, or there is no such feature.
    """
    check_run(truth)
    check_run(prediction)
    span = (truth.times.max() - truth.times.min()).item()
    slack = 1e-6 * span if span > 0 else 1e-12 * abs(truth.times[0].item())
    if prediction.states.shape != truth.states.shape or (prediction.times - truth.times).abs().max().item() > slack:
        raise ValueError(
            f"truth is {truth!r}, {name} is {prediction!r}: they must be at the same times of the same nodes; "
            "predict at the times of the truth"
        )
    return checked_feature(truth, feature)


def check_run(data: Any) -> None:
    """Refuse what is no trajectory.

    Raises:
        TypeError: it is something else; of a Dataset, the message says which part to give.

    Example:
        >>> check_run([1, 2])
        Traceback (most recent call last):
        TypeError: expected an ndcn.Trajectory, got list
    """
    if not isinstance(data, Trajectory):
        hint = ": give one of its runs, as data.runs[0]" if hasattr(data, "runs") else ""
        raise TypeError(f"expected an ndcn.Trajectory, got {type(data).__name__}{hint}")


def checked_feature(data: Trajectory, feature: int | str) -> int:
    """The position of a feature given by name or position, once it is clear that these are states."""
    check_run(data)
    if isinstance(feature, str):
        if feature not in data.features:
            raise ValueError(f"unknown feature {feature!r}; known are {', '.join(data.features)}")
        return data.features.index(feature)
    if not 0 <= feature < data.num_features:
        raise ValueError(f"feature {feature} is not one of 0..{data.num_features - 1} ({', '.join(data.features)})")
    return feature


def checked_nodes(graph: Graph, labels: Sequence[Hashable]) -> list[int]:
    """The positions of nodes given by their labels."""
    places = {node: k for k, node in enumerate(graph.nodes)}
    unknown = [node for node in labels if node not in places]
    if unknown:
        raise ValueError(f"the graph has no node {unknown[0]!r}; its first labels are {list(graph.nodes)[:5]}")
    return [places[node] for node in labels]


def checked_moments(name: str, given: Sequence[float]) -> np.ndarray:
    """Times, or shares of time, as an array."""
    wanted = np.array(given, dtype=float)
    if wanted.ndim != 1 or len(wanted) == 0 or not np.isfinite(wanted).all():
        raise ValueError(f"{name} must be a list of at least one finite number, got {given!r}")
    return wanted


def closest(available: torch.Tensor, wanted: float) -> int:
    """The position of the available time nearest to the wanted one; the first of them if several are.

    Raises:
        ValueError: the wanted time is no finite number.
    """
    if not math.isfinite(wanted):
        raise ValueError(f"a time must be a finite number, got {wanted!r}")
    return int((available - wanted).abs().argmin())


def nearest(available: torch.Tensor, wanted: np.ndarray) -> list[int]:
    """For each wanted time the position of the nearest available one, each position once, in order of time."""
    chosen = {closest(available, float(t)) for t in wanted}
    return sorted(chosen, key=lambda k: float(available[k]))


class Snapshot(NamedTuple):
    """The states of one feature at one time: its name, the time in words, the states (n,), and their colour scale."""

    feature: str
    title: str
    states: np.ndarray
    scale: Normalize

    @property
    def picture(self) -> np.ndarray:
        """The states on the square, shape (N, N)."""
        return squares(torch.from_numpy(self.states)[None])[0]


def snapshot(data: Trajectory, time: float | None, feature: int | str, scale: Normalize | None) -> Snapshot:
    """The snapshot nearest to a time, by default the last; its scale is by default that of all snapshots."""
    place = checked_feature(data, feature)
    shown = closest(data.times, data.times.max().item() if time is None else time)
    every = data.states[..., place].detach().cpu().double().numpy()
    norm = colour_scale(every) if scale is None else scale
    return Snapshot(data.features[place], at_time(data.times[shown].item()), every[shown], norm)
