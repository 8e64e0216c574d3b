"""Free forms of nodes that differ: f and g have one shape, and each node an offset and scales of its own."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch

from ..graph import Graph
from ..solve import LawKernel
from .free_form import FreeForm, FreeModel
from .model import Slopes
from .network import Network
from .node_law import NodeLaw
from .node_relation import Relation

OFFSET, SCALE, COUPLING = "offset_i", "scale_i", "coupling_scale_i"
PARTS = (OFFSET, SCALE, COUPLING)
NODE_MEANS = {OFFSET: 0.0, SCALE: 1.0, COUPLING: 1.0}


@dataclass(frozen=True)
class NodeFreeModel:
    """dx_i/dt = o_i + s_i f(x_i) + t_i sum_j A_ij g(x_i, x_j) of one feature: o = u or 0, s and t are 1 + u or 1.

    Deviations u of nodes are carried along as features that do not change: states are (x, u_1, ..., u_q). Its parameters are the
    coefficients of the splines, which the means of u belong to.

    Args:
        splines: f and g, of one feature.
        parts: which of ``PARTS`` vary, in their order.
    """

    splines: FreeModel
    parts: tuple[str, ...]
    centred: ClassVar[bool] = (
        False  # the mean of deviations belongs to the splines, by what is known of deviations before
    )
    inputs: ClassVar[int] = 0
    features: ClassVar[tuple[str, ...]] = ("x",)

    @property
    def varying(self) -> tuple[int, ...]:
        """Places of what varies: none is among the parameters."""
        return tuple(range(len(self.parts)))

    @property
    def parameters(self) -> torch.Tensor:
        """Coefficients of the splines."""
        return self.splines.parameters

    def with_parameters(self, values: torch.Tensor) -> NodeFreeModel:
        """The same with other coefficients."""
        return replace(self, splines=self.splines.with_parameters(values))

    @functools.cached_property
    def _coupling(self) -> FreeModel:
        """g alone."""
        coefficients = self.splines.coefficients.clone()
        coefficients[:, self.splines.basis.blocks["f0"]] = 0.0
        return replace(self.splines, coefficients=coefficients)

    @functools.cached_property
    def _cubics(self) -> torch.Tensor:
        """f as cubics."""
        own = self.splines.coefficients[:, self.splines.basis.blocks["f0"]]
        return self.splines.basis.single[0].cubics(own.mT)

    def __getstate__(self) -> dict[str, Any]:
        """All but what is made of it."""
        return {name: value for name, value in vars(self).items() if name not in ("_coupling", "_cubics")}

    def _factors(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        """o, s and t at (K, n, 1)."""
        own = {part: NODE_MEANS[part] + x[..., 1 + k : 2 + k] for k, part in enumerate(self.parts)}
        return {part: own.get(part, torch.full_like(x[..., :1], NODE_MEANS[part])) for part in PARTS}

    def _node(self, x: torch.Tensor, *, slope: bool = False) -> torch.Tensor:
        return self.splines.basis.single[0].along(x[..., 0], self._cubics, slope=slope)

    def rate(self, x: torch.Tensor, network: Network) -> torch.Tensor:
        """Rates of states and, 0, of deviations, at (K, n, 1 + q)."""
        by, states = self._factors(x), x[..., :1].contiguous()
        kernel = self._coupling.kernel(network)
        sums = self._coupling.rate(states, network) if kernel is None else torch.from_numpy(kernel.rate(states.numpy()))
        own = by[OFFSET] + by[SCALE] * self._node(x) + by[COUPLING] * sums
        return torch.cat([own, torch.zeros_like(x[..., 1:])], dim=-1)

    def slopes(self, x: torch.Tensor, network: Network) -> Slopes:
        """Rates and their derivatives."""
        K, n, D = x.shape
        by = self._factors(x)
        there = self._coupling.slopes(x[..., :1], network)
        f, df = self._node(x), self._node(x, slope=True)
        rate, own = torch.zeros_like(x), x.new_zeros(K, n, D, D)
        rate[..., :1] = by[OFFSET] + by[SCALE] * f + by[COUPLING] * there.rate
        own[..., 0, :1] = by[SCALE] * df + by[COUPLING] * there.own[..., 0, :]
        for k, part in enumerate(self.parts):
            by_part = {OFFSET: torch.ones_like(f), SCALE: f, COUPLING: there.rate}[part]
            own[..., 0, 1 + k] = by_part[..., 0]
        edges = x.new_zeros(K, len(network.i), D, D)
        edges[..., :1, :1] = by[COUPLING].index_select(1, network.i).unsqueeze(-1) * there.edges
        size = self.splines.basis.size
        columns = x.new_zeros(K, n, D, size)
        columns[:, :, :1] = by[COUPLING].unsqueeze(-1) * there.columns
        where = self.splines.basis.blocks["f0"]
        columns[:, :, :1, where] = by[SCALE].unsqueeze(-1) * there.columns[..., where]
        return Slopes(rate, own, edges, columns)

    def kernel(self, network: Network) -> LawKernel | None:
        """None: there is no compiled kernel."""
        return None


class NodeFreeForm(NodeLaw):
    """dx_i/dt = o_i + s_i f(x_i) + t_i sum_j A_ij g(x_i, x_j): f and g are sums of cubic splines, o, s and t may vary among nodes.

    What varies is the offset o, the scale s of f, or the scale t of the coupling. The mean of o is 0, those of s and t are 1.

    Args:
        mean: f and g, the law of a node with the means.
        parts: which of "offset_i", "scale_i" and "coupling_scale_i" vary, in this order.
        values: of each node, (n, q).
        spread: standard deviation of the values among nodes, (q,); by default that of ``values``.
        nodes: names; 0 to n - 1 by default.

    Raises:
        ValueError: a number is missing or not finite, there is no such part, or f and g are of several features.

    Example:
        >>> from ndcn import Graph
        >>> from ndcn.laws import basis_for
        >>> x = torch.linspace(0, 1, 9).unsqueeze(1)
        >>> basis = basis_for(x, x)
        >>> ones = torch.zeros(1, basis.size)
        >>> ones[:, basis.blocks["f0"]] = 1.0
        >>> law = NodeFreeForm(FreeForm(basis, ones, ("x",)), ["scale_i"], [[0.5], [1.5]])
        >>> law(torch.tensor(0.0), torch.zeros(2, 1), Graph.from_edges([(0, 1)]))
        tensor([[0.5000],
                [1.5000]])
    """

    def __init__(
        self,
        mean: FreeForm,
        parts: Sequence[str],
        values: Any,
        spread: Any = None,
        nodes: Sequence[Hashable] | None = None,
    ) -> None:
        super().__init__()
        parts = tuple(parts)
        if not parts or parts != tuple(part for part in PARTS if part in parts):
            raise ValueError(f"what varies must be some of {', '.join(PARTS)}, in this order, got {', '.join(parts)}")
        if len(mean.names) != 1:
            raise ValueError(f"nodes differ in free forms of one feature, these are of {len(mean.names)}")
        self.mean, self.parts = mean, parts
        self.features = mean.features
        self.relations: tuple[Relation, ...] = ()
        self._set_values(values, spread, nodes, len(parts))
        self._seed: int | None = None  # of values of new nodes; None takes the mean
        self._laws: list[NodeFreeForm] | None = None  # several side by side, see ``several``

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of what varies."""
        return self.parts

    def with_parameters(self, parameters: torch.Tensor, seed: int | None = None) -> NodeFreeForm:
        """With other numbers: coefficients of splines, then n for each part that varies; ``seed`` draws values of new nodes."""
        size = self.mean.coefficients.numel()
        values = parameters[size:].reshape(len(self.parts), -1).T
        made = NodeFreeForm(self.mean.with_parameters(parameters[:size]), self.parts, values, self.spread, self.nodes)
        made._seed = seed
        return made

    def several(self, laws: Sequence[NodeFreeForm]) -> NodeFreeForm:
        """Laws of the same form with other numbers side by side: states and rates are (R, n, 1)."""
        both = torch.stack([law.mean.coefficients.reshape(-1) for law in laws])
        made = NodeFreeForm(self.mean, self.parts, self.node_values, self.spread, self.nodes)
        made._laws, made.mean = list(laws), self.mean.several(both)
        return made

    def with_node_values(self, table: Any) -> NodeFreeForm:
        """With values of other nodes: a table by node with a column for each of ``labels``, as ``reg.node_values_``.

        Raises:
            ValueError: a column is missing, or a value is not a finite number.
        """
        values, nodes = self._of_table(table)
        return NodeFreeForm(self.mean, self.parts, values, self.spread, nodes)

    def values_on(self, graph: Graph) -> torch.Tensor:
        """Values at each node of a graph, (n, q); of laws side by side (R, n, q)."""
        if self._laws is not None:
            return torch.stack([law.values_on(graph) for law in self._laws])
        rows = self._rows(graph)
        fresh = torch.tensor([NODE_MEANS[part] for part in self.parts], dtype=torch.float64).expand(graph.num_nodes, -1)
        if self._seed is not None:
            generator = torch.Generator().manual_seed(self._seed)
            fresh = fresh + self.spread * torch.randn(fresh.shape, generator=generator, dtype=torch.float64)
        return torch.where((rows >= 0)[:, None], self.node_values[rows.clamp(min=0)], fresh)

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """f(x_i) of a node with the means."""
        return self.mean.node(x)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """g(x_i, x_j) of a node with the means."""
        return self.mean.edge(x_i, x_j)

    def forward(
        self, t: torch.Tensor, x: torch.Tensor, graph: Graph, u: Mapping[str, torch.Tensor] | None = None
    ) -> torch.Tensor:
        """The law, every node with its own values."""
        values = self.values_on(graph).to(x)
        by = {part: values[..., k : k + 1] for k, part in enumerate(self.parts)}
        own = self.mean.node(x)
        rate = by.get(SCALE, 1.0) * own + by.get(COUPLING, 1.0) * (self.mean(t, x, graph) - own)
        return rate + by[OFFSET] if OFFSET in by else rate

    def description(self) -> dict[str, Any]:
        """The law in plain lists, texts and numbers, for JSON; ``from_description`` reads it."""
        return {
            "node_shape": self.mean.description(),
            "parts": list(self.parts),
            "values": self.node_values.tolist(),
            "spread": self.spread.tolist(),
            "nodes": self._names_for_files(),
        }

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> NodeFreeForm:
        """The law that ``description`` describes; nothing in it is run.

        Raises:
            ValueError: it is not such a description.
        """
        own = ("parts", "values", "spread", "nodes")
        if not isinstance(description, Mapping) or not {"node_shape", *own} <= set(description):
            raise ValueError(f"a description of a free form whose nodes differ has node_shape, {', '.join(own)}")
        if not all(isinstance(description[key], list) for key in own):
            raise ValueError(f"{', '.join(own)} must be lists")
        mean = FreeForm.from_description(description["node_shape"])
        try:
            values, spread = (torch.tensor(description[key], dtype=torch.float64) for key in ("values", "spread"))
        except (TypeError, ValueError, RuntimeError) as error:
            raise ValueError(f"values and spread are not numbers: {error}") from None
        return cls(mean, [str(part) for part in description["parts"]], values, spread, description["nodes"])
