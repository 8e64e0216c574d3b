"""Equations without the terms that shots do not need, or with plainer ones: docs/interaction.md, How it works, 5."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from ..laws import Term
from .equation_fit import COMPARING, HOPEFUL_MISFIT, UNSEEN_EXCESS, EquationFitter, FittedEquation
from .observations import Observations
from .shooting_fit import Shots
from .variants import reduced, simpler, without_terms

TRIED_AT_ONCE = 3  # terms that BIC needs least; those after them are needed more, by the linear model that ranks them
# Terms are not tried if the linear model predicts that BIC would rise by more than NEEDED_BIC log(count) and residuals to more than
# NEEDED_EXCESS times the rounding. That is far beyond UNSEEN_EXCESS, as the model is good near the fit only.
NEEDED_BIC = 20
NEEDED_EXCESS = 30.0
PRUNING_ITERATIONS = 4  # from where the other terms are likeliest, which is near the best fit
PLAINER_ITERATIONS = 8  # a term of nearly the same values starts further off


def pruned(fitter: EquationFitter, found: FittedEquation, shots: Sequence[Shots]) -> FittedEquation:
    """Without the terms that the shots do not need: those whose loss BIC would welcome, the least needed first."""
    own = [k for k, term in enumerate(found.equation.terms) if not term.coupling]
    if 1 < len(own) < len(found.equation.terms):
        # where states vary little, one self term stands in for another, and none falls alone
        trial = _dropped(fitter, found, own, found.covariance(), shots)
        if trial is not None and trial.fit.lost <= found.fit.lost and trial.fit.excess < UNSEEN_EXCESS:
            found = trial
    while len(found.equation.terms) > 1 and (shorter := _without_one(fitter, found, shots)) is not None:
        found = shorter
    return found


def _without_one(fitter: EquationFitter, found: FittedEquation, shots: Sequence[Shots]) -> FittedEquation | None:
    """Without one term; None if all are needed."""
    covariance = found.covariance()
    terms = found.equation.terms
    count = found.fit.count
    lost = found.equation.coefficients.square() / covariance.diagonal()[: len(terms)].clamp(min=1e-300)
    spared = torch.tensor([1.0 + len(term.values) for term in terms], dtype=torch.float64)
    worse = count * torch.log1p(lost / count) - spared * math.log(count)
    for k in torch.argsort(worse).tolist()[:TRIED_AT_ONCE]:
        predicted = found.fit.excess * math.sqrt(1 + float(lost[k]) / count)
        if worse[k] > NEEDED_BIC * math.log(count) and predicted > NEEDED_EXCESS:
            continue
        trial = _dropped(fitter, found, [k], covariance, shots)
        if trial is None or trial.fit.lost > found.fit.lost:
            continue
        if trial.score() < found.score() or trial.fit.excess < UNSEEN_EXCESS:
            return trial
    return None


def _dropped(
    fitter: EquationFitter, found: FittedEquation, drop: Sequence[int], covariance: torch.Tensor, shots: Sequence[Shots]
) -> FittedEquation | None:
    """Without some terms; the others start where they are likeliest then, or where they were, if that is nearer."""
    starts = (reduced(found.equation, drop, covariance), without_terms(found.equation, drop))
    here = [fitter.fitted(start, shots, 0, COMPARING) for start in starts]
    known = [one for one in here if one is not None]
    if not known:
        return None
    start = min(known, key=lambda one: (one.fit.lost, one.fit.misfit))
    return fitter.fitted(start.equation, shots, PRUNING_ITERATIONS) if start.fit.misfit < HOPEFUL_MISFIT else None


def plainer(
    fitter: EquationFitter,
    found: FittedEquation,
    shots: Sequence[Shots],
    data: Sequence[Observations],
    terms: Sequence[Term],
) -> list[FittedEquation]:
    """Equations with a plainer term in place of one, which explain these shots as well, best first."""
    starts = [fitter.fitted(equation, shots, 0, COMPARING) for equation in simpler(found.equation, data, terms)]
    near = [one.equation for one in starts if one is not None and one.fit.misfit < HOPEFUL_MISFIT]
    fits = [fitter.fitted(equation, shots, PLAINER_ITERATIONS) for equation in near]
    as_good = [one for one in fits if one is not None and one.explains(UNSEEN_EXCESS)]
    return sorted(as_good, key=FittedEquation.score)
