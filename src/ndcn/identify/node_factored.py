"""Self terms as products, c x (1 - x/K) (x/C - 1) in the place of x, x^2 and x^3: where K or C varies, their coefficients do so together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from scipy.optimize import least_squares

from ..laws import Equation, Formula, NodeEquation, Term
from .node_fit import NodeFit

SPREAD = 0.15  # of a number that begins to vary, as a share of it, at least
SOME_STATES = 16  # of each node, at which products are compared with polynomials
DRAWN = (
    1e-3  # of the mean weight of a node's rates, by which its number is drawn to that of all: nodes that rest tell none
)
FARTHEST = 3.0  # times: as far from the median a number of a node begins at most
# Of the largest state: a root beyond it lowers rates by a tenth at most, so that a power says as much, and the states do not tell the root.
BEYOND = 10.0
MOST_EVALUATIONS = 30  # of rates, to find the nearest product: a fit follows


def factored(fitted: NodeFit) -> Iterator[tuple[NodeEquation, torch.Tensor, np.ndarray]]:
    """The law with its cubic polynomials as products, and one of their numbers varying: starts of fits.

    Numbers of the product are those that give each node nearly the rates that its own polynomial has at its states.
    """
    model = fitted.model
    for output in range(len(model.features)):
        places = _powers(model.equation, model.features, output)
        if places is None:
            continue
        roots = _roots(*(float(model.parameters[k]) for k in places))
        if roots is None:
            continue
        x, y = _own_rates(fitted, places, output)
        for name in ("K", "C", "coefficient"):
            near, own = _nearest(x, y, roots, name)
            equation, kept = with_product(model.equation, places, model.features, output, near)
            count = len(equation.terms)
            first = count + sum(len(term.values) for term in equation.terms[: count - 1])
            old = {kept.index(place): m for m, place in enumerate(model.varying) if place in kept}
            names = equation.terms[-1].formula.parameters
            new = count - 1 if name == "coefficient" else first + names.index(name)
            varying = tuple(sorted((*old, new)))
            u = torch.zeros(len(fitted.deviations), len(varying), dtype=torch.float64)
            spread = np.zeros(len(varying))
            for m, place in enumerate(varying):
                if place in old:
                    u[:, m], spread[m] = fitted.deviations[:, old[place]], fitted.spread[old[place]]
                else:
                    u[:, m] = torch.from_numpy(own)
                    spread[m] = max(SPREAD * abs(float(equation.parameters[place])), float(own.std()))
            yield replace(model, equation=equation, varying=varying), u, spread


def roots_are_seen(fitted: NodeFit) -> bool:
    """Whether the states come near K and C of all products."""
    for term in fitted.model.equation.terms:
        numbers = dict(zip(term.formula.parameters, term.values, strict=True))
        if not term.coupling and set(numbers) == {"K", "C"}:
            seen = max(float(problem.data.level[..., term.output].abs().max()) for problem in fitted.problems)
            if max(map(abs, numbers.values())) > BEYOND * seen:
                return False
    return True


def larger_first(model: NodeEquation) -> NodeEquation:
    """The same law with K as the larger of the two roots of its product: K and C can be exchanged.

    Example:
        >>> product = Term(Formula("x*(1 - x/K)*(x/C - 1)"), False, values=(1.0, 5.0))
        >>> law = larger_first(NodeEquation(Equation((product,), torch.ones(1, dtype=torch.float64)), (2,)))
        >>> law.equation.terms[0].values, law.varying
        ((5.0, 1.0), (1,))
    """
    terms, varying, changed = list(model.equation.terms), list(model.varying), False
    first = len(terms)
    for k, term in enumerate(terms):
        names, values = term.formula.parameters, dict(zip(term.formula.parameters, term.values, strict=True))
        if (
            set(names) == {"K", "C"}
            and not term.coupling
            and "/K)" in term.formula.text
            and abs(values["C"]) > abs(values["K"])
        ):
            values, changed = {"K": values["C"], "C": values["K"]}, True
            terms[k] = replace(term, values=tuple(values[name] for name in names))
            a, b = first + names.index("K"), first + names.index("C")
            varying = [{a: b, b: a}.get(place, place) for place in varying]
        first += len(names)
    if not changed or varying != sorted(varying):  # both vary: their columns would have to be exchanged too
        return model
    return replace(model, equation=replace(model.equation, terms=tuple(terms)), varying=tuple(varying))


def _own_rates(fitted: NodeFit, places: Sequence[int], output: int) -> tuple[np.ndarray, np.ndarray]:
    """Some states of each node, (S, n), and what its own polynomial is there."""
    n = len(fitted.deviations)
    numbers = fitted.model.parameters.expand(n, -1).clone()
    numbers[:, list(fitted.model.varying)] += fitted.deviations
    p, q, r = numbers[:, list(places)].numpy().T
    levels = [
        problem.data.level[:: max(1, len(problem.data.level) // SOME_STATES), :, output] for problem in fitted.problems
    ]
    x = torch.cat(levels).numpy()
    return x, p * x + q * x**2 + r * x**3


def _nearest(
    x: np.ndarray, y: np.ndarray, roots: tuple[float, float, float], name: str
) -> tuple[tuple[float, float, float], np.ndarray]:
    """c, K and C with c x (1 - x/K) (x/C - 1) near to rates y at states x, both (S, n), if one of them varies, and its deviations (n,)."""
    unit = max(float(np.sqrt(np.square(y).mean())), 1e-300)
    scale = np.abs(np.array(roots))
    tiny = 1e-9 * max(float(np.abs(x).max()), 1e-300)

    def parts(free: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A rate that is a + w b, and the likeliest w of each node, drawn a little towards that of all."""
        c, K, C = free * scale
        if name == "coefficient":
            a, b = np.zeros_like(x), x * (1 - x / K) * (x / C - 1)
        elif name == "K":
            a = c * x * (x / C - 1)
            b = -a * x
        else:
            a = -c * x * (1 - x / K)
            b = -a * x
        top, size = (b * (y - a)).sum(0), (b * b).sum(0)
        middle = top.sum() / max(size.sum(), 1e-300)
        held = DRAWN * size.mean() + 1e-300
        return a, b, (top + held * middle) / (size + held)

    def misses(free: np.ndarray) -> np.ndarray:
        if (np.abs(free) * scale < tiny).any():
            free = np.where(np.abs(free) * scale < tiny, tiny / np.maximum(scale, 1e-300), free)
        a, b, w = parts(free)
        out: np.ndarray = np.nan_to_num((a + w * b - y) / unit, nan=1e6, posinf=1e6, neginf=-1e6).ravel()
        return out

    start = np.sign(np.array(roots))
    found = least_squares(misses, start, max_nfev=MOST_EVALUATIONS).x
    best = found if np.square(misses(found)).sum() < np.square(misses(start)).sum() else start
    c, K, C = (float(one) for one in best * scale)
    _, _, w = parts(best)
    if name == "coefficient":
        middle = float(np.median(w))
        return (middle or c, K, C), w - middle
    middle = 1 / (float(np.median(w)) or tiny)
    low, high = sorted((middle / FARTHEST, middle * FARTHEST))
    with np.errstate(divide="ignore"):
        own = np.clip(1 / w, low, high)
    return ((c, middle, C) if name == "K" else (c, K, middle)), own - middle


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
