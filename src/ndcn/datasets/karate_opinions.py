"""Opinions in Zachary's karate club."""

from __future__ import annotations

import numpy as np
import torch

from ..classify import karate_club
from ..data import Trajectory, sampling
from ..laws import Consensus, simulate

STRENGTH, SATURATION = 1.0, 2.0
LAST_TIME, SNAPSHOTS = 2.0, 60


def opinions(*, seed: int = 0, noise: float = 0.0, missing: float = 0.0) -> Trajectory:
    """60 polls of the 34 members of Zachary's karate club at irregular times; simulated.

    The network is real: who was friends with whom (W. W. Zachary, J. Anthropol. Res. 33, 1977), as networkx has it. Opinions
    start at random between -1 and 1 and follow ``laws.Consensus(k=1, s=2)``, dx_i/dt = sum_j A_ij tanh(2 (x_j - x_i)): Abelson's
    model of 1964 with an influence that saturates.

    Args:
        seed: of the first opinions, the times, the errors and the gaps.
        noise: standard deviation of the error of each answer.
        missing: share of the answers that are missing, from 0 to below 1.

    Raises:
        ValueError: ``noise`` is negative, or ``missing`` is not in [0, 1).

    Example:
        >>> import ndcn
        >>> ndcn.datasets.opinions()
        Trajectory(60 snapshots of 34 nodes, 1 feature, t = 0 .. 1.99)
        >>> ndcn.datasets.opinions(noise=0.01, missing=0.1).mask.double().mean() < 0.95
        tensor(True)
    """
    if not 0 <= noise < np.inf or not 0 <= missing < 1:
        raise ValueError(f"noise must be at least 0 and missing in [0, 1), got noise={noise}, missing={missing}")
    graph = karate_club().graph
    rng = np.random.default_rng(seed)
    x0 = torch.from_numpy(rng.uniform(-1, 1, (graph.num_nodes, 1)))
    times = sampling.irregular_times(LAST_TIME, SNAPSHOTS, seed=seed)
    exact = simulate(Consensus(STRENGTH, SATURATION), graph, x0, times).states.numpy()
    answers = exact + noise * rng.normal(size=exact.shape)
    asked = rng.random(exact.shape) >= missing
    return Trajectory(times=times, states=answers, graph=graph, mask=asked)
