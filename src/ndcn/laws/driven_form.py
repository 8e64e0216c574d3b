"""DrivenForm: a law as formulas in the states and in inputs u(t)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from ..graph import Graph
from .closed_form import ClosedForm, Equation
from .printing import Equations


class DrivenForm(ClosedForm):
    """dx_i/dt = sum_k c_k f_k(x_i, u) + sum_j A_ij sum_k c_k g_k(x_i, x_j, u): a closed form that is driven by inputs.

    Args:
        equation: terms and coefficients, in formulas of the features and then of the inputs.
        features: names of the d features.
        inputs: names of the inputs in formulas, by the names they have in data.
        per_node: of which inputs each node has values of its own, for printing.

    Raises:
        ValueError: as ``ClosedForm``; or a term in the rate of an input.

    Example:
        >>> import ndcn
        >>> from ndcn.laws import Formula, Term
        >>> terms = (Term(Formula("x", ("x", "u")), False), Term(Formula("u", ("x", "u")), False))
        >>> law = DrivenForm(Equation(terms, torch.tensor([-1.0, 0.5]), 2), ["x"], {"pump": "u"})
        >>> law.inputs
        ('pump',)
        >>> on = ndcn.Inputs([0.0], {"pump": [2.0]}, until=50.0)
        >>> ndcn.simulate(law, ndcn.networks.grid(4), torch.zeros(4, 1), [50.0], inputs=on).states.flatten()
        tensor([1., 1., 1., 1.])
    """

    def __init__(
        self, equation: Equation, features: Sequence[str], inputs: Mapping[str, str], per_node: Sequence[str] = ()
    ) -> None:
        names = (*features, *inputs.values())
        super().__init__(equation, names)
        self.features = tuple(features)
        self.input_names = dict(inputs)
        self.per_node = tuple(per_node)
        if any(term.output >= len(self.features) for term in equation.terms):
            raise ValueError("a law says nothing about the rates of its inputs: terms are in the rates of features")

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs in data."""
        return tuple(self.input_names)

    @property
    def names(self) -> tuple[str, ...]:
        """Names in formulas: of the features, then of the inputs."""
        return (*(self.features or ()), *self.input_names.values())

    @property
    def equation(self) -> Equation:
        """Terms and coefficients, with the numbers as they are now."""
        return replace(self._equation, base=None).with_parameters(self._parameters_now().double().cpu())

    def with_parameters(self, parameters: torch.Tensor) -> DrivenForm:
        """The same law with other coefficients and numbers inside, (P,)."""
        return self._like(self.equation.with_parameters(parameters))

    def several(self, parameters: torch.Tensor) -> DrivenForm:
        """Laws with these coefficients and numbers inside, (R, P), side by side: their states and rates are (R, n, d)."""
        law = self._like(self.equation)
        law.coefficients, law.inner = parameters.unsqueeze(1).tensor_split([len(self._equation.terms)], dim=-1)
        return law

    def _like(self, equation: Equation) -> DrivenForm:
        return DrivenForm(equation, self.features or (), self.input_names, self.per_node)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """f(x_i) where all inputs are 0."""
        return super().node(self._with(x, None))[..., : x.shape[-1]]

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """g(x_i, x_j) where all inputs are 0."""
        return super().edge(self._with(x_i, None), self._with(x_j, None))[..., : x_i.shape[-1]]

    def forward(
        self, t: torch.Tensor, x: torch.Tensor, graph: Graph, u: Mapping[str, torch.Tensor] | None = None
    ) -> torch.Tensor:
        """The law; by one sparse product where the formulas allow it."""
        z = self._with(x, u)
        rate = self._equation.node(z, self._parameters_now())
        for part in self._equation.neighbours(z, graph, self._parameters_now()):
            rate = rate + part
        return rate[..., : x.shape[-1]]

    def _with(self, x: torch.Tensor, u: Mapping[str, torch.Tensor] | None) -> torch.Tensor:
        """States with inputs, or zeros, as further features."""
        columns = [x.new_zeros(1, 1) if u is None else u[name].to(x) for name in self.input_names]
        return torch.cat([x, *(column.expand(*x.shape[:-1], 1) for column in columns)], dim=-1)

    def equations(self, covariance: Any = None) -> Equations:
        """To be read, with standard errors from the covariance of all its numbers if that is known."""
        own = {short: name in self.per_node for name, short in self.input_names.items()}
        return Equations(self.equation, self.features or (), covariance, inputs=own)

    def extra_repr(self) -> str:
        """The equation, for printing."""
        return str(self.equations()).replace("\n", ";  ")

    def description(self) -> dict[str, Any]:
        """The law in plain lists, texts and numbers, for JSON; ``from_description`` reads it."""
        equation, names = self.equation, list(self.names)
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
        inputs = [
            {"name": name, "as": short, "per_node": name in self.per_node} for name, short in self.input_names.items()
        ]
        return {"features": list(self.features or ()), "inputs": inputs, "terms": terms}

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> DrivenForm:
        """The law that ``description`` describes; formulas are read as such, nothing in it is run.

        Raises:
            ValueError: it is not such a description.
        """
        features, given = description.get("features"), description.get("inputs")
        if not isinstance(features, list) or not isinstance(given, list) or not given:
            raise ValueError("a driven law has features and inputs")
        if not all(isinstance(one, Mapping) and set(one) == {"name", "as", "per_node"} for one in given):
            raise ValueError("each input of a law has name, as and per_node")
        inputs = {str(one["name"]): str(one["as"]) for one in given}
        plain = ClosedForm.from_description(
            {"features": [*features, *inputs.values()], "terms": description.get("terms")}
        )
        return cls(plain.equation, features, inputs, [str(one["name"]) for one in given if one["per_node"]])
