"""DrivenNodeForm: a law as formulas in the states and in inputs, some of whose numbers have a value at each node."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import torch

from ..graph import Graph
from .closed_form import Equation
from .driven_form import DrivenForm
from .node_closed_form import NodeClosedForm
from .node_relation import Relation


class DrivenNodeForm(NodeClosedForm):
    """``NodeClosedForm`` of a law that is driven by inputs, as ``DrivenForm`` is.

    Args:
        equation: terms and numbers, in formulas of the features and then of the inputs.
        varying: which of ``equation.parameters`` vary.
        values: of each node, (n, q).
        spread: standard deviation of the values among nodes, (q,); by default that of ``values``.
        nodes: names; 0 to n - 1 by default.
        features: names of the d features.
        relations: how values follow attributes of nodes.
        inputs: names of the inputs in formulas, by the names they have in data.
        per_node: of which inputs each node has values of its own, for printing.

    Example:
        >>> import ndcn
        >>> from ndcn.laws import Formula, Term
        >>> terms = (Term(Formula("x", ("x", "u")), False), Term(Formula("u", ("x", "u")), False))
        >>> equation = Equation(terms, torch.tensor([-1.5, 1.0]), 2)
        >>> law = DrivenNodeForm(equation, [0], [[-1.0], [-2.0], [-1.0], [-2.0]], inputs={"pump": "u"})
        >>> law
        DrivenNodeForm(dx_i/dt = b_i x_i + 1 u,  b_i = -1.5, spread 0.577 over 4 nodes)
        >>> on = ndcn.Inputs([0.0], {"pump": [2.0]}, until=50.0)
        >>> ndcn.simulate(law, ndcn.networks.grid(4), torch.zeros(4, 1), [50.0], inputs=on).states.flatten()
        tensor([2., 1., 2., 1.])
    """

    def __init__(
        self,
        equation: Equation,
        varying: Sequence[int],
        values: Any,
        spread: Any = None,
        nodes: Sequence[Hashable] | None = None,
        features: Sequence[str] = ("x",),
        relations: Sequence[Relation] = (),
        *,
        inputs: Mapping[str, str],
        per_node: Sequence[str] = (),
    ) -> None:
        super().__init__(equation, varying, values, spread, nodes, (*features, *inputs.values()), relations)
        self.features = tuple(features)
        self.input_names, self.per_node = dict(inputs), tuple(per_node)
        if any(term.output >= len(self.features) for term in equation.terms):
            raise ValueError("a law says nothing about the rates of its inputs: terms are in the rates of features")

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs in data."""
        return tuple(self.input_names)

    @property
    def printed_inputs(self) -> dict[str, bool]:
        """Names of inputs in formulas, each with whether every node has its own."""
        return {short: name in self.per_node for name, short in self.input_names.items()}

    @property
    def mean(self) -> DrivenForm:
        """The law of a node with the mean of all that varies."""
        return DrivenForm(self.equation, self.features or (), self.input_names, self.per_node)

    def _like(
        self, equation: Equation, values: Any, nodes: Sequence[Hashable], relations: Sequence[Relation]
    ) -> DrivenNodeForm:
        return DrivenNodeForm(
            equation,
            self.varying,
            values,
            self.spread,
            nodes,
            self.features or (),
            relations,
            inputs=self.input_names,
            per_node=self.per_node,
        )

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """f(x_i) of a node with the means, where all inputs are 0."""
        return self.mean.node(x)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """g(x_i, x_j) of a node with the means, where all inputs are 0."""
        return self.mean.edge(x_i, x_j)

    def forward(
        self, t: torch.Tensor, x: torch.Tensor, graph: Graph, u: Mapping[str, torch.Tensor] | None = None
    ) -> torch.Tensor:
        """The law, every node with its own values; without inputs these are 0."""
        columns = [x.new_zeros(1, 1) if u is None else u[name].to(x) for name in self.input_names]
        z = torch.cat([x, *(column.expand(*x.shape[:-1], 1) for column in columns)], dim=-1)
        return super().forward(t, z, graph)[..., : x.shape[-1]]

    def description(self) -> dict[str, Any]:
        """The law in plain lists, texts and numbers, for JSON; ``from_description`` reads it."""
        return {**super().description(), "driven_nodes": True}

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> DrivenNodeForm:
        """The law that ``description`` describes; nothing in it is run.

        Raises:
            ValueError: it is not such a description.
        """
        if not isinstance(description, Mapping) or not {"inputs", "terms", "features"} <= set(description):
            raise ValueError("a description of a driven law whose nodes differ has features, inputs and terms")
        own = ("features", "inputs", "terms")
        driven = DrivenForm.from_description({key: description[key] for key in own})
        rest = {key: value for key, value in description.items() if key not in ("inputs", "driven_nodes")}
        plain = NodeClosedForm.from_description({**rest, "features": list(driven.names)})
        return cls(
            driven.equation,
            plain.varying,
            plain.node_values,
            plain.spread,
            plain.nodes,
            driven.features or (),
            plain.relations,
            inputs=driven.input_names,
            per_node=driven.per_node,
        )
