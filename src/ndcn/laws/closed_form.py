"""A law as a sum of formulas: what the identification finds, and what files hold without running anything."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from ..graph import Graph
from .equation import Equation, Term
from .formula import Formula
from .law import Law
from .printing import Equations, checked_equation


class ClosedForm(Law):
    """dx_i/dt = sum_k c_k f_k(x_i) + sum_j A_ij sum_k c_k g_k(x_i, x_j), each f_k and g_k a formula.

    Its numbers, the coefficients and the parameters inside the formulas, are buffers in float64: ``state_dict`` holds
    them. Coupling terms of the form sum_r a_r(x_i) b_r(x_j) cost one sparse product for all of them; others are
    computed edge by edge.

    Args:
        equation: terms and coefficients.
        features: names of the d features; the formulas must be written in them.

    Attributes:
        features: the names; states must have just these.

    Raises:
        ValueError: the formulas are in other features, a term of f holds x_j, or numbers are missing or not finite.

    Example:
        >>> import torch
        >>> from ndcn import Graph
        >>> from ndcn.laws.equation import Equation, Term
        >>> from ndcn.laws.formula import Formula
        >>> terms = (Term(Formula("x"), False), Term(Formula("x_j^2/(K^2 + x_j^2)"), True, values=(1.0,)))
        >>> law = ClosedForm(Equation(terms, torch.tensor([-1.0, 1.0])))
        >>> law
        ClosedForm(dx_i/dt = -1 x_i + sum_j A_ij 1 x_j^2/(K^2 + x_j^2),  K = 1)
        >>> law(torch.tensor(0.0), torch.tensor([[1.0], [3.0]]), Graph.from_edges([(0, 1)]))
        tensor([[-0.1000],
                [-2.5000]])
    """

    coefficients: torch.Tensor
    inner: torch.Tensor

    def __init__(self, equation: Equation, features: Sequence[str] = ("x",)) -> None:
        super().__init__()
        features = checked_equation(equation, features)
        self.features = features
        self._terms = equation.terms
        self.register_buffer("coefficients", equation.coefficients.detach().double().clone())
        inner = [value for term in equation.terms for value in term.values]
        self.register_buffer("inner", torch.tensor(inner, dtype=torch.float64))
        self._parts = {k: term.formula.separated() for k, term in enumerate(self._terms) if term.coupling}

    @property
    def equation(self) -> Equation:
        """Terms and coefficients, with the numbers as they are now."""
        like = Equation(self._terms, self.coefficients.double().cpu(), len(self.features or ()))
        return like.with_parameters(torch.cat([like.coefficients, self.inner.double().cpu()]))

    def several(self, parameters: torch.Tensor) -> ClosedForm:
        """Laws with these coefficients and numbers inside, (R, P), side by side: their states and rates are (R, n, d)."""
        law = ClosedForm(self.equation, self.features or ())
        law.coefficients, law.inner = parameters.unsqueeze(1).tensor_split([len(self._terms)], dim=-1)
        return law

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """f(x_i), the terms of the node itself."""
        own = (k for k, term in enumerate(self._terms) if not term.coupling)
        return self._total(own, x, None)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """g(x_i, x_j), the terms that are summed over neighbours."""
        return self._total(self._parts, x_i, x_j)

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        """The law; by one sparse product where the formulas allow it."""
        if not self._keeps("edge", ClosedForm):
            return super().forward(t, x, graph)
        rate = self.node(x)
        if any(parts is not None for parts in self._parts.values()):
            rate = rate + self._products(x, graph)
        if rest := [k for k, parts in self._parts.items() if parts is None]:
            i, j = graph.edge_index(x.device)
            rate = rate + graph.aggregate(self._total(rest, x.index_select(-2, i), x.index_select(-2, j)))
        return rate

    def description(self) -> dict[str, Any]:
        """The law in plain lists, texts and numbers, for JSON; ``from_description`` reads it.

        Example:
            >>> from ndcn.laws.formula import Formula
            >>> law = ClosedForm(Equation((Term(Formula("x_j - x_i"), True),), torch.tensor([0.5])))
            >>> law.description()
            {'features': ['x'], 'terms': [{'formula': 'x_j - x_i', 'coupling': True, 'output': 'x', 'values': [],
             'coefficient': 0.5}]}
        """
        equation = self.equation
        names = list(self.features or ())
        terms = [
            {
                "formula": term.formula.text,
                "coupling": term.coupling,
                "output": names[term.output],
                "values": list(term.values),
                "coefficient": c,
            }
            for term, c in zip(equation.terms, equation.coefficients.tolist(), strict=True)
        ]
        return {"features": names, "terms": terms}

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> ClosedForm:
        """The law that ``description`` describes; formulas are read as such, nothing in it is run.

        Raises:
            ValueError: it is not such a description.

        Example:
            >>> term = {"formula": "x_j - x_i", "coupling": True, "output": "x", "values": [], "coefficient": 0.5}
            >>> ClosedForm.from_description({"features": ["x"], "terms": [term]})
            ClosedForm(dx_i/dt = sum_j A_ij 0.5 (x_j - x_i))
        """
        _check_keys("a description of a law", description, ("features", "terms"))
        names = description["features"]
        rows = description["terms"]
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"features must be a list of names, got {names!r}")
        if not isinstance(rows, list):
            raise ValueError(f"terms must be a list, got {type(rows).__name__}")
        terms = tuple(_term(row, names) for row in rows)
        coefficients = torch.tensor([_real(row["coefficient"]) for row in rows], dtype=torch.float64)
        return cls(Equation(terms, coefficients, len(names)), names)

    def extra_repr(self) -> str:
        """The equation, for printing."""
        return str(Equations(self.equation, self.features or ())).replace("\n", ";  ")

    def _numbers(self, x: torch.Tensor) -> tuple[tuple[torch.Tensor, ...], list[dict[str, torch.Tensor]]]:
        """Coefficients, and for each term its parameters by name, in the dtype of x."""
        c, inner = (buffer.to(x.device, x.dtype).unbind(-1) for buffer in (self.coefficients, self.inner))
        named = []
        first = 0
        for term in self._terms:
            names = term.formula.parameters
            named.append(dict(zip(names, inner[first : first + len(names)], strict=True)))
            first += len(names)
        return c, named

    def _total(self, terms: Iterable[int], x_i: torch.Tensor, x_j: torch.Tensor | None) -> torch.Tensor:
        """sum_k c_k term_k in the rate of each feature, at each state or edge."""
        c, named = self._numbers(x_i)
        columns = list(torch.zeros_like(x_i).unbind(-1))
        for k in terms:
            term = self._terms[k]
            columns[term.output] = columns[term.output] + c[k] * term.formula(x_i, x_j, list(named[k].values()))
        return torch.stack(columns, dim=-1)

    def _products(self, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        """sum_r c_r a_r(x_i) (A b_r(x))_i of all terms that have this form."""
        c, named = self._numbers(x)
        messages: list[torch.Tensor] = []
        columns: dict[tuple[Any, ...], int] = {}
        factors: list[tuple[int, int, torch.Tensor]] = []  # feature, column of messages, c_r a_r(x_i)
        for k, parts in self._parts.items():
            for sign, own, other in parts or ():
                key = (other.text, *((k, name) for name in other.parameters))
                if key not in columns:
                    columns[key] = len(messages)
                    messages.append(other(x, x, [named[k][name] for name in other.parameters]))
                factor = sign * c[k] * own(x, None, [named[k][name] for name in own.parameters])
                factors.append((self._terms[k].output, columns[key], factor))
        sums = (graph.adjacency @ torch.stack(messages, dim=-1)).unbind(-1)
        rate = list(torch.zeros_like(x).unbind(-1))
        for output, column, factor in factors:
            rate[output] = rate[output] + factor * sums[column]
        return torch.stack(rate, dim=-1)


def _term(row: Any, features: Sequence[str]) -> Term:
    """One term of a description."""
    _check_keys("each term", row, ("formula", "coupling", "output", "values", "coefficient"))
    if not isinstance(row["formula"], str):
        raise ValueError(f"a formula is a text, got {row['formula']!r}")
    if not isinstance(row["coupling"], bool):
        raise ValueError(f"coupling must be true or false, got {row['coupling']!r}")
    if row["output"] not in features:
        raise ValueError(f"output must be one of the features {', '.join(features)}, got {row['output']!r}")
    if not isinstance(row["values"], list):
        raise ValueError(f"values must be a list of numbers, got {row['values']!r}")
    values = tuple(_real(value) for value in row["values"])
    return Term(Formula(row["formula"], features), row["coupling"], features.index(row["output"]), values)


def _check_keys(what: str, value: Any, keys: tuple[str, ...]) -> None:
    if not isinstance(value, Mapping) or set(value) != set(keys):
        got = ", ".join(map(str, value)) if isinstance(value, Mapping) else type(value).__name__
        raise ValueError(f"{what} has {', '.join(keys)}; got {got}")


def _real(value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max:
        return float(value)
    raise ValueError(f"expected a finite number, got {str(value)[:40]}")
