"""Printing a law whose nodes differ: what varies gets a name, with its mean and its spread among nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from .node_equation import parameter_names
from .node_relation import intercept
from .printing import Equations, PrintedSums, parameter_labels, signed_sum, with_error
from .styles import Text, short

if TYPE_CHECKING:
    from .closed_form import Equation
    from .node_closed_form import NodeClosedForm
    from .terms import Term

LETTERS = ("b", "c", "k", "r", "s", "q")  # of coefficients that vary, in turn


def node_labels(terms: Sequence[Term], varying: Sequence[int], features: Sequence[str]) -> tuple[str, ...]:
    """A name for each number that varies: b_i, c_i, ... for coefficients, and that of an inner parameter with _i."""
    places = parameter_names(terms)
    inner = [label for labels in parameter_labels(terms) for label in labels]
    taken = {*inner, *features}
    letters = (letter for letter in (*LETTERS, *(f"b{k}" for k in range(1, 1000))) if letter not in taken)
    return tuple(f"{next(letters)}_i" if places[k][1] is None else f"{inner[k - len(terms)]}_i" for k in varying)


class NodeEquations(Equations):
    """dx_i/dt = f_i(x_i) + sum_j A_ij g_i(x_i, x_j), where some numbers vary among nodes: each has a name, a mean and a spread.

    Args:
        equation: terms and numbers, of those that vary the means.
        features: names of the d features.
        covariance: of ``equation.parameters``, or None if it is not known.
        varying: which of the parameters vary.
        law: the law, with the values of nodes. Where they follow attributes, ``covariance`` goes on with that of the slopes.

    Example:
        >>> import torch
        >>> from ndcn.laws import Equation, Formula, NodeClosedForm, Term
        >>> equation = Equation((Term(Formula("x"), False), Term(Formula("x_j - x_i"), True)), torch.tensor([-1.5, 0.5]))
        >>> law = NodeClosedForm(equation, [0], torch.tensor([[-1.0], [-2.0]]))
        >>> print(NodeEquations(equation, covariance=1e-4 * torch.eye(2), varying=(0,), law=law))
        dx_i/dt = b_i x_i + sum_j A_ij 0.500(10) (x_j - x_i),  b_i = -1.500(10), spread 0.707 over 2 nodes
    """

    def __init__(
        self,
        equation: Equation,
        features: Sequence[str] = ("x",),
        covariance: Any = None,
        *,
        varying: Sequence[int] = (),
        law: NodeClosedForm | None = None,
    ) -> None:
        count = len(equation.parameters)
        self._covariance = None if covariance is None else torch.as_tensor(covariance, dtype=torch.float64)
        own = None if self._covariance is None else self._covariance[:count, :count]
        inputs = {} if law is None else law.printed_inputs
        super().__init__(equation, features, own, step=None if law is None else law.map_step, inputs=inputs)
        self.varying = tuple(varying)
        self.names = dict(zip(self.varying, node_labels(equation.terms, varying, (*features, *inputs)), strict=True))
        self.law = law

    def _line(self, feature: str, style: Text) -> str:
        own: list[tuple[bool, str]] = []
        coupling: list[tuple[bool, str]] = []
        first = len(self.equation.terms)
        shown: list[str] = []
        sums = PrintedSums(style, style.neighbours, {*self._taken(), *self.names.values()})
        for k, (term, row) in enumerate(zip(self.equation.terms, self.coefficients, strict=True)):
            places = range(first, first + len(term.values))
            first += len(term.values)
            if row.feature != feature:
                continue
            labels = [self.names.get(place, label) for place, label in zip(places, self._labels[k], strict=True)]
            names = {**self._shown, **dict(zip(term.formula.parameters, labels, strict=True))}
            if k in self.names:
                number, negative = style.name(self.names[k]), False
            else:
                number, negative = style.number(with_error(abs(row.value), row.standard_error)), row.value < 0
            summed = term.coupling and term.formula.around is None
            (coupling if summed else own).append((negative, style.times(number, *sums.outside(term.formula, names))))
            shown += [
                self._number(place, style)
                for place in (k, *places)
                if place in self.names or place >= len(self.equation.terms)
            ]
        if len(coupling) > 1:
            coupling = [(False, signed_sum(coupling).join(style.bracket))]
        own += [(negative, style.neighbours + body) for negative, body in coupling]
        right = signed_sum(own) if own else "0"
        return style.comma.join(
            [
                f"{style.rate(feature)} = {right}",
                *sums.shown,
                *([", ".join(shown)] if shown else []),
                *self._notes(feature, style),
            ]
        )

    def _number(self, place: int, style: Text) -> str:
        """A number inside a term, or the mean and spread of one that varies."""
        label = [*(None for _ in self.equation.terms), *(name for names in self._labels for name in names)][place]
        value = self.equation.parameters[place].item()
        error = self._errors[place] if self._errors else math.nan
        name = style.name(self.names.get(place, label or ""))
        if place not in self.names or self.law is None:
            return f"{name} = {style.number(with_error(value, error))}"
        text = f"{name} = {self._followed(place, style)}"
        spread = float(self.law.spread[self.varying.index(place)])
        if spread == 0:
            return text
        count = len(self.law.node_values)
        return f"{text}, {style.words('spread ')}{style.number(short(f'{spread:.3g}'))}{style.words(f' over {count} nodes')}"

    def _followed(self, place: int, style: Text) -> str:
        """The mean of what varies, or the value at 0 and the slopes of attributes that it follows."""
        assert self.law is not None
        number = self.varying.index(place)
        mean = self.equation.parameters[place].item()
        count = len(self.equation.parameters)
        relations = [(count + k, one) for k, one in enumerate(self.law.relations) if one.number == number]
        rows = torch.tensor([place, *(k for k, _ in relations)])
        weights = torch.tensor([1.0, *(-one.centre for _, one in relations)], dtype=torch.float64)
        C = None if self._covariance is None else self._covariance[rows][:, rows]
        error = math.nan if C is None else float((weights @ C @ weights).clamp(min=0).sqrt())
        first = intercept(self.law.relations, number, mean)
        parts = [(first < 0, style.number(with_error(abs(first), error)))]
        for k, (_, one) in enumerate(relations, start=1):
            error = math.nan if C is None else float(C[k, k].clamp(min=0).sqrt())
            name = style.name(f"{one.attribute}_i")
            slope = style.number(with_error(abs(one.slope), error))
            parts.append((one.slope < 0, f"{slope} {style.words('log ') if one.log else ''}{name}"))
        return signed_sum(parts)
