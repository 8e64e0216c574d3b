"""Couplings that are averages: where plain sums over neighbours do not explain the data, sums divided by degrees or weights may."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from ..laws import Network, divided
from .clock import time_is_over
from .equation_fit import FittedEquation
from .observations import Observations
from .residual_noise import residuals_are_noise
from .search import LARGE, Search
from .trajectory_fit import TrajectoryFit
from .trajectory_search import closed_form_along

# A divisor is looked into if the nearest of its first formulas misses less than this share of what the nearest of plain sums misses. The true
# formula need not be among the first, but its divisor brings others nearer too: 0.07 against 0.25 for a Hill coupling over the in-degree, where the
# root of both degrees, which is wrong, has 0.20.
NEARER = 0.7
FIRST_FORMULAS = 6

MakeSearch = Callable[[Sequence[Observations]], Search]


def ways(data: Sequence[Observations]) -> Iterator[tuple[str, list[Observations]]]:
    """Each divisor, and the data on a network whose weights are divided by it; equal ones once, none where all nodes have one degree or are many."""
    matrix = data[0].network.graph.to_scipy()
    weighted = len(matrix.data) > 0 and np.ptp(matrix.data) > 0
    counts = np.diff(matrix.indptr)
    if len(counts) > LARGE or (not weighted and np.ptp(counts) == 0):
        return
    for by in ("in-degree", "degrees", *(["weights"] if weighted else [])):
        yield by, [replace(one, network=Network(divided(one.network.graph, by))) for one in data]


def divided_snapshots(
    data: Sequence[Observations], make: MakeSearch
) -> tuple[str, Sequence[Observations], FittedEquation] | None:
    """The divisor with which a formula explains observations without noise, the data with it, and the formula."""
    limit: float | None = None
    for by, other in ways(data):
        if time_is_over():
            return None
        limit = NEARER * make(data).nearest(FIRST_FORMULAS) if limit is None else limit
        search = make(other)
        if search.nearest(FIRST_FORMULAS) < limit:
            found = search.run()
            if found is not None and found.explains():
                return by, other, found
    return None


def divided_along(
    data: Sequence[Observations], make: MakeSearch, closed: TrajectoryFit | None, tolerance: torch.Tensor
) -> tuple[str, Sequence[Observations], TrajectoryFit] | None:
    """The same for noisy observations."""
    for by, other in ways(data):
        if time_is_over():
            return None
        found = closed_form_along(make(other), other, tolerance)
        if found is not None and residuals_are_noise(found) and (closed is None or found.excess < closed.excess):
            return by, other, found
    return None
