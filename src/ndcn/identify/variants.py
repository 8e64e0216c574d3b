"""Variants of an equation: without some terms, or with a term replaced by a plainer or a richer one of nearly the same values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from scipy.optimize import least_squares

from .._support.world import World
from ..laws import Equation, Model, Network, Term, term_values
from .observations import Observations

# Of a term's values squared, what another may leave open to take its place: values within 10 %, then fitted.
ALIKE_SHARE = 0.01
FEW_STATES = 8  # snapshots at which terms are compared
MOST_VARIANTS = 2  # for each term, the nearest: each costs a fit
MOST_EVALUATIONS = 20  # of the values of a family of terms, to find its nearest member: the fit that follows goes on


def reduced(equation: Equation, drop: Sequence[int], covariance: torch.Tensor) -> Equation:
    """The equation without some terms, the others moved to where they are likeliest then."""
    return without_terms(equation.with_parameters(likeliest_without(equation, drop, covariance)), drop)


def likeliest_without(equation: Equation, drop: Sequence[int], covariance: torch.Tensor) -> torch.Tensor:
    """Parameters by a normal distribution around those of the equation, when the coefficients of some terms are 0."""
    among = covariance[drop][:, drop]
    among = among + 1e-12 * torch.diag(among.diagonal())
    move = covariance[:, drop] @ torch.linalg.lstsq(among, equation.coefficients[drop].unsqueeze(1)).solution[:, 0]
    return equation.parameters - move


def without_terms(equation: Equation, drop: Sequence[int]) -> Equation:
    """The equation without some of its terms."""
    keep = [m for m in range(len(equation.terms)) if m not in drop]
    return replace(equation, terms=tuple(equation.terms[m] for m in keep), coefficients=equation.coefficients[keep])


def grown_from(plain: Model, equation: Equation) -> Equation | None:
    """The plain equation with what another one has besides, the coefficients 0; None if there is nothing, or it has parameters inside."""
    assert isinstance(plain, Equation)
    further = [term for term in equation.terms if term.family not in plain.families]
    if not further or len(further) + len(plain.terms) != len(equation.terms) or any(term.values for term in further):
        return None
    coefficients = torch.cat([plain.coefficients, plain.coefficients.new_zeros(len(further))])
    return replace(plain, terms=(*plain.terms, *further), coefficients=coefficients)


def simpler(equation: Equation, data: Sequence[Observations], terms: Sequence[Term]) -> list[Equation]:
    """Equations in which one term with parameters inside is replaced by a plainer one of nearly the same values."""
    out = []
    for k, term in enumerate(equation.terms):
        rivals = [t for t in _others(equation, k, terms) if len(t.values) < len(term.values)]
        out += _replaced(equation, k, rivals, data[0]) if rivals else []
    return out


def richer(equation: Equation, data: Sequence[Observations], terms: Sequence[Term]) -> list[Equation]:
    """Equations in which one term is replaced by one with more parameters, chosen so that it has nearly the same values."""
    one = data[0]
    states = _some(one)
    out = []
    for k, term in enumerate(equation.terms):
        if not term.coupling:
            continue
        values = term_values(term, states, one.network)
        families: dict[tuple[str, bool, int], list[Term]] = {}
        for other in _others(equation, k, terms):
            if len(other.values) > len(term.values):
                families.setdefault(other.family, []).append(other)
        rivals = [nearest(options, values, states, one.network) for options in families.values()]
        out += _replaced(equation, k, rivals, one)
    return out


def _some(one: Observations) -> torch.Tensor:
    return one.level[:: max(1, len(one.level) // FEW_STATES)]


def _others(equation: Equation, k: int, terms: Sequence[Term]) -> list[Term]:
    """Terms that could stand in the place of term k."""
    place = (equation.terms[k].output, equation.terms[k].coupling)
    taken = {t.family for t in equation.terms}
    return [other for other in terms if (other.output, other.coupling) == place and other.family not in taken]


def _replaced(equation: Equation, k: int, rivals: Sequence[Term], one: Observations) -> list[Equation]:
    """The equation with another term in place of term k, the nearest first."""
    states = _some(one)
    values, own = term_values(equation.terms[k], states, one.network), slice(one.counted)
    found = []
    for other in rivals:
        rival = term_values(other, states, one.network)
        c, left = projected(values[:, own], rival[:, own], one.network.world)
        if left < ALIKE_SHARE:
            coefficients = equation.coefficients.clone()
            coefficients[k] *= c
            swapped = (*equation.terms[:k], other, *equation.terms[k + 1 :])
            found.append((left, replace(equation, terms=swapped, coefficients=coefficients)))
    return [swapped for _, swapped in sorted(found, key=lambda pair: pair[0])[:MOST_VARIANTS]]


def projected(values: torch.Tensor, rival: torch.Tensor, world: World | None = None) -> tuple[float, float]:
    """The factor with which a rival comes nearest, and the share of the values squared that it leaves open.

    Values may lie in several processes, ``world``.
    """
    world = world or World(0, 1)
    both, squares = world.total(torch.stack([(values * rival).sum(), rival.square().sum()]))
    c = float(both / squares.clamp(min=1e-300))
    left, size = world.total(torch.stack([(values - c * rival).square().sum(), values.square().sum()]))
    return c, float(left / size.clamp(min=1e-300))


def nearest(options: Sequence[Term], values: torch.Tensor, states: torch.Tensor, network: Network) -> Term:
    """Of one family, the term whose values are nearest, up to a factor."""

    def left(term: Term) -> float:
        share = projected(values, term_values(term, states, network))[1]
        return share if share == share else float("inf")

    def misses(inner: np.ndarray) -> np.ndarray:
        rival = term_values(replace(start, values=tuple(inner.tolist())), states, network).nan_to_num(0.0, 0.0, 0.0)
        c, _ = projected(values, rival)
        out: np.ndarray = ((values - c * rival) / values.square().mean().sqrt().clamp(min=1e-300)).reshape(-1).numpy()
        return out

    start = min(options, key=left)
    found = least_squares(misses, np.array(start.values), max_nfev=MOST_EVALUATIONS)
    best = replace(start, values=tuple(found.x.tolist()))
    return best if left(best) < left(start) else start
