"""NodeEquation: an equation some of whose numbers have a value at each node, as a model that can be fitted."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch

from ..solve import CompiledTape, LawKernel, Steps
from .closed_form import Equation
from .formula import Formula, parsed
from .model import Slopes
from .network import Network
from .terms import Term

COEFFICIENT = "coefficient_"  # how a coefficient that varies is called inside its formula
SLOPE = "slope_"  # and the slope of an input, by which it moves between its knots
DEVIATION = "deviation_"  # and what is added to a number at each node: a feature that does not change


@dataclass(frozen=True)
class NodeEquation:
    """dx_i/dt = sum_k (c_k + u_ik) term_k, where inner parameters may be K + u_i, and du_i/dt = 0.

    Deviations u of nodes from the common numbers are carried along as features: states are (x_1, ..., x_d, u_1, ..., u_q). Its
    parameters are those of the equation, the common numbers from which nodes deviate.

    Args:
        equation: terms, and the numbers in common.
        varying: which of ``equation.parameters`` deviate, in order.
        features: names of the d features, and then of inputs.
        inputs: how many inputs; they and, after them, their slopes are carried along as features too: (x, u, slope of u, deviations).

    Example:
        >>> terms = (Term(Formula("x"), False), Term(Formula("x_j - x_i"), True))
        >>> model = NodeEquation(Equation(terms, torch.tensor([-1.0, 2.0], dtype=torch.float64)), (1,), ("x",))
        >>> [term.formula.text for term in model.augmented.terms]
        ['x', '(coefficient_ + deviation_0_i)*(x_j - x_i)']
    """

    equation: Equation
    varying: tuple[int, ...]
    features: tuple[str, ...] = ("x",)
    inputs: int = 0
    centred: ClassVar[bool] = True  # whether the mean of deviations belongs to the parameters

    @property
    def parameters(self) -> torch.Tensor:
        """The numbers in common, (P,)."""
        return self.equation.parameters

    def with_parameters(self, values: torch.Tensor) -> NodeEquation:
        """The same with other numbers in common."""
        return replace(self, equation=self.equation.with_parameters(values))

    @functools.cached_property
    def _parts(self) -> tuple[Equation, np.ndarray]:
        """The equation of states and deviations, and which of its parameters are those of this one, in their order."""
        moving = [f"{SLOPE}{k}" for k in range(self.inputs)]
        names = (*self.features, *moving, *(f"{DEVIATION}{k}" for k in range(len(self.varying))))
        count = len(self.equation.terms)
        numbers = self.equation.parameters.tolist()
        terms, coefficients, places = [], [], []  # places: of each parameter, "coefficient" or the term and name
        first = count
        inner: list[tuple[int, str]] = []
        for k, term in enumerate(self.equation.terms):
            own = [first + m for m in range(len(term.values))]
            first += len(own)
            by = {
                name: f"{DEVIATION}{self.varying.index(place)}_i"
                for name, place in zip(term.formula.parameters, own, strict=True)
                if place in self.varying
            }
            text = with_deviations(term.formula.text, by)
            values = dict(zip(term.formula.parameters, term.values, strict=True))
            coefficient = numbers[k]
            if k in self.varying:
                text = f"({COEFFICIENT} + {DEVIATION}{self.varying.index(k)}_i)*({text})"
                values[COEFFICIENT] = coefficient
                coefficient = 1.0
            formula = _formula(text, names)
            terms.append(Term(formula, term.coupling, term.output, tuple(values[name] for name in formula.parameters)))
            coefficients.append(coefficient)
            places.append((k, COEFFICIENT) if k in self.varying else None)
            inner += [(k, name) for name in term.formula.parameters]
        for m, name in enumerate(moving, start=len(self.features) - self.inputs):
            terms.append(Term(_formula(name, names), False, m))
            coefficients.append(1.0)
        made = Equation(tuple(terms), torch.tensor(coefficients, dtype=torch.float64), len(names))
        where = {}
        at = len(terms)
        for k, term in enumerate(made.terms[:count]):
            for name in term.formula.parameters:
                where[k, name] = at
                at += 1
        kept = [k if place is None else where[place] for k, place in enumerate(places)]
        return made, np.array(kept + [where[place] for place in inner], dtype=np.int64)

    @property
    def augmented(self) -> Equation:
        """The equation of states and deviations."""
        return self._parts[0]

    def rate(self, x: torch.Tensor, network: Network) -> torch.Tensor:
        """Rates of states and, 0, of deviations, at (K, n, d + q)."""
        return self.augmented.rate(x, network)

    def slopes(self, x: torch.Tensor, network: Network) -> Slopes:
        """Rates and their derivatives."""
        made, kept = self._parts
        slopes = made.slopes(x, network)
        return replace(slopes, columns=slopes.columns[..., torch.from_numpy(kept)])

    def kernel(self, network: Network) -> LawKernel | None:
        """The same in C; None where there is no compiled kernel."""
        made, kept = self._parts
        plain = made.kernel(network)
        return None if plain is None else _SomeParameters(plain.law, plain.graph, kept)

    def __getstate__(self) -> dict[str, Any]:
        """All but what is made of it."""
        return {name: value for name, value in vars(self).items() if name != "_parts"}


@dataclass(frozen=True, eq=False)
class _SomeParameters(LawKernel):
    """A kernel whose other parameters are constants."""

    kept: np.ndarray

    def slopes(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        rate, own, edges, columns = super().slopes(x)
        return rate, own, edges, columns[..., self.kept]

    def shots(self, x: np.ndarray, spans: np.ndarray, steps: int, method: Any) -> np.ndarray:
        return super().shots(x, spans, steps, method)[..., self.kept]

    def record(self, x0: np.ndarray, steps: Steps) -> CompiledTape | None:
        tape = super().record(x0, steps)
        return None if tape is None else replace(tape, sensitivities=tape.sensitivities[..., self.kept])


@functools.lru_cache(maxsize=4096)
def _formula(text: str, features: tuple[str, ...]) -> Formula:
    return Formula(text, features)


def with_deviations(text: str, names: Mapping[str, str]) -> str:
    """A formula in which some of its parameters are p + u: names of u by those of p.

    Example:
        >>> with_deviations("x_j^2/(K^2 + x_j^2)", {"K": "u_i"})
        'x_j ** 2 / ((K + u_i) ** 2 + x_j ** 2)'
        >>> with_deviations("x_j - x_i", {})
        'x_j - x_i'
    """
    if not names:
        return text

    class Deviating(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            if node.id not in names:
                return node
            return ast.BinOp(ast.Name(node.id, ast.Load()), ast.Add(), ast.Name(names[node.id], ast.Load()))

    tree = ast.parse(ast.unparse(parsed(text)), mode="eval")
    return ast.unparse(ast.fix_missing_locations(Deviating().visit(tree)))


def parameter_names(terms: Sequence[Term]) -> list[tuple[int, str | None]]:
    """Of each parameter of an equation its term, and its name inside that, None for the coefficient."""
    inner = [(k, name) for k, term in enumerate(terms) for name in term.formula.parameters]
    return [*((k, None) for k in range(len(terms))), *inner]
