"""Self terms as products, c x (1 - x/K) (x/C - 1) in the place of x, x^2 and x^3: where K or C varies, their coefficients do so together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch

from ..laws import Equation, Formula, NodeEquation, Term
from .node_fit import NodeFit

SPREAD = 0.15  # of a number that begins to vary, as a share of it


def factored(fitted: NodeFit) -> Iterator[tuple[NodeEquation, torch.Tensor, np.ndarray]]:
    """The law with its cubic polynomials as products, and one of their numbers varying: starts of fits."""
    model = fitted.model
    for output in range(len(model.features)):
        places = _powers(model.equation, model.features, output)
        if places is None:
            continue
        roots = _roots(*(float(model.parameters[k]) for k in places))
        if roots is None:
            continue
        equation, kept = with_product(model.equation, places, model.features, output, roots)
        count = len(equation.terms)
        first = count + sum(len(term.values) for term in equation.terms[: count - 1])
        old = {kept.index(place): m for m, place in enumerate(model.varying) if place in kept}
        names = equation.terms[-1].formula.parameters
        for new in (*(first + names.index(name) for name in ("K", "C")), count - 1):
            varying = tuple(sorted((*old, new)))
            n = len(fitted.deviations)
            u = torch.zeros(n, len(varying), dtype=torch.float64)
            spread = np.zeros(len(varying))
            for m, place in enumerate(varying):
                if place in old:
                    u[:, m], spread[m] = fitted.deviations[:, old[place]], fitted.spread[old[place]]
                else:
                    spread[m] = SPREAD * abs(float(equation.parameters[place]))
            yield replace(model, equation=equation, varying=varying), u, spread


def _powers(equation: Equation, features: tuple[str, ...], output: int) -> tuple[int, int, int] | None:
    """Places of x, x^2 and x^3 in the rate of x; None if one is missing."""
    x = features[output]
    texts = [term.formula.text if term.output == output and not term.coupling else "" for term in equation.terms]
    found = [
        next((k for k, text in enumerate(texts) if text in ways), None)
        for ways in ((x,), (f"{x}^2", f"{x}*{x}"), (f"{x}^3", f"{x}*{x}*{x}"))
    ]
    a, b, c = found
    return None if a is None or b is None or c is None else (a, b, c)


def _roots(p: float, q: float, r: float) -> tuple[float, float, float] | None:
    """c, K and C with p x + q x^2 + r x^3 = c x (1 - x/K) (x/C - 1), |C| < |K|; None if there are none.

    Example:
        >>> [round(one, 9) for one in _roots(-2.0, 2.0 + 0.4, -0.4)]
        [2.0, 5.0, 1.0]
    """
    inside = q * q - 4 * p * r
    if not (inside > 0 and p != 0 and r != 0):
        return None
    both = sorted(((-q + sign * inside**0.5) / (2 * r) for sign in (1, -1)), key=abs)
    return -p, both[1], both[0]


def with_product(
    equation: Equation,
    places: tuple[int, int, int],
    features: tuple[str, ...],
    output: int,
    roots: tuple[float, float, float],
) -> tuple[Equation, list[int]]:
    """With the product as its last term in the place of powers, and which parameters before are those of the others now."""
    x = features[output]
    coefficient, K, C = roots
    formula = Formula(f"{x}*(1 - {x}/K)*({x}/C - 1)", features)
    values = tuple({"K": K, "C": C}[name] for name in formula.parameters)
    left = [k for k in range(len(equation.terms)) if k not in places]
    terms = (*(equation.terms[k] for k in left), Term(formula, False, output, values))
    numbers = [float(equation.coefficients[k]) for k in left]
    made = Equation(terms, torch.tensor([*numbers, coefficient], dtype=torch.float64), equation.features)
    inner = range(len(equation.terms), len(equation.parameters))  # of the others alone: powers have none
    return made, [*left, -1, *inner]
