"""Couplings that are no plain sum of one function: two of them, sums that are divided, functions of sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from ..laws import ClosedForm
from .clock import time_is_over
from .divided_sums import MakeSearch, divided_along, divided_snapshots, ways
from .equation_fit import FittedEquation
from .observations import Observations
from .pair_search import PairSearch
from .residual_noise import residuals_are_noise
from .result import FoundLaw
from .search import LARGE, Search
from .sum_search import SumSearch
from .trajectory_fit import TrajectoryFit
from .trajectory_search import NOTHING_LEFT_EXCESS, closed_form_along
from .trajectory_stages import score

WORDS = {"in-degree": "the in-degree", "weights": "the sum of weights", "degrees": "the root of both in-degrees"}
DIVIDED_INSIDE = ("in-degree",)  # what sums inside functions may be divided by: a function of an average
# Residuals that look like noise are taken for it up to so many times the expected: a law whose own error is 3/4 of the noise has
# sqrt(1 + 0.75^2), and such an error lasts, or neighbours share it. A smooth path through gaps makes noise look 6 % smaller.
TAKEN_FOR_NOISE = 1.25
FAR_BETTER = 10.0  # of BIC, very strong evidence (Kass and Raftery 1995), as where nodes differ


@dataclass(frozen=True)
class CouplingForm:
    """What is unusual about a coupling: what its sums are divided by, and in words."""

    divided_by: str | None
    words: str


def other_in_snapshots(
    data: Sequence[Observations], make: MakeSearch
) -> tuple[CouplingForm, Sequence[Observations], FittedEquation] | None:
    """The form of the coupling with which a formula explains observations without noise, the data with it, and the formula."""
    if data[0].level.shape[1] > LARGE or time_is_over():
        return None
    found = PairSearch(data, make(data).terms).run()
    if found is not None and found.explains():
        return CouplingForm(None, "two couplings are needed"), data, found
    if (other := divided_snapshots(data, make)) is not None:
        return _divided(other[0]), other[1], other[2]
    for form, some, search in _functions_of_sums(data, make):
        found = None if time_is_over() else search.run()
        if found is not None and found.explains():
            return form, some, found
    return None


def other_along(
    data: Sequence[Observations], make: MakeSearch, closed: TrajectoryFit | None, tolerance: torch.Tensor
) -> tuple[CouplingForm, Sequence[Observations], TrajectoryFit] | None:
    """The same for noisy observations: the first form that leaves nothing but noise.

    Beside a formula that leaves residuals like noise, but far larger ones than expected, it must leave no more than expected, and BIC
    must prefer it by far.
    """
    if data[0].level.shape[1] > LARGE or time_is_over():
        return None
    poor = closed is None or not residuals_are_noise(closed)
    if closed is not None and not poor and closed.excess < TAKEN_FOR_NOISE:
        return None
    if poor and (other := divided_along(data, make, closed, tolerance)) is not None:
        return _divided(other[0]), other[1], other[2]
    pairs = CouplingForm(None, "two couplings are needed"), data, PairSearch(data, make(data).terms)
    for form, some, search in (pairs, *_functions_of_sums(data, make)):
        found = None if time_is_over() else closed_form_along(search, some, tolerance)
        if found is None:
            continue
        if poor or closed is None:
            better = residuals_are_noise(found) and (closed is None or found.excess < closed.excess)
        else:
            better = found.excess < NOTHING_LEFT_EXCESS and score(found) + FAR_BETTER < score(closed)
        if better:
            return form, some, found
    return None


def _functions_of_sums(
    data: Sequence[Observations], make: MakeSearch
) -> Iterator[tuple[CouplingForm, Sequence[Observations], Search]]:
    words = "the coupling is a function of {} over neighbours"
    yield CouplingForm(None, words.format("a sum")), data, SumSearch(data, make(data).terms)
    for by, other in ways(data):
        if by in DIVIDED_INSIDE:
            yield CouplingForm(by, words.format("an average")), other, SumSearch(other, make(other).terms)


def _divided(by: str) -> CouplingForm:
    return CouplingForm(by, f"sums over neighbours are divided by {WORDS[by]}")


def with_form(found: FoundLaw, form: CouplingForm) -> FoundLaw:
    """A law that was found with a coupling of this form, as one of the network itself."""
    assert isinstance(found.law, ClosedForm)
    found.law.divided_by = form.divided_by
    reason = f"{form.words}, as plain sums of one function do not explain the data; {found.evidence.reason}"
    return replace(found, evidence=replace(found.evidence, reason=reason))
