"""The candidates: terms that laws of network dynamics are made of, and values from which their parameters start."""

from __future__ import annotations

import difflib
import itertools
import math
import re
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from scipy.stats import qmc

from ..laws import Formula, Term, plain_names

CURVES = ("x/(K + x)", "x^2/(K^2 + x^2)", "sin(x)", "cos(x)", "exp(-a*x)", "log1p(abs(x))", "tanh(a*x)")
SELF = ("1", "x", "x^2", "x^3", *CURVES)
PRODUCTS = ("1", "x_j", "x_j - x_i", "x_i*x_j", "(1 - x_i)*x_j", "x_j^2", "x_i*x_j^2", "x_i^2*x_j")
BOUNDED = ("sin(x_j - x_i)", "sin(x_j)", "tanh(x_j)", "exp(-x_j)")
SCALED = ("tanh(a*(x_j - x_i))", "(x_j - x_i)*exp(-a*(x_j - x_i)^2)")
HILL = ("x_j/(K + x_j)", "x_j^2/(K^2 + x_j^2)", "x_j^3/(K^3 + x_j^3)", "x_j^h/(1 + x_j^h)")
OF_BOTH = ("x_i*x_j/(K + x_j)", "x_i*x_j^2/(K^2 + x_j^2)")
COUPLING = (*PRODUCTS, *BOUNDED, *SCALED, *HILL, *OF_BOTH, "1/(1 + exp(-a*(x_j - m)))", "x_i*x_j/(1 + b*x_i + c*x_j)")


# Starting values of a term at most. Every term of the library has fewer (25); five parameters of one's own have 3^5, and twelve would have
# half a million, each a column of the weak form.
MOST_STARTS = 243


def formula_names(features: Sequence[str]) -> tuple[str, ...]:
    """Names under which the features stand in formulas: their own where they can, else plain words made of them.

    Example:
        >>> formula_names(["temperature", "x_2"]), formula_names(["new cases", "h"]), formula_names(["x", "x_i"])
        (('temperature', 'x_2'), ('new_cases', 'x_h'), ('x1', 'x2'))
    """
    taken = {name for text in (*SELF, *COUPLING) for name in Formula(text).parameters}

    def word(name: str) -> str:
        plain = re.sub(r"\W+", "_", name).strip("_")
        return plain if plain_names([plain]) and plain not in taken else f"x_{plain}"

    names = tuple(map(word, features))
    return names if plain_names(names) and "x_" not in names else tuple(f"x{k + 1}" for k in range(len(names)))


def library(
    features: Sequence[str], ranges: np.ndarray, extra: Sequence[str] = (), without: Sequence[str] = ()
) -> list[Term]:
    """All candidates for these features, ranges (2, d) their least and largest values, with extra formulas and without some.

    Raises:
        ValueError: a formula to leave out is not there.
    """
    features = tuple(features)
    formulas = [(Formula(text, features), False) for text in _self_terms(features)]
    formulas += [(Formula(text, features), True) for text in _coupling_terms(features)]
    own = [Formula(text, features) for text in extra]
    formulas += [(formula, formula.on_edges or formula.around is not None) for formula in own]
    out: list[Term] = []
    for output in range(len(features)):
        for formula, coupling in formulas:
            out += _starts(Term(formula, coupling, output), ranges)
    known = {_compact(term.formula.text): term.formula.text for term in out}
    for text in without:
        if _compact(text) not in known:
            near = difflib.get_close_matches(_compact(text), known, n=1)
            hint = f"; did you mean {known[near[0]]!r}?" if near else ""
            raise ValueError(
                f"without: {text!r} is not in the library{hint or '.'} It holds {', '.join(known.values())}"
            )
    gone = set(map(_compact, without))
    return [term for term in out if _compact(term.formula.text) not in gone]


def _compact(text: str) -> str:
    return text.replace(" ", "").replace("**", "^")


def _self_terms(features: tuple[str, ...]) -> list[str]:
    if len(features) == 1:
        return [_named(text, features[0]) for text in SELF]
    out = ["1"]
    for degree in (1, 2, 3):
        out += ["*".join(c) for c in itertools.combinations_with_replacement(features, degree)]
    return out + [_named(text, name) for name in features for text in CURVES]


def _coupling_terms(features: tuple[str, ...]) -> list[str]:
    own = ["1", *(_named(text, name) for name in features for text in COUPLING[1:])]
    return own + [f"{a}_i*{b}_j" for a in features for b in features if a != b]


def _named(text: str, name: str) -> str:
    return re.sub(r"\bx(?=(_[ij])?\b)", name, text)


def _starts(term: Term, ranges: np.ndarray) -> list[Term]:
    """The term with its parameters on a coarse grid, from which fits start.

    Grids follow the range of states: half-saturations K are 1 to 100 % of the largest state, slopes a turn once to some times over
    the range. Neighbouring values differ by a factor of 3 to 5, from which Gauss-Newton finds those between; self terms, which are cheap
    to compute and easy to mistake for one another, have finer grids. Parameters of the user's own formulas are taken for about 1. A grid of more than ``MOST_STARTS`` points is sampled by a Latin hypercube, in which
    each value of each parameter comes equally often.
    """
    names = term.formula.parameters
    if not names:
        return [term]
    size = float(np.abs(ranges).max()) or 1.0
    spread = float((ranges[1] - ranges[0]).max()) or 1.0
    grids = {
        "K": size * (np.array([0.01, 0.03, 0.1, 0.3, 1.0]) if term.coupling else np.geomspace(0.01, 1.0, 13)),
        "h": np.array([0.5, 1.0, 2.0, 3.0, 5.0]),
        "m": ranges[0].min() + spread * np.array([0.05, 0.2, 0.4, 0.6]),
        "a": (np.array([0.5, 2.0, 8.0]) if term.coupling else np.geomspace(0.25, 16.0, 10))
        / spread
        * (2 if "^2" not in term.formula.text else 1),
        "b": np.array([0.0, 0.2, 1.0, 5.0, 20.0]) / size,
        "c": np.array([0.0, 0.2, 1.0, 5.0, 20.0]) / size,
    }
    other = np.array([0.1, 0.3, 1.0, 3.0, 10.0]) if len(names) == 1 else np.array([0.2, 1.0, 5.0])
    axes = [grids.get(name, other) for name in names]
    return [Term(term.formula, term.coupling, term.output, tuple(float(v) for v in values)) for values in _points(axes)]


def _points(axes: Sequence[np.ndarray]) -> Iterable[Sequence[float]]:
    """All combinations of values of the axes, or a sample of them if they are many."""
    if math.prod(map(len, axes)) <= MOST_STARTS:
        return itertools.product(*axes)
    places = qmc.LatinHypercube(len(axes), seed=0).random(MOST_STARTS)
    chosen = [axis[(column * len(axis)).astype(int)] for axis, column in zip(axes, places.T, strict=True)]
    return np.unique(np.stack(chosen, axis=1), axis=0).tolist()


def ranges_of(states: torch.Tensor) -> np.ndarray:
    """Least and largest value of each feature, (2, d)."""
    flat = states.reshape(-1, states.shape[-1])
    return np.stack([np.nanmin(flat.numpy(), 0), np.nanmax(flat.numpy(), 0)])
