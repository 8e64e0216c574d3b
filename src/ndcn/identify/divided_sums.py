"""Couplings that are averages: where plain sums over neighbours do not explain the data, sums divided by degrees or weights may."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from ..laws import Equation, Formula, Network, divided
from .clock import time_is_over
from .equation_fit import FittedEquation
from .observations import Observations
from .residual_noise import residuals_are_noise
from .search import LARGE, Search
from .trajectory_fit import TrajectoryFit, fit_trajectories
from .trajectory_search import closed_form_along
from .trajectory_stages import score
from .variants import without_terms

# A divisor is looked into if the nearest of its first formulas misses less than this share of what the nearest of plain sums misses. The true
# formula need not be among the first, but its divisor brings others nearer too: 0.07 against 0.25 for a Hill coupling over the in-degree, where the
# root of both degrees, which is wrong, has 0.20.
NEARER = 0.7
FIRST_FORMULAS = 6
DIFFERENCE_ITERATIONS = 10  # from values that are nearly exact

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
            return by, other, _with_differences(found)
    return None


def _with_differences(found: TrajectoryFit) -> TrajectoryFit:
    """With x_j - x_i in the place of x and x_j, where BIC prefers that: over the in-degree the sum of x_i is x_i itself, so that both say the same."""
    model = found.model
    assert isinstance(model, Equation)
    texts = [(term.formula.text, term.coupling, term.output) for term in model.terms]
    for k, term in enumerate(model.terms):
        if not term.coupling or term.formula.text not in (f"{name}_j" for name in term.formula.features):
            continue
        name = term.formula.text[:-2]
        if (name, False, term.output) not in texts:
            continue
        apart = replace(term, formula=Formula(f"{name}_j - {name}_i", term.formula.features))
        one = replace(model, terms=(*model.terms[:k], apart, *model.terms[k + 1 :]))
        equation = without_terms(one, [texts.index((name, False, term.output))])
        trial = fit_trajectories(equation, found.problems, iterations=DIFFERENCE_ITERATIONS)
        if trial is not None and score(trial) < score(found):
            return _with_differences(trial)
    return found
