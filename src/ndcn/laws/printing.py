"""Printing a law: its equations as text, LaTeX and sympy with standard errors."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from .._support.lazy import sympy
from .divided import DIVISORS
from .formula import Formula
from .styles import LATEX, TEXT, Text, short

if TYPE_CHECKING:
    from .closed_form import Equation
    from .terms import Term

DIGITS = 7  # of a number at most
_LETTERS = ("s", "z", "y", "q", *(f"s{k}" for k in range(1, 100)))  # of sums over neighbours inside functions, in turn


class Coefficient(NamedTuple):
    """One c_k term_k of a law."""

    term: str  # its formula
    coupling: bool  # whether it is summed over neighbours
    feature: str  # in whose rate it is
    value: float  # c_k
    standard_error: float  # of c_k; NaN where it is not known


class Inner(NamedTuple):
    """A parameter inside a term, as K in x_j/(K + x_j)."""

    name: str  # as the equations print it
    term: str  # where it is, as for a ``Coefficient``, with the next two
    coupling: bool
    feature: str
    value: float
    standard_error: float  # NaN where it is not known


class Equations:
    """dx_i/dt = f(x_i) + sum_j A_ij g(x_i, x_j), to be read: ``str()``, ``latex()``, ``sympy()`` or rows of a table.

    Standard errors are in parentheses, in units of the last digit: 1.024(3) is 1.024 +- 0.003, 1.02(15) is
    1.02 +- 0.15. No number has more than 7 digits: a standard error below the last of them is shown as 1.

    Args:
        equation: terms and coefficients.
        features: names of the d features; the formulas must be written in them.
        covariance: of ``equation.parameters``, shape (P, P), or None if it is not known.
        step: of Euler steps if the equation is that of a map, x(t + step) = x(t) + step dx/dt.
        inputs: names of inputs in the formulas, after the features, each with whether every node has its own.
        divided_by: what sums over neighbours are divided by, as in ``ClosedForm``.
        corrects: whether a known law is to be added; it is printed as "known law", and rows and sympy leave it out.

    Raises:
        ValueError: the formulas are in other features, numbers are missing, or the covariance has another shape.

    Example:
        >>> from ndcn.laws import Equation, Formula, Term
        >>> terms = (Term(Formula("x"), False), Term(Formula("x_j^2/(K^2 + x_j^2)"), True, values=(2.0,)))
        >>> errors = torch.tensor([0.002, 0.0003, 0.04])
        >>> equations = Equations(Equation(terms, torch.tensor([-1.0, 0.5])), covariance=torch.diag(errors**2))
        >>> print(equations)
        dx_i/dt = -1.000(2) x_i + sum_j A_ij 0.5000(3) x_j^2/(K^2 + x_j^2),  K = 2.00(4)
        >>> f, g = equations.sympy()["x"]
        >>> f
        -1.0*x_i
    """

    def __init__(
        self,
        equation: Equation,
        features: Sequence[str] = ("x",),
        covariance: Any = None,
        *,
        corrects: bool = False,
        step: float | None = None,
        inputs: Mapping[str, bool] | None = None,
        divided_by: str | None = None,
    ) -> None:
        driven = dict(inputs or {})
        self.features = equation.checked((*features, *driven))[: len(features)]
        self._shown = state_names(features) | {name: f"{name}_i" if own else name for name, own in driven.items()}
        self.equation = equation
        self.corrects = corrects
        self.step = step
        self.divided_by = divided_by
        self._errors = _standard_errors(covariance, len(equation.parameters))
        self._labels = parameter_labels(equation.terms)

    @property
    def coefficients(self) -> list[Coefficient]:
        """A row for each term; ``pandas.DataFrame(equations.coefficients)`` is a table of them."""
        numbers = zip(self.equation.coefficients.tolist(), self._errors, strict=False)
        return [
            Coefficient(term.formula.text, term.coupling, self.features[term.output], value, error)
            for term, (value, error) in zip(self.equation.terms, numbers, strict=True)
        ]

    @property
    def parameters(self) -> list[Inner]:
        """A row for each parameter inside a term."""
        places = [
            (term, label) for term, labels in zip(self.equation.terms, self._labels, strict=True) for label in labels
        ]
        values = self.equation.parameters.tolist()[len(self.equation.terms) :]
        errors = self._errors[len(self.equation.terms) :]
        return [
            Inner(label, term.formula.text, term.coupling, self.features[term.output], value, error)
            for (term, label), value, error in zip(places, values, errors, strict=True)
        ]

    def sympy(self) -> dict[str, tuple[Any, Any]]:
        """By the name of each feature, f and g as sympy expressions in the symbols x_i and x_j, with numbers put in.

        A function of sums over neighbours is part of f, where a sum is the undefined function sum_j of what is summed.

        Example:
            >>> from ndcn.laws import Equation, Formula, Term
            >>> law = Equations(Equation((Term(Formula("x_i*x_j"), True),), torch.tensor([0.5])))
            >>> law.sympy()
            {'x': (0, 0.5*x_i*x_j)}
        """
        sums = {name: [sympy.Integer(0), sympy.Integer(0)] for name in self.features}
        symbols = {name: sympy.Symbol(shown) for name, shown in self._shown.items()}
        for term, c in zip(self.equation.terms, self.equation.coefficients.tolist(), strict=True):
            values = dict(zip(term.formula.parameters, map(sympy.Float, term.values), strict=True))
            body = term.formula.sympy({**symbols, **values})
            summed = term.coupling and term.formula.around is None
            sums[self.features[term.output]][summed] += sympy.Float(c) * body
        return {name: (f, g) for name, (f, g) in sums.items()}

    def latex(self) -> str:
        r"""The equations in LaTeX, one for each feature, each on a line of its own.

        Example:
            >>> from ndcn.laws import Equation, Formula, Term
            >>> heat = Equation((Term(Formula("x_j - x_i"), True),), torch.tensor([0.5]))
            >>> print(Equations(heat).latex())
            \frac{dx_i}{dt} = \sum_j A_{ij}\, 0.5\, \left(x_j - x_i\right)
        """
        return "\n".join(self._line(name, LATEX) for name in self.features)

    def _repr_latex_(self) -> str:
        return "\n".join(f"$${self._line(name, LATEX)}$$" for name in self.features)

    def __str__(self) -> str:
        return "\n".join(self._line(name, TEXT) for name in self.features)

    __repr__ = __str__

    def _line(self, feature: str, style: Text) -> str:
        """The equation of one feature."""
        own: list[tuple[bool, str]] = [(False, style.known)] if self.corrects else []
        coupling: list[tuple[bool, str]] = []
        sums = PrintedSums(style, self._sum_over_neighbours(style), self._taken())
        for k, (term, row) in enumerate(zip(self.equation.terms, self.coefficients, strict=True)):
            if row.feature == feature:
                names = {**self._shown, **dict(zip(term.formula.parameters, self._labels[k], strict=True))}
                number = style.number(with_error(abs(row.value), row.standard_error))
                summed = term.coupling and term.formula.around is None
                (coupling if summed else own).append(
                    (row.value < 0, style.times(number, *sums.outside(term.formula, names)))
                )
        if len(coupling) > 1:
            coupling = [(False, signed_sum(coupling).join(style.bracket))]
        before = self._sum_over_neighbours(style)
        own += [(negative, before + body) for negative, body in coupling]
        inner = [
            f"{style.name(row.name)} = {style.number(with_error(row.value, row.standard_error))}"
            for row in self.parameters
            if row.feature == feature
        ]
        right = signed_sum(own) if own else "0"
        return style.comma.join(
            [
                f"{style.rate(feature)} = {right}",
                *sums.shown,
                *([", ".join(inner)] if inner else []),
                *self._notes(feature, style),
            ]
        )

    def _taken(self) -> set[str]:
        """Names that a sum may not have in print."""
        used = {*self._shown.values(), *(label for labels in self._labels for label in labels)}
        return used | ({"s_i"} if self.divided_by == "weights" else set())

    def _notes(self, feature: str, style: Text) -> list[str]:
        """What is to be said beside the equation of a feature: that sums are divided, that it is a map."""
        over = [] if self.divided_by is None else [style.words(DIVISORS[self.divided_by][2].replace("_", style.index))]
        return over + ([] if self.step is None else [style.words(f"an Euler map with step {self.step:g}")])

    def _sum_over_neighbours(self, style: Text) -> str:
        if self.divided_by is None:
            return style.neighbours
        text, latex, _ = DIVISORS[self.divided_by]
        return text if style is TEXT else latex


class PrintedSums:
    """Sums over neighbours inside functions, each with a letter in print: 2 tanh(a*s_i),  s_i = sum_j A_ij x_j.

    Args:
        style: how they look.
        before: what stands before what is summed.
        taken: names that are not to be used.
    """

    def __init__(self, style: Text, before: str, taken: Collection[str]) -> None:
        self.style = style
        self.before = before
        self.letters = iter([f"{letter}_i" for letter in _LETTERS if f"{letter}_i" not in taken])
        self.known: dict[str, str] = {}

    @property
    def shown(self) -> list[str]:
        """What each letter is."""
        return [f"{self.style.name(label)} = {self.before}{body}" for body, label in self.known.items()]

    def outside(self, formula: Formula, names: Mapping[str, str]) -> tuple[Formula, Mapping[str, str]]:
        """The function, and names that are printed in it; any other formula as it is."""
        if formula.around is None:
            return formula, names
        outside, inside = formula.around
        labels = {}
        for k, one in enumerate(inside):
            body = self.style.formula(one, names)
            if body not in self.known:
                self.known[body] = next(self.letters)
            labels[f"sum_{k}"] = self.known[body]
        return outside, {**names, **labels}


def signed_sum(parts: Sequence[tuple[bool, str]]) -> str:
    """Parts with their signs, whether each is negative."""
    out = "".join(f" {'-' if negative else '+'} {body}" for negative, body in parts)
    return out[3:] if out.startswith(" +") else f"-{out[3:]}"


def with_error(value: float, error: float) -> str:
    """A number and its standard error in units of its last digit; the number alone if the error is NaN or 0.

    The error has one digit, or two if the first is 1.

    Example:
        >>> with_error(1.0236, 0.0031), with_error(1.0236, 0.15), with_error(3.21e-7, 2e-9), with_error(0.25, 0.0)
        ('1.024(3)', '1.02(15)', '3.21(2)e-7', '0.25')
    """
    if not (math.isfinite(value) and math.isfinite(error) and error > 0):
        return short(f"{value:.6g}") + ("(?)" if math.isinf(error) else "")
    top = math.floor(math.log10(max(abs(value), error)))
    place = math.floor(math.log10(error))
    place -= round(error / 10.0**place, 6) < 2
    place = max(place, top - DIGITS + 1)
    shift = top if top < -4 or top >= DIGITS or place > 0 else 0
    digits = max(1, round(error / 10.0**place))
    return f"{value / 10.0**shift:.{shift - place}f}({digits})" + f"e{shift}" * (shift != 0)


def _standard_errors(covariance: Any, count: int) -> list[float]:
    if covariance is None:
        return [math.nan] * count
    matrix = torch.as_tensor(covariance).detach().double().cpu()
    if matrix.shape != (count, count):
        raise ValueError(f"{count} parameters have a covariance of shape {(count, count)}, got {tuple(matrix.shape)}")
    variances = matrix.diagonal()
    if (variances < 0).any():
        raise ValueError(f"variances cannot be negative, got {variances.min().item():g}")
    errors: list[float] = variances.sqrt().tolist()
    return errors


def state_names(features: Sequence[str]) -> dict[str, str]:
    """How each name of a state is printed: x as x_i."""
    forms = {name: f"{name}_i" for name in features}
    return forms | {f"{name}_{end}": f"{name}_{end}" for name in features for end in "ij"}


def parameter_labels(terms: Sequence[Term]) -> list[list[str]]:
    """For each term the names of its parameters, with numbers where several terms use the same: K_1, K_2."""
    used = [name for term in terms for name in term.formula.parameters]
    taken = set(used) | {form for term in terms for form in state_names(term.formula.features)}
    out: list[list[str]] = []
    for term in terms:
        labels = []
        for name in term.formula.parameters:
            label = name
            k = 0
            while used.count(name) > 1 and label in taken:
                k += 1
                label = f"{name}_{k}"
            taken.add(label)
            labels.append(label)
        out.append(labels)
    return out
