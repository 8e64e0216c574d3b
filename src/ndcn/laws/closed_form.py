"""A law as a sum of formulas: what the search fits, what a field follows, and what files hold without running anything."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from ..graph import Graph
from ..solve import LawArrays, LawKernel
from .divided import DIVISORS, divided
from .formula import Formula, plain_names
from .law import Law
from .model import Model, Slopes
from .network import Network, graph_arrays
from .printing import Equations
from .programs import equation_program
from .sums import functions_of_sums, summed_inside
from .terms import Term, add_slopes, separated, values_of

_OPTIONAL = ("map_step", "divided_by")  # keys of a description that most laws do not have
_TERM = ("formula", "coupling", "output", "values", "coefficient")  # keys of a term in a description


@dataclass(frozen=True)
class Equation:
    """dx_i/dt = sum_k c_k term_k: terms, numbers, and all ways to compute with them.

    As a ``Model`` it has one vector of parameters, the coefficients and then those inside the terms, and on a ``Network`` rates
    and their derivatives. With a ``base``, a model without parameters to be found, it is a correction: the base's rate is added there.

    As a field it runs on a ``Graph``, in the dtype of the states and differentiable by them, with its own parameters or others of
    shape (..., P). Both ways stay: a search computes thousands of equations in numpy's sparse products, one batch of states after
    another, and a field is followed and trained by torch.
    """

    terms: tuple[Term, ...]
    coefficients: torch.Tensor
    features: int = 1
    base: Model | None = None

    def __str__(self) -> str:
        """On one line, for logs and evidence; ``Equations`` prints it for people."""
        return " ".join(
            f"{c:+.4g}[{term}]{tuple(round(v, 5) for v in term.values) or ''}"
            for c, term in zip(self.coefficients.tolist(), self.terms, strict=True)
        )

    @property
    def families(self) -> tuple[tuple[str, bool, int], ...]:
        """Those of its terms, in order; equations of the same families differ in numbers alone."""
        return tuple(sorted(term.family for term in self.terms))

    @property
    def parameters(self) -> torch.Tensor:
        """Coefficients, then the parameters of each term in turn."""
        inner = [v for term in self.terms for v in term.values]
        return torch.cat([self.coefficients, torch.tensor(inner, dtype=torch.float64)])

    def with_parameters(self, values: torch.Tensor) -> Equation:
        """The same terms with other numbers."""
        count = len(self.terms)
        inner = iter(values[count:].tolist())
        terms = (replace(term, values=tuple(itertools.islice(inner, len(term.values)))) for term in self.terms)
        return replace(self, terms=tuple(terms), coefficients=values[:count].clone())

    def checked(self, features: Sequence[str]) -> tuple[str, ...]:
        """The names of the features, if the equation is one of these and all its numbers are there.

        Raises:
            ValueError: it is not.
        """
        names = tuple(features)
        if not plain_names(names):
            raise ValueError(f"features must be distinct names of letters, digits and _, not of functions, got {names}")
        if self.features != len(names):
            raise ValueError(f"the equation is of {self.features} features, but there are names for {len(names)}")
        if self.coefficients.shape != (len(self.terms),):
            raise ValueError(
                f"{len(self.terms)} terms need as many coefficients, got shape {tuple(self.coefficients.shape)}"
            )
        for term in self.terms:
            formula = term.formula
            if formula.features != names:
                raise ValueError(f"{formula.text!r} is written in {formula.features}, but the features are {names}")
            if (formula.on_edges or formula.around is not None) and not term.coupling:
                raise ValueError(f"{formula.text!r} holds the state of a neighbour, so it must be a coupling term")
            if len(term.values) != len(formula.parameters):
                raise ValueError(f"{formula.text!r} has the parameters {formula.parameters}, got values {term.values}")
            if not 0 <= term.output < len(names):
                raise ValueError(
                    f"{formula.text!r} is in the rate of feature {term.output}, but there are {len(names)}"
                )
        if not self.parameters.isfinite().all():
            raise ValueError(f"the numbers of an equation must be finite, got {self.parameters.tolist()}")
        return names

    # As a model -------------------------------------------------------------------------------------------------

    def rate(self, x: torch.Tensor, network: Network) -> torch.Tensor:
        """dx/dt at states (K, n, d)."""
        out = torch.zeros_like(x) if self.base is None else self.base.rate(x, network).clone()
        cache: dict[str, torch.Tensor] = {}
        for term, c in zip(self.terms, self.coefficients.tolist(), strict=True):
            out[..., term.output] += c * values_of(term, x, network, cache)
        return out

    def slopes(self, x: torch.Tensor, network: Network) -> Slopes:
        """dx/dt and its derivatives at states (K, n, d)."""
        K, n, d = x.shape
        count = len(self.terms)
        own = x.new_zeros(K, n, d, d)
        edges = x.new_zeros(K, len(network.i), d, d)
        columns = x.new_zeros(K, n, d, len(self.parameters))
        inner = count
        for k, (term, c) in enumerate(zip(self.terms, self.coefficients.tolist(), strict=True)):
            o = term.output
            value, by_parameter = add_slopes(term, c, x, network, own[..., o, :], edges[..., o, :])
            columns[..., o, k] = value
            for slope in by_parameter:
                columns[..., o, inner] = c * slope
                inner += 1
        rate = (columns[..., :count] * self.coefficients).sum(-1)
        return Slopes(rate, own, edges, columns).on(self.base, x, network)

    @functools.cached_property
    def _arrays(self) -> LawArrays:
        return equation_program(self.terms, self.features).law(self.parameters.numpy())

    def __getstate__(self) -> dict[str, Any]:
        """All but what holds addresses, for copies and other processes."""
        return {name: value for name, value in vars(self).items() if name != "_arrays"}

    def kernel(self, network: Network) -> LawKernel | None:
        """The same in C; None beside a base, or where there is no compiled kernel."""
        if self.base is not None or network.arrays is None:
            return None
        return LawKernel(self._arrays, network.arrays)

    # As a field ---------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _separated(self) -> dict[int, list[tuple[float, Formula, Formula]] | None]:
        """Coupling terms as sums of products a(x_i) b(x_j), or None for those that are not."""
        plain = [k for k, term in enumerate(self.terms) if term.coupling and term.formula.around is None]
        return {k: separated(self.terms[k].formula) for k in plain}

    def node(self, x: torch.Tensor, parameters: torch.Tensor | None = None) -> torch.Tensor:
        """f(x_i), the terms of the node itself."""
        return self._total([k for k, term in enumerate(self.terms) if not term.coupling], x, None, parameters)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor, parameters: torch.Tensor | None = None) -> torch.Tensor:
        """g(x_i, x_j), the terms that are summed over neighbours; what is summed inside a function is there without a factor."""
        _, named = self._numbers(x_i, parameters)
        return self.messages(x_i, x_j, parameters) + summed_inside(self.terms, x_i, x_j, named)

    def messages(self, x_i: torch.Tensor, x_j: torch.Tensor, parameters: torch.Tensor | None = None) -> torch.Tensor:
        """The terms that are summed over neighbours, without those inside functions of sums."""
        return self._total(self._separated, x_i, x_j, parameters)

    def of_sums(
        self, x: torch.Tensor, graph: Graph, parameters: torch.Tensor | None, at_edges: torch.Tensor | None
    ) -> torch.Tensor:
        """c_k phi_k(x_i, sum_j A_ij g_k(x_i, x_j)); numbers may be of each node, and are then given for each edge too."""
        numbers = self._numbers(x, parameters)
        return functions_of_sums(self.terms, x, graph, numbers, self._numbers(x, at_edges)[1])

    def neighbours(self, x: torch.Tensor, graph: Graph, parameters: torch.Tensor | None = None) -> list[torch.Tensor]:
        """sum_j A_ij g(x_i, x_j), in parts to be added: by one sparse product for all terms that it serves, by edges for others."""
        parts = []
        if any(products is not None for products in self._separated.values()):
            parts.append(self._products(x, graph, parameters))
        if rest := [k for k, products in self._separated.items() if products is None]:
            messages = self._total(rest, *graph.ends(x), parameters)
            parts.append(graph.aggregate(messages))
        if any(term.formula.around is not None for term in self.terms):
            parts.append(self.of_sums(x, graph, parameters, parameters))
        return parts

    def _numbers(
        self, x: torch.Tensor, parameters: torch.Tensor | None
    ) -> tuple[tuple[torch.Tensor, ...], list[dict[str, torch.Tensor]]]:
        """Coefficients, and for each term its parameters by name, in the dtype of x."""
        numbers = (self.parameters if parameters is None else parameters).to(x.device, x.dtype).unbind(-1)
        inner = iter(numbers[len(self.terms) :])
        named = [{name: next(inner) for name in term.formula.parameters} for term in self.terms]
        return numbers[: len(self.terms)], named

    def _total(
        self, terms: Iterable[int], x_i: torch.Tensor, x_j: torch.Tensor | None, parameters: torch.Tensor | None
    ) -> torch.Tensor:
        """sum_k c_k term_k in the rate of each feature, at each state or edge."""
        c, named = self._numbers(x_i, parameters)
        columns = list(torch.zeros_like(x_i).unbind(-1))
        for k in terms:
            term = self.terms[k]
            columns[term.output] = columns[term.output] + c[k] * term.formula(x_i, x_j, list(named[k].values()))
        return torch.stack(columns, dim=-1)

    def _products(self, x: torch.Tensor, graph: Graph, parameters: torch.Tensor | None) -> torch.Tensor:
        """sum_r c_r a_r(x_i) (A b_r(x))_i of all terms that have this form."""
        c, named = self._numbers(x, parameters)
        messages: list[torch.Tensor] = []
        columns: dict[tuple[Any, ...], int] = {}
        factors: list[tuple[int, int, torch.Tensor]] = []  # feature, column of messages, c_r a_r(x_i)
        for k, parts in self._separated.items():
            for sign, own, other in parts or ():
                key = (other.text, *((k, name) for name in other.parameters))
                if key not in columns:
                    columns[key] = len(messages)
                    messages.append(other(x, x, [named[k][name] for name in other.parameters]))
                factor = sign * c[k] * own(x, None, [named[k][name] for name in own.parameters])
                factors.append((self.terms[k].output, columns[key], factor))
        sums = (graph.adjacency @ torch.stack(messages, dim=-1)).unbind(-1)
        rate = list(torch.zeros_like(x).unbind(-1))
        for output, column, factor in factors:
            rate[output] = rate[output] + factor * sums[column]
        return torch.stack(rate, dim=-1)


class ClosedForm(Law):
    """dx_i/dt = sum_k c_k f_k(x_i) + sum_j A_ij sum_k c_k g_k(x_i, x_j), each f_k and g_k a formula.

    A coupling may also be a function of sums, c_k phi_k(x_i, sum_j A_ij g_k(x_i, x_j)): ``Formula("tanh(a*sum(x_j))")``.

    An ``Equation`` as a law. Its numbers, the coefficients and the parameters inside the formulas, are buffers in float64:
    ``state_dict`` holds them. Coupling terms of the form sum_r a_r(x_i) b_r(x_j) cost one sparse product for all of them; others are
    computed edge by edge.

    Args:
        equation: terms and coefficients.
        features: names of the d features; the formulas must be written in them, and states must have just these.

    Raises:
        ValueError: the formulas are in other features, a term of f holds x_j, or numbers are missing or not finite.

    Example:
        >>> import torch
        >>> from ndcn import Graph
        >>> from ndcn.laws import Formula, Term
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
    divided_by: str | None = None
    """What sums over neighbours are divided by: "in-degree", "weights" (their sum), "degrees" (the root of both), or None."""

    def __init__(self, equation: Equation, features: Sequence[str] = ("x",)) -> None:
        super().__init__()
        self.features = equation.checked(features)
        self._equation = equation
        self.register_buffer("coefficients", equation.coefficients.detach().double().clone())
        self.register_buffer("inner", equation.parameters[len(equation.terms) :].detach().clone())

    @property
    def equation(self) -> Equation:
        """Terms and coefficients, with the numbers as they are now."""
        numbers = self._parameters_now().double().cpu()
        return replace(self._equation, features=len(self.features or ()), base=None).with_parameters(numbers)

    def with_parameters(self, parameters: torch.Tensor) -> ClosedForm:
        """The same law with other coefficients and numbers inside, (P,)."""
        return self._as_map(ClosedForm(self.equation.with_parameters(parameters), self.features or ()))

    def _as_map(self, other: ClosedForm) -> ClosedForm:
        other.map_step, other.divided_by = self.map_step, self.divided_by
        return other

    def several(self, parameters: torch.Tensor) -> ClosedForm:
        """Laws with these coefficients and numbers inside, (R, P), side by side: their states and rates are (R, n, d)."""
        law = self._as_map(ClosedForm(self.equation, self.features or ()))
        law.coefficients, law.inner = parameters.unsqueeze(1).tensor_split([len(self._equation.terms)], dim=-1)
        return law

    def _parameters_now(self) -> torch.Tensor:
        return torch.cat([self.coefficients, self.inner], dim=-1)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """f(x_i), the terms of the node itself."""
        return self._equation.node(x, self._parameters_now())

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """g(x_i, x_j), the terms that are summed over neighbours."""
        return self._equation.edge(x_i, x_j, self._parameters_now())

    def forward(
        self, t: torch.Tensor, x: torch.Tensor, graph: Graph, u: Mapping[str, torch.Tensor] | None = None
    ) -> torch.Tensor:
        """The law; by one sparse product where the formulas allow it."""
        if not self._keeps("edge", ClosedForm):
            return super().forward(t, x, graph)
        rate = self.node(x)
        for part in self._equation.neighbours(x, divided(graph, self.divided_by), self._parameters_now()):
            rate = rate + part
        return rate

    def law_kernel(self, graph: Graph, features: int) -> LawKernel | None:
        """The law in C."""
        arrays = graph_arrays(divided(graph, self.divided_by))
        plain = self.coefficients.dim() == 1 and self.coefficients.device.type == "cpu" and type(self) is ClosedForm
        if arrays is None or not plain or features != len(self.features or ()):
            return None
        return LawKernel(self.equation._arrays, arrays)

    def description(self) -> dict[str, Any]:
        """The law in plain lists, texts and numbers, for JSON; ``from_description`` reads it.

        Example:
            >>> from ndcn.laws import Formula, Term
            >>> law = ClosedForm(Equation((Term(Formula("x_j - x_i"), True),), torch.tensor([0.5])))
            >>> law.description()
            {'features': ['x'], 'terms': [{'formula': 'x_j - x_i', 'coupling': True, 'output': 'x', 'values': [],
             'coefficient': 0.5}]}
        """
        equation = self.equation
        names = list(self.features or ())
        terms = []
        for term, c in zip(equation.terms, equation.coefficients.tolist(), strict=True):
            values = (term.formula.text, term.coupling, names[term.output], list(term.values), c)
            terms.append(dict(zip(_TERM, values, strict=True)))
        step: dict[str, Any] = {} if self.map_step is None else {"map_step": self.map_step}
        if self.divided_by is not None:
            step["divided_by"] = self.divided_by
        return {"features": names, "terms": terms, **step}

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
        step, over = (description.get(key) if isinstance(description, Mapping) else None for key in _OPTIONAL)
        if over is not None and over not in DIVISORS:
            raise ValueError(f"sums may be divided by {', '.join(DIVISORS)}, got {str(over)[:40]!r}")
        given = [key for key, value in zip(_OPTIONAL, (step, over), strict=True) if value is not None]
        _check_keys("a description of a law", description, ("features", "terms", *given))
        if step is not None and not _real(step) > 0:
            raise ValueError(f"the step of a map must be a number > 0, got {step!r}")
        names = description["features"]
        rows = description["terms"]
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"features must be a list of names, got {names!r}")
        if not isinstance(rows, list):
            raise ValueError(f"terms must be a list, got {type(rows).__name__}")
        terms = tuple(_term(row, names) for row in rows)
        coefficients = torch.tensor([_real(row["coefficient"]) for row in rows], dtype=torch.float64)
        law = cls(Equation(terms, coefficients, len(names)), names)
        law.map_step, law.divided_by = step, over
        return law

    def _as_printed(self) -> Equations:
        return Equations(self.equation, self.features or (), step=self.map_step, divided_by=self.divided_by)

    def extra_repr(self) -> str:
        """The equation, for printing."""
        return str(self._as_printed()).replace("\n", ";  ")


def _term(row: Any, features: Sequence[str]) -> Term:
    _check_keys("each term", row, _TERM)
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
