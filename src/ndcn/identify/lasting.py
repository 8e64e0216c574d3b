"""What a law misses lasts, and neighbours share it; noise does neither. Tests of residuals, of laws of alike and of differing nodes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

import numpy as np
import torch
from scipy import sparse

from .decimals import ROUNDING_ERROR, decimal_step
from .trajectory_problem import TrajectoryProblem

logger = logging.getLogger(__name__)

Followed = tuple[
    TrajectoryProblem, torch.Tensor | None
]  # a trajectory, and the states of a law along it; None: it explodes

# Snapshots over which residuals are compared: what a law misses lasts for a few, or for a part of the trajectory.
STRETCHES = (2, 5, 15)
# Standard errors by which products of residuals exceed 0. Each of eight tests of noise goes as far once in 30 000 times.
DOUBTED_Z = 4.0
# Correlation of residuals at two snapshots in a row, less its standard error, that noise does not have: where there are few of them.
AUTOCORRELATED = 0.2
CLIPPED_AT = 3.0  # median residuals, beyond which they count as if they were there, lest a few outliers decide
# Of the noise: rounding beyond it is most of what is left, and lasts where a state is at rest.
MOSTLY_ROUNDING = 0.5


def lasts(followed: Iterable[Followed]) -> bool:
    """Whether residuals have something in common that noise does not have: in time, among all nodes, or along links."""
    every = list(followed)
    if any(states is None for _, states in every):
        return True
    if all(_rounded(problem) for problem, _ in every):
        return False
    parts = [r for one in every for r in _residuals(*one)]
    z = {name: _z(parts, name) for name in ("time", "nodes", "links")}
    logger.debug("residuals in common: %s, autocorrelation %.3f", z, autocorrelation(every))
    return max(z.values()) > DOUBTED_Z or autocorrelation(every) > AUTOCORRELATED


def autocorrelation(followed: Iterable[Followed]) -> float:
    """Of residuals with the one before at the same node, less its standard error; the largest of all features.

    Infinite if a path explodes, 0 if no node was seen twice.
    """
    sums: dict[int, np.ndarray] = {}
    for problem, states in followed:
        if states is None:
            return float("inf")
        for a, (r, _) in enumerate(_residuals(problem, states)):
            seen = problem.data.seen[1:, :, a].numpy()
            node = seen.T.nonzero()[0]
            own = r.T[seen.T]
            pairs = (own[1:] * own[:-1])[node[1:] == node[:-1]]
            size = float(np.square(own).mean()) if len(own) else 0.0
            sums[a] = sums.get(a, np.zeros(3)) + np.array([pairs.sum(), size * len(pairs), len(pairs)])
    return max((p / s - c**-0.5 for p, s, c in sums.values() if s > 0), default=0.0)


Residuals = tuple[np.ndarray, sparse.csr_array]  # of one feature, (T, n), 0 where there are none; and the links


def _residuals(problem: TrajectoryProblem, states: torch.Tensor | None) -> Iterator[Residuals]:
    """Of each feature, in units of the typical one, of all snapshots but the first, which the initial state may follow."""
    assert states is not None
    one = problem.data
    rest = torch.where(one.seen, (one.states - states) / problem.sigma(states), torch.nan)[1:]
    links = sparse.csr_array(one.network.graph.to_scipy() != 0).astype(float)
    for r in rest.unbind(-1):
        size = r.abs().nanmedian().nan_to_num(1.0).clamp(min=1e-300)
        yield (r / size).clamp(-CLIPPED_AT, CLIPPED_AT).nan_to_num(0.0).numpy(), links


def _z(parts: Iterable[Residuals], how: str) -> float:
    """Products of residuals that noise makes 0 on average, in units of their standard error; the largest of several kinds.

    A residual times a sum of others is 0 on average whatever the sizes of both are, and all such products are uncorrelated.
    """
    found: dict[int, np.ndarray] = {}
    for r, links in parts:
        others = r if how != "links" else r @ links.T
        if how == "nodes":
            kinds = {0: r[:, 1:] * np.cumsum(r, 1)[:, :-1]}
        else:
            sums = np.vstack([np.zeros((1, r.shape[1])), np.cumsum(others, 0)])
            kinds = {k: r * (sums[:-1] - sums[np.maximum(np.arange(len(r)) - k, 0)]) for k in STRETCHES}
            if how == "links":
                kinds[0] = r * (r @ sparse.triu(links, 1).T)
        for k, products in kinds.items():
            found[k] = found.get(k, np.zeros(2)) + np.array([products.sum(), np.square(products).sum()])
    return max((float(total / size**0.5) for total, size in found.values() if size > 0), default=0.0)


def _rounded(problem: TrajectoryProblem) -> bool:
    one = problem.data
    written = ROUNDING_ERROR * decimal_step(one.states, one.seen)
    return bool((written > MOSTLY_ROUNDING * one.measured.at(one.level).median(0).values.median(0).values).any())
