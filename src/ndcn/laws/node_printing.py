"""Printing a law whose nodes differ: what varies gets a name, with its mean and its spread among nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .node_equation import parameter_names
from .printing import Equations, parameter_labels, signed_sum, state_names, with_error
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
        law: the law, with the values of nodes.

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
        super().__init__(equation, features, covariance, step=None if law is None else law.map_step)
        self.varying = tuple(varying)
        self.names = dict(zip(self.varying, node_labels(equation.terms, varying, features), strict=True))
        self.law = law

    def _line(self, feature: str, style: Text) -> str:
        own: list[tuple[bool, str]] = []
        coupling: list[tuple[bool, str]] = []
        first = len(self.equation.terms)
        shown: list[str] = []
        for k, (term, row) in enumerate(zip(self.equation.terms, self.coefficients, strict=True)):
            places = range(first, first + len(term.values))
            first += len(term.values)
            if row.feature != feature:
                continue
            labels = [self.names.get(place, label) for place, label in zip(places, self._labels[k], strict=True)]
            names = {**state_names(self.features), **dict(zip(term.formula.parameters, labels, strict=True))}
            if k in self.names:
                number, negative = style.name(self.names[k]), False
            else:
                number, negative = style.number(with_error(abs(row.value), row.standard_error)), row.value < 0
            (coupling if term.coupling else own).append((negative, style.times(number, term.formula, names)))
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
            [f"{style.rate(feature)} = {right}", *([", ".join(shown)] if shown else []), *self._notes(feature, style)]
        )

    def _number(self, place: int, style: Text) -> str:
        """A number inside a term, or the mean and spread of one that varies."""
        label = [*(None for _ in self.equation.terms), *(name for names in self._labels for name in names)][place]
        value = self.equation.parameters[place].item()
        error = self._errors[place] if self._errors else math.nan
        text = f"{style.name(self.names.get(place, label or ''))} = {style.number(with_error(value, error))}"
        if place not in self.names or self.law is None:
            return text
        spread = float(self.law.spread[self.varying.index(place)])
        count = len(self.law.node_values)
        return f"{text}, {style.words('spread ')}{style.number(short(f'{spread:.3g}'))}{style.words(f' over {count} nodes')}"
