"""NodeClosedForm: a law as a formula some of whose numbers have a value at each node."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from ..graph import Graph
from .closed_form import ClosedForm, Equation
from .node_equation import parameter_names
from .node_law import NodeLaw
from .node_printing import NodeEquations, node_labels
from .node_relation import Relation


class NodeClosedForm(NodeLaw):
    """dx_i/dt = sum_k c_ik f_k(x_i; p_i) + sum_j A_ij sum_k c_ik g_k(x_i, x_j; p_i): some c and p vary among nodes, others are common.

    Nodes are known by their names. Nodes of another graph that are not among them have the mean; so have all nodes of a graph without
    names that has another number of nodes. What follows an attribute (``relations``) goes with that of the graph: new nodes have
    the value that their attribute says, and a known node's value moves as its attribute does.

    Args:
        equation: terms and numbers; of those that vary, the means.
        varying: which of ``equation.parameters`` vary.
        values: of each node, (n, q).
        spread: standard deviation of the values among nodes, (q,); by default that of ``values``.
        nodes: names; 0 to n - 1 by default.
        features: names of the d features.
        relations: how values follow attributes of nodes; ``spread`` is then of what they leave.

    Raises:
        ValueError: a number is missing or not finite, or there is no such parameter.

    Example:
        >>> from ndcn import Graph
        >>> from ndcn.laws import Formula, Term
        >>> terms = (Term(Formula("x"), False), Term(Formula("x_j - x_i"), True))
        >>> equation = Equation(terms, torch.tensor([-1.5, 0.5]))
        >>> law = NodeClosedForm(equation, [0], torch.tensor([[-1.0], [-2.0]]))
        >>> law(torch.tensor(0.0), torch.tensor([[1.0], [3.0]]), Graph.from_edges([(0, 1)]))
        tensor([[ 0.],
                [-7.]])
        >>> law
        NodeClosedForm(dx_i/dt = b_i x_i + sum_j A_ij 0.5 (x_j - x_i),  b_i = -1.5, spread 0.707 over 2 nodes)
    """

    coefficients: torch.Tensor
    inner: torch.Tensor

    def __init__(
        self,
        equation: Equation,
        varying: Sequence[int],
        values: Any,
        spread: Any = None,
        nodes: Sequence[Hashable] | None = None,
        features: Sequence[str] = ("x",),
        relations: Sequence[Relation] = (),
    ) -> None:
        super().__init__()
        self.features = equation.checked(features)
        self._equation = equation
        self.relations = tuple(relations)
        count = len(equation.parameters)
        self.varying = tuple(varying)
        if not self.varying or len(set(self.varying)) < len(self.varying) or not set(self.varying) <= set(range(count)):
            raise ValueError(f"varying must be some of the {count} parameters, 0 to {count - 1}, got {self.varying}")
        self._set_values(values, spread, nodes, len(self.varying))
        self.register_buffer("coefficients", equation.coefficients.detach().double().clone())
        self.register_buffer("inner", equation.parameters[len(equation.terms) :].detach().clone())
        self._seed: int | None = None  # of values of new nodes; None takes the mean
        self._last: tuple[Graph, torch.Tensor, torch.Tensor, torch.Tensor] | None = None
        self._laws: list[NodeClosedForm] | None = None  # several side by side, see ``several``
        self._on: tuple[Graph, torch.Tensor] | None = None

    @property
    def equation(self) -> Equation:
        """Terms and numbers in common, and the means of the others."""
        numbers = torch.cat([self.coefficients, self.inner]).double().cpu()
        return replace(self._equation, base=None).with_parameters(numbers)

    @property
    def printed_inputs(self) -> dict[str, bool]:
        """Names of inputs in formulas, each with whether every node has its own."""
        return {}

    def _like(
        self, equation: Equation, values: Any, nodes: Sequence[Hashable], relations: Sequence[Relation]
    ) -> NodeClosedForm:
        """The same law with other numbers."""
        made = NodeClosedForm(equation, self.varying, values, self.spread, nodes, self.features or (), relations)
        made.map_step = self.map_step
        return made

    @property
    def mean(self) -> ClosedForm:
        """The law of a node with the mean of all that varies."""
        law = ClosedForm(self.equation, self.features or ())
        law.map_step = self.map_step
        return law

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of what varies, as the equations print them, in order.

        Example:
            >>> from ndcn.laws import Formula, Term
            >>> hill = Term(Formula("x_j/(K + x_j)"), True, values=(1.0,))
            >>> NodeClosedForm(Equation((hill,), torch.tensor([1.0])), [1], torch.ones(3, 1)).labels
            ('K_i',)
        """
        return node_labels(self._equation.terms, self.varying, self.features or ())

    def with_parameters(self, parameters: torch.Tensor, seed: int | None = None) -> NodeClosedForm:
        """With other numbers: P of the equation, slopes of relations, then n for each that varies.

        ``seed`` draws values of new nodes; None has their mean.
        """
        count = len(self.coefficients) + len(self.inner)
        slopes = parameters[count : count + len(self.relations)].tolist()
        values = parameters[count + len(slopes) :].reshape(len(self.varying), -1).T
        relations = [one.with_slope(slope) for one, slope in zip(self.relations, slopes, strict=True)]
        made = self._like(self.equation.with_parameters(parameters[:count]), values, self.nodes, relations)
        made._seed = seed
        return made

    def several(self, laws: Sequence[NodeClosedForm]) -> NodeClosedForm:
        """Laws of the same form with other numbers side by side: states and rates are (R, n, d)."""
        made = self._like(self.equation, self.node_values, self.nodes, ())
        made._laws = list(laws)
        return made

    def with_node_values(self, table: Any) -> NodeClosedForm:
        """With values of other nodes: a table by node with a column for each of ``labels``, as ``reg.node_values_``.

        Raises:
            ValueError: a column is missing, or a value is not a finite number.

        Example:
            >>> import pandas as pd
            >>> from ndcn.laws import Formula, Term
            >>> law = NodeClosedForm(Equation((Term(Formula("x"), False),), torch.tensor([-1.0])), [0], -torch.ones(2, 1))
            >>> law.with_node_values(pd.DataFrame({"b_i": [-1.0, -2.0, -3.0]}, index=["a", "b", "c"])).nodes
            ['a', 'b', 'c']
        """
        values, nodes = self._of_table(table)
        unknown = (float("nan"),) * len(nodes)  # given values stay, whatever the attribute
        relations = [replace(one, values=unknown) for one in self.relations]
        return self._like(self.equation, values, nodes, relations)

    def parameters_on(self, graph: Graph) -> torch.Tensor:
        """All numbers at each node of a graph, (n, P); of laws side by side (R, n, P).

        Raises:
            ValueError: a value follows an attribute that the graph does not have, or that is not known of a new node.
        """
        if self._laws is not None:
            if self._on is None or self._on[0] is not graph:
                self._on = graph, torch.stack([law.parameters_on(graph) for law in self._laws])
            return self._on[1]
        if self._last is None or self._last[0] is not graph:
            rows = self._rows(graph)
            self._last = graph, rows, *self._followed(graph, rows)
        _, rows, moved, followed = self._last
        common = torch.cat([self.coefficients, self.inner])
        out = common.repeat(graph.num_nodes, 1)
        fresh = common[list(self.varying)] + followed
        if self._seed is not None:
            generator = torch.Generator().manual_seed(self._seed)
            fresh = fresh + self.spread * torch.randn(fresh.shape, generator=generator, dtype=torch.float64)
        own = self.node_values[rows.clamp(min=0)] + moved
        out[:, list(self.varying)] = torch.where((rows >= 0)[:, None], own, fresh)
        return out

    def _followed(self, graph: Graph, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """What attributes add to values of known nodes and to the mean of new ones, (n, q) each."""
        moved = torch.zeros(graph.num_nodes, len(self.varying), dtype=torch.float64)
        followed = moved.clone()
        for one in self.relations:
            there, here = torch.from_numpy(one.shift(graph)), torch.from_numpy(one.shift())[rows.clamp(min=0)]
            if (lost := (rows < 0) & there.isnan()).any():
                one.refuse(graph, lost.nonzero().flatten().numpy(), self.labels[one.number])
            followed[:, one.number] += there.nan_to_num(0.0)
            moved[:, one.number] += (there - here).nan_to_num(0.0)
        return moved, followed

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """f(x_i) of a node with the means."""
        return self._equation.node(x, torch.cat([self.coefficients, self.inner]))

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """g(x_i, x_j) of a node with the means."""
        return self._equation.edge(x_i, x_j, torch.cat([self.coefficients, self.inner]))

    def forward(
        self, t: torch.Tensor, x: torch.Tensor, graph: Graph, u: Mapping[str, torch.Tensor] | None = None
    ) -> torch.Tensor:
        """The law, every node with its own values; what a node gets from its neighbours depends on its values, not on theirs."""
        numbers = self.parameters_on(graph)
        rate = self._equation.node(x, numbers)
        if any(term.coupling for term in self._equation.terms):
            i, j = graph.edge_index(x.device)
            own = numbers.index_select(-2, i)
            messages = self._equation.messages(x.index_select(-2, i), x.index_select(-2, j), own)
            rate = rate + graph.aggregate(messages) + self._equation.of_sums(x, graph, numbers, own)
        return rate

    def description(self) -> dict[str, Any]:
        """The law in plain lists, texts and numbers, for JSON; ``from_description`` reads it."""
        places = parameter_names(self._equation.terms)
        return {
            **self.mean.description(),
            "varying": [list(places[k]) for k in self.varying],
            "node_values": self.node_values.tolist(),
            "spread": self.spread.tolist(),
            "nodes": self._names_for_files(),
            **({"relations": [one.description() for one in self.relations]} if self.relations else {}),
        }

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> NodeClosedForm:
        """The law that ``description`` describes; nothing in it is run.

        Raises:
            ValueError: it is not such a description.

        Example:
            >>> from ndcn.laws import Formula, Term
            >>> law = NodeClosedForm(Equation((Term(Formula("x"), False),), torch.tensor([-1.0])), [0], -torch.ones(2, 1))
            >>> NodeClosedForm.from_description(law.description()).node_values.tolist()
            [[-1.0], [-1.0]]
        """
        own = {"varying", "node_values", "spread", "nodes"}
        if not isinstance(description, Mapping) or not own <= set(description):
            raise ValueError("a description of a law whose nodes differ has features, terms, " + ", ".join(sorted(own)))
        rest = {key: value for key, value in description.items() if key not in own and key != "relations"}
        mean = ClosedForm.from_description(rest)
        places = parameter_names(mean.equation.terms)
        listed = description["varying"], description["node_values"], description["spread"], description["nodes"]
        if not all(isinstance(one, list) for one in listed):
            raise ValueError("varying, node_values, spread and nodes must be lists")
        try:
            varying = [places.index((place[0], place[1])) for place in listed[0]]
            values, spread = (torch.tensor(one, dtype=torch.float64) for one in listed[1:3])
        except (TypeError, ValueError, IndexError, RuntimeError) as error:
            raise ValueError(f"varying, node_values and spread do not belong to the terms: {error}") from None
        plain = description.get("relations", [])
        relations = [Relation.from_description(one, len(listed[3]), len(varying)) for one in plain]
        law = cls(mean.equation, varying, values, spread, listed[3], mean.features or (), relations)
        law.map_step = mean.map_step
        return law

    def extra_repr(self) -> str:
        """The equation, for printing."""
        shown = NodeEquations(self.equation, self.features or (), varying=self.varying, law=self)
        return str(shown).replace("\n", ";  ")
