"""Laws of differing nodes made shorter: without terms, numbers of nodes, and parameters inside terms that they do not need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..laws import Equation, Term
from .clock import time_is_over
from .equation_fit import UNSEEN_EXCESS
from .node_fit import NodeFit, fit_nodes_along
from .node_suggestions import with_varying
from .observations import Observations
from .variants import simpler, without_terms

SCREENING_ITERATIONS = 4
SETTLING_ITERATIONS = 12
DOUBTFUL_Z = 10.0  # terms in common with coefficients below so many standard errors are left out on trial


def plain_in_rounding(fitted: NodeFit) -> NodeFit:
    """What leaves less than rounding needs no more numbers, and none without which it leaves hardly more: terms, then numbers of nodes."""
    inner = _inner_places(fitted.model.equation)
    for k in _least_certain(fitted):
        trial = _without(fitted, k, [k, *inner[k]], SETTLING_ITERATIONS) if len(inner) > 1 else None
        if trial is not None and trial.excess < UNSEEN_EXCESS:
            return plain_in_rounding(trial)
    for place in fitted.model.varying:
        model, u, spread = with_varying(fitted, tuple(other for other in fitted.model.varying if other != place))
        trial = fit_nodes_along(model, u, fitted.problems, spread, iterations=SETTLING_ITERATIONS)
        if trial is not None and trial.excess < UNSEEN_EXCESS:
            return plain_in_rounding(trial)
    return fitted


def plainer(fitted: NodeFit, data: Sequence[Observations], terms: Sequence[Term]) -> NodeFit:
    """With plainer terms in the place of those with parameters inside, where BIC wants so, and the numbers of nodes as they were."""
    better: NodeFit | None = fitted
    while better is not None and not time_is_over():
        fitted, better = better, _plainer_once(better, data, terms)
    return fitted


def _plainer_once(fitted: NodeFit, data: Sequence[Observations], terms: Sequence[Term]) -> NodeFit | None:
    model = fitted.model
    inner = _inner_places(model.equation)
    for equation in simpler(model.equation, data, terms):
        own = _inner_places(equation)
        k = next(m for m, (a, b) in enumerate(zip(model.equation.terms, equation.terms, strict=True)) if a is not b)
        if any(place in model.varying for place in inner[k]):
            continue
        places = {m: m for m in range(len(inner))}
        places |= {a: b for m, old in enumerate(inner) if m != k for a, b in zip(old, own[m], strict=True)}
        unit = np.ones(len(model.varying))
        if k in model.varying and float(model.equation.coefficients[k]):
            unit[model.varying.index(k)] = float(equation.coefficients[k] / model.equation.coefficients[k])
        trial = fit_nodes_along(
            replace(model, equation=equation, varying=tuple(places[m] for m in model.varying)),
            fitted.deviations * fitted.deviations.new_tensor(unit),
            fitted.problems,
            fitted.spread * np.abs(unit),
            iterations=SETTLING_ITERATIONS,
        )
        if trial is not None and trial.score < fitted.score:
            return trial
    return None


def pruned(fitted: NodeFit) -> NodeFit:
    """Without the terms, and with those numbers in common, that BIC wants so; the least certain first."""
    shorter: NodeFit | None = fitted
    while shorter is not None:
        fitted, shorter = shorter, _shorter(shorter)
    return fitted


def _shorter(fitted: NodeFit) -> NodeFit | None:
    model = fitted.model
    count = len(model.equation.terms)
    z = _z(fitted)
    inner = _inner_places(model.equation)
    order = _least_certain(fitted)
    for k in order:
        own = [k, *inner[k]]
        if any(place in model.varying for place in own) or z[k] > DOUBTFUL_Z or count == 1:
            continue
        trial = _without(fitted, k, own)
        if trial is not None and trial.score < fitted.score:
            return trial
    pair = [k for k in order if z[k] < DOUBTFUL_Z and not any(place in model.varying for place in [k, *inner[k]])][:2]
    if 1 < len(pair) < count:  # b - c x where all states are near b / c: each is there for the other
        trial = without_these(fitted, pair)
        if trial is not None and trial.score < fitted.score:
            return trial
    for k in order:  # terms that vary: mean and spread together
        own = [k, *inner[k]]
        spread = [fitted.spread[model.varying.index(place)] for place in own if place in model.varying]
        if count > 1 and spread and z[k] < DOUBTFUL_Z and max(spread) < 0.05 * float(model.parameters.abs().max()):
            trial = _without(fitted, k, own)
            if trial is not None and trial.score < fitted.score:
                return trial
    return None


def _z(fitted: NodeFit) -> np.ndarray:
    """Numbers in units of their errors."""
    nq = fitted.deviations.numel()
    errors = np.sqrt(np.maximum(fitted.covariance.diagonal()[nq:], 1e-300))
    out: np.ndarray = fitted.model.parameters.abs().numpy() / errors
    return out


def _least_certain(fitted: NodeFit) -> list[int]:
    """Terms, the one first whose coefficient is the least in units of its error."""
    z = _z(fitted)
    return sorted(range(len(fitted.model.equation.terms)), key=lambda k: z[k])


def _without(fitted: NodeFit, k: int, own: Sequence[int], iterations: int = SCREENING_ITERATIONS) -> NodeFit | None:
    """Without term k, whose parameters are ``own``."""
    model = fitted.model
    left = [place for place in range(len(model.parameters)) if place not in own]
    varying = tuple(left.index(place) for place in model.varying if place in left)
    columns = [m for m, place in enumerate(model.varying) if place in left]
    shorter = replace(model, equation=without_terms(model.equation, [k]), varying=varying)
    return fit_nodes_along(
        shorter, fitted.deviations[:, columns], fitted.problems, fitted.spread[columns], iterations=iterations
    )


def without_these(fitted: NodeFit, terms: Sequence[int]) -> NodeFit | None:
    """Without some terms."""
    inner, left = _inner_places(fitted.model.equation), fitted
    for k in sorted(terms, reverse=True):
        last = k == min(terms)
        shorter = _without(left, k, [k, *inner[k]], SETTLING_ITERATIONS if last else 1)
        if shorter is None:
            return None
        left, inner = shorter, _inner_places(shorter.model.equation)
    return left


def _inner_places(equation: Equation) -> list[list[int]]:
    """Places of the inner parameters of each term among all parameters."""
    out, first = [], len(equation.terms)
    for term in equation.terms:
        out.append(list(range(first, first + len(term.values))))
        first += len(term.values)
    return out
