"""When a step is: its time is moved until the coefficient of a pulse there is 0.

c step(t - s - ds) = c step(t - s) - c ds pulse(t - s) to first order, pulse being 1 / width over a short while: its coefficient q in a fit
beside the step tells ds = -q / c, and its standard error that of s.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from ..data import Driver, Inputs, clock_inputs
from ..laws import Equation, Formula

NARROWER = 4.0  # times, with each round
MOST_ROUNDS = 12  # data without noise take so many, to the rounding; noisy ones two
LEAST_WIDTH = 1e-7  # of the window: below it a pulse is lost in the rounding of times
CLOSE = 0.1  # of its standard error: a smaller shift of the time changes nothing

Fit = Callable[[Equation, Inputs], tuple[Equation, float] | None]
"""Fits an equation with these inputs; returns it and the standard error of its last coefficient, or None."""


@dataclass(frozen=True)
class Step:
    """An equation with a step, when that is, and the standard error of that time."""

    equation: Equation
    at: float
    error: float


def moved_step(
    equation: Equation, name: str, at: float, window: tuple[float, float], width: float, fit: Fit
) -> Step | None:
    """The equation with its step at the time that explains the data best; ``width`` is how far it may be off."""
    error = float("nan")
    for _ in range(MOST_ROUNDS):
        wide, place = _with_pulse(equation, name)
        if wide is None:
            return None
        found = fit(wide, _pulsed(name, at, width))
        if found is None:
            return None
        fitted, error_of_pulse = found
        q, c = float(fitted.coefficients[-1]), float(fitted.coefficients[place])
        if c == 0.0:
            return None
        error = error_of_pulse / abs(c)
        shift = max(-width, min(width, -q / c))
        at = max(window[0], min(window[1], at + shift))
        equation = _without_pulse(fitted, equation)
        small = LEAST_WIDTH * (window[1] - window[0])
        if abs(shift) < CLOSE * error or width <= small:
            break
        width = max(min(width / NARROWER, 4 * abs(shift)), small)
    return Step(equation, at, error)


def _pulsed(name: str, at: float, width: float) -> Inputs:
    edges = torch.tensor([-torch.inf, at - width / 2, at + width / 2, torch.inf], dtype=torch.float64)
    high = torch.tensor([[0.0], [1.0 / width], [0.0], [0.0]], dtype=torch.float64)
    return Inputs.of([*clock_inputs({name: at}).drivers, Driver("pulse", edges, high, "held")])


def _with_pulse(equation: Equation, name: str) -> tuple[Equation | None, int]:
    """With a term of the pulse beside that of the step, and where that is."""
    names = (*equation.terms[0].formula.features, "pulse") if equation.terms else ()
    word = re.compile(rf"\b{name}\b")
    places = [k for k, term in enumerate(equation.terms) if word.search(term.formula.text)]
    if not places:
        return None, 0
    terms = [replace(t, formula=Formula(t.formula.text, names)) for t in equation.terms]
    own = equation.terms[places[0]]
    terms.append(replace(own, formula=Formula(word.sub("pulse", own.formula.text), names)))
    zeros = torch.zeros(1, dtype=torch.float64)
    return Equation(tuple(terms), torch.cat([equation.coefficients, zeros]), len(names)), places[0]


def _without_pulse(fitted: Equation, before: Equation) -> Equation:
    terms = tuple(replace(t, values=new.values) for t, new in zip(before.terms, fitted.terms[:-1], strict=True))
    return replace(before, terms=terms, coefficients=fitted.coefficients[:-1].clone())
