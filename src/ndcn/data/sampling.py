"""When snapshots are taken, and which of them are learned from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from .dataset import Dataset, one_run
from .trajectory import Trajectory


def regular_times(T: float, count: int = 100) -> torch.Tensor:
    """``count`` equally spaced times from 0 to T, shape (count,), float64.

    Example:
        >>> import ndcn
        >>> ndcn.sampling.regular_times(5.0, count=3)
        tensor([0.0000, 2.5000, 5.0000], dtype=torch.float64)
    """
    _check(T, count)
    return torch.linspace(0, T, count, dtype=torch.float64)


def irregular_times(T: float, count: int = 120, *, ticks: int = 1000, seed: int = 0) -> torch.Tensor:
    """``count`` of ``ticks`` equally spaced times on [0, T], drawn without replacement; the first is set to 0.

    Returns:
        Times in increasing order, shape (count,), float64. The defaults are the paper's.

    Example:
        >>> import ndcn
        >>> times = ndcn.sampling.irregular_times(5.0, seed=0)
        >>> len(times), float(times[0])
        (120, 0.0)
    """
    _check(T, count)
    if count > ticks:
        raise ValueError(f"cannot draw {count} different times from {ticks} ticks; use ticks={10 * count}")
    chosen = np.sort(np.random.default_rng(seed).choice(ticks, size=count, replace=False))
    chosen[0] = 0
    return torch.linspace(0, T, ticks, dtype=torch.float64)[torch.from_numpy(chosen)]


class SplitRule(NamedTuple):
    """How snapshots were held out: shares for interpolation and extrapolation, and the seed; see ``split``."""

    interpolation: float
    extrapolation: float
    seed: int


class Split(NamedTuple):
    """Snapshots to learn from, and those held back inside (interpolation) and after (extrapolation) them.

    A part whose share is 0 is None.
    """

    train: Trajectory
    interpolation: Trajectory | None
    extrapolation: Trajectory | None


def split(
    data: Trajectory | Dataset, *, interpolation: float = 1 / 6, extrapolation: float = 1 / 6, seed: int = 0
) -> Split:
    """Hold back the last snapshots for extrapolation and a random share of the others for interpolation.

    The first snapshot is always trained on. The defaults are the paper's for irregular times: of 120 snapshots, 80
    train, 20 interpolate, 20 extrapolate. For its regular times use ``interpolation=0, extrapolation=0.2``.

    Args:
        data: the trajectory, its times in increasing order; or a ``Dataset`` with one run on one graph.
        interpolation: share of all snapshots, in [0, 1).
        extrapolation: share of all snapshots, in [0, 1).
        seed: which snapshots are drawn for interpolation.

    Raises:
        ValueError: the times are not in increasing order, or fewer than two snapshots would be left to train on; a
            ``Dataset`` with several runs or graphs.

    Example:
        >>> import ndcn
        >>> graph = ndcn.networks.grid(9)
        >>> times = ndcn.sampling.irregular_times(1.0, seed=0)
        >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
        >>> [len(part) for part in ndcn.split(data, seed=0)]
        [80, 20, 20]
    """
    for name, share in (("interpolation", interpolation), ("extrapolation", extrapolation)):
        if not 0 <= share < 1:
            raise ValueError(f"{name} is a share of the snapshots in [0, 1), got {share}")
    if isinstance(data, Dataset) and data.graphs is not None:
        raise ValueError(
            "the graph of these data changes, and a part of a run has one graph: `ndcn fit` splits such data, or read them with "
            "edge_time=False"
        )
    data = one_run(data, "a split")
    if (data.times.diff() <= 0).any():
        raise ValueError(
            "only snapshots in increasing order of time can be split, and these are repeated or in another order; "
            "sort them (data[data.times.argsort()]) and keep one for each time"
        )
    total = len(data)
    after, inside = round(extrapolation * total), round(interpolation * total)
    if total - after - inside < 2:
        raise ValueError(
            f"{total} snapshots leave {max(0, total - after - inside)} to train on after {inside} for interpolation "
            f"and {after} for extrapolation; at least 2 are needed: take more snapshots or smaller shares"
        )
    rest = total - after
    generator = np.random.default_rng([seed, 1])  # not the stream from which ``irregular_times`` draws with this seed
    drawn = np.sort(1 + generator.choice(rest - 1, size=inside, replace=False))
    train = np.setdiff1d(np.arange(rest), drawn)
    learned = data[train]
    learned.split_rule = SplitRule(float(interpolation), float(extrapolation), int(seed))
    return Split(
        train=learned, interpolation=data[drawn] if inside else None, extrapolation=data[rest:] if after else None
    )


def _check(T: float, count: int) -> None:
    if not (np.isfinite(T) and T > 0):
        raise ValueError(f"the last time T must be positive and finite, got {T}")
    if count < 2:
        raise ValueError(f"at least 2 times are needed, got count = {count}")
