"""A driver that acts on all nodes alike: it must not be taken for links between them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from .increments import Grams, Increments
from .null import null_evidence

ALTERNATIONS = (
    30  # between the driver and the nodes' own terms, each of which takes part of the other for its own at first
)


@dataclass(frozen=True)
class Driver:
    """Whitened columns in common, (N, r), the log evidence of all rows with it and without links, and what they leave open, (N, n)."""

    column: torch.Tensor
    evidence: float
    rest: torch.Tensor


def common_driver(increments: Increments, count: int = 1) -> Driver | None:
    """What all nodes' own terms leave open together: the first principal component of their residuals, both fitted in turn.

    Every node follows it with a coefficient of its own. Its N values are parameters, each at the price of BIC with one observation for each
    node. None where fewer than five nodes are there to show it.

    Args:
        increments: of all nodes.
        count: how many principal components. Links beside a driver are judged with some more, for what is estimated of it has
            errors that all nodes share, and the states of others would explain them.
    """
    n = increments.paths.nodes
    if n < 5:
        return None
    Z = _scaled(increments.Z).transpose(0, 1)  # (n, N, q)
    y = increments.y.T.unsqueeze(2)
    q = torch.linalg.qr(Z)[0]
    rest = y - q @ (q.mT @ y)
    column = _first_components(rest, count)
    for _ in range(ALTERNATIONS):
        both = torch.linalg.qr(torch.cat([Z, column.expand(n, -1, -1)], dim=2))
        fitted = torch.linalg.solve_triangular(both[1], both[0].mT @ y, upper=True)
        fitted = torch.where(
            fitted.isfinite().all(1, keepdim=True), fitted, 0.0
        )  # nodes that were never seen have no column
        column = _first_components(y - Z @ fitted[:, :-count], count)
    evidence = null_evidence(_own_grams(increments, column)) - count * price(increments)
    q = torch.linalg.qr(torch.cat([Z, column.expand(n, -1, -1)], dim=2))[0]
    return Driver(column, evidence, (y - q @ (q.mT @ y)).squeeze(2).T.contiguous())


def price(increments: Increments) -> float:
    """Log evidence that the values of one driver cost: half the logarithm of the observations of each, which are the nodes."""
    return 0.5 * increments.count * math.log(increments.paths.nodes)


def _first_components(rest: torch.Tensor, count: int) -> torch.Tensor:
    """The first left singular vectors of what nodes leave open, (n, N, 1) to (N, count), with mean squares of 1."""
    R = rest.squeeze(2).T
    left, _, _ = torch.linalg.svd(R, full_matrices=False)
    return left[:, :count] * math.sqrt(len(R))


def _scaled(Z: torch.Tensor) -> torch.Tensor:
    return Z / Z.square().mean((0, 1)).sqrt().clamp(min=1e-300)


def _own_grams(increments: Increments, column: torch.Tensor) -> Grams:
    """Rows without candidates, and with the driver among each node's own columns."""
    n = increments.paths.nodes
    scale = increments.Z.square().mean((0, 1)).sqrt().clamp(min=1e-300)
    Z = torch.cat([increments.Z / scale, column.unsqueeze(1).expand(-1, n, -1)], dim=2).transpose(0, 1)  # (n, N, q + 1)
    y = increments.y.T.unsqueeze(2)
    none = np.zeros((n, 0), dtype=np.int64)
    yy = increments.y.square().sum(0)
    return Grams(Z.mT @ Z, (Z.mT @ y).squeeze(2), yy, increments.count, np.arange(n), none, (1.0, scale.numpy()))
