"""Law: dx_i/dt = f(x_i) + sum_j A_ij g(x_i, x_j)."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn

from ..graph import Graph
from ..solve import Field, LawKernel
from .formula import Formula
from .network import graph_arrays
from .programs import equation_program
from .states import initial_state
from .terms import Term

_Law = TypeVar("_Law", bound="Law")
HIGHEST_POWER = 100  # of a formula made of a law; what torch computes has no limit


class PerNode:
    """p_1, ..., p_n: the marker of a parameter that is unknown and has a value of its own at each node; see ``per_node``."""

    def __repr__(self) -> str:
        return "per_node"


per_node = PerNode()
"""A parameter that is unknown and may differ from node to node: ``laws.Kuramoto(omega=laws.per_node)``."""


class Law(Field):
    """dx_i/dt = node(x_i) + sum_j A_ij edge(x_i, x_j): write one or both functions and get the rest.

    Both are called with whole batches and must work element by element along the first axis: ``node`` with the states
    of all nodes, shape (n, d); ``edge`` with the states at both ends of every edge, (edges, d) each; both return the
    shape they were given. The cost is O(edges).

    A law with parameters keeps them by ``self._set(k=k)`` in its ``__init__`` and takes them by ``self._value("k", x)``
    in ``node`` and ``self._number("k", x)`` in ``edge``. Each may then be a number, one for each node (``node`` alone), an
    nn.Parameter, or None: not known, to be estimated from data; ``laws.per_node`` is not known either, and has a value of
    its own at each node.

    A law that needs a certain number of features says so by naming them: ``features = ("s", "i")`` in the class.

    A law that is driven from outside takes inputs by name, after the states: ``def node(self, x, rain)``, ``def edge(self, x_i, x_j,
    rain)``. Each is a tensor of shape (n, 1), or (1, 1) if all nodes have it in common; in ``edge`` (edges, 1), of the node i that
    is acted upon. ``simulate`` and ``integrate`` take their course as ``inputs=ndcn.Inputs(...)``.

    Example:
        >>> import ndcn, torch
        >>> class Toggle(ndcn.laws.Law):
        ...     def node(self, x): return -x
        ...     def edge(self, x_i, x_j): return torch.tanh(x_j - x_i)
        >>> graph = ndcn.networks.grid(9)
        >>> data = ndcn.simulate(Toggle(), graph, torch.rand(9, 2), torch.linspace(0, 1, 5))
        >>> data.states.shape
        torch.Size([5, 9, 2])
    """

    features: tuple[str, ...] | None = None
    """Names of the features, for laws that need just these; None for laws that take any number."""

    formulas: tuple[tuple[str, int], ...] = ()
    """``node`` and ``edge`` once more as formulas in x_i and x_j, each with the feature in whose rate it is: for compiled code."""

    map_step: float | None = None
    """Of a law that was found in a trajectory of Euler steps, x(t + h) = x(t) + h f(x(t)): h. Predictions take such steps."""

    def __init__(self) -> None:
        super().__init__()
        self._names: tuple[str, ...] = ()  # of the parameters that _set keeps, in its order
        self._per_node: frozenset[str] = frozenset()  # those that are unknown, and differ between nodes

    def __call__(
        self, t: torch.Tensor, x: torch.Tensor, graph: Graph, u: Mapping[str, torch.Tensor] | None = None
    ) -> torch.Tensor:
        """The rate of change of x; u are the values of the inputs, by name, for laws that take some.

        Raises:
            ValueError: a parameter is unknown, x has other features than the law, or an input is not given.
        """
        if unknown := self.unknown:
            raise ValueError(self._advice(unknown))
        if absent := [name for name in self.inputs if u is None or name not in u]:
            raise ValueError(
                f"{type(self).__name__} takes the input{'s' * (len(absent) > 1)} {', '.join(absent)}, and nothing is given: pass "
                f"inputs=ndcn.Inputs(times, {{{absent[0]!r}: values}})"
            )
        if self.features is not None and x.shape[-1] != len(self.features):
            raise ValueError(
                f"{type(self).__name__} has {len(self.features)} features ({', '.join(self.features)}), but the states have "
                f"{x.shape[-1]}; give states of shape (n, {len(self.features)})"
            )
        rate: torch.Tensor = super().__call__(t, x, graph, u) if self.inputs else super().__call__(t, x, graph)
        return rate

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs that ``node`` and ``edge`` take after the states.

        Example:
            >>> import ndcn
            >>> class Filling(ndcn.laws.Law):
            ...     def node(self, x, pump): return pump - x
            >>> Filling().inputs, ndcn.laws.Heat().inputs
            (('pump',), ())
        """
        kind = type(self)
        return tuple(dict.fromkeys((*_further(kind.node, 2), *_further(kind.edge, 3))))

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """f(x_i), for all nodes at once; 0 unless you write it."""
        return torch.zeros_like(x)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """g(x_i, x_j), the effect of j on i, for all edges at once; 0 unless you write it."""
        return torch.zeros_like(x_i)

    def forward(
        self, t: torch.Tensor, x: torch.Tensor, graph: Graph, u: Mapping[str, torch.Tensor] | None = None
    ) -> torch.Tensor:
        """node(x_i) + sum_j A_ij edge(x_i, x_j)."""
        given = u or {}
        rate = self.node(x, *(given[name] for name in _further(type(self).node, 2)))
        writer = next(kind for kind in type(self).__mro__ if "_coupling" in vars(kind))
        if self._keeps("edge", writer):  # else somebody wrote another edge since
            coupling = self._coupling(x, graph)
            return rate if coupling is None else coupling if self._keeps("node", Law) else rate + coupling
        x_i, x_j = graph.ends(x)
        driven = [given[name] for name in _further(type(self).edge, 3)]
        messages = self.edge(x_i, x_j, *(v if v.shape[-2] == 1 else graph.ends(v)[0] for v in driven))
        if messages.shape != x_i.shape:
            raise ValueError(
                f"{type(self).__name__}.edge returned shape {tuple(messages.shape)} for {x_i.shape[-2]} edges with states of "
                f"shape {tuple(x_i.shape)}; it must return the shape it was given"
            )
        return rate + graph.aggregate(messages)

    def law_kernel(self, graph: Graph, features: int) -> LawKernel | None:
        """The law in C; None for laws without formulas, with parameters of each node or with powers that are not whole."""
        names = self.features or ("x",)
        arrays = graph_arrays(graph) if features == len(names) and self._is_as_written() else None
        values = {name: self._buffers.get(name) for name in self._names}
        if arrays is None or any(
            value is None or value.dim() or value.device.type != "cpu" for value in values.values()
        ):
            return None
        numbers = {name: float(value) for name, value in values.items() if value is not None}
        terms = []
        for text, output in self.formulas:
            for name, value in numbers.items():
                if f"^{name}" in text:
                    if value % 1 or not 0 < value <= HIGHEST_POWER:
                        return None
                    text = text.replace(
                        f"^{name}", f"^{int(value)}"
                    )  # x^h of formulas is 0 for x < 0, and that of laws is not
            formula = _formula(text, names)
            terms.append(Term(formula, formula.on_edges, output, tuple(numbers[name] for name in formula.parameters)))
        inner = [value for term in terms for value in term.values]
        return LawKernel(equation_program(terms, features).law(np.array([1.0] * len(terms) + inner)), arrays)

    def _is_as_written(self) -> bool:
        """Whether the class that wrote the formulas also wrote all that computes."""
        writer = next(kind for kind in type(self).__mro__ if "formulas" in vars(kind))
        computing = ("forward", "_coupling", "__call__")
        return (
            bool(self.formulas)
            and all(self._keeps(name, writer) for name in ("node", "edge"))
            and all(getattr(type(self), name) is getattr(writer, name) for name in computing)
        )

    def _coupling(self, x: torch.Tensor, graph: Graph) -> torch.Tensor | None:
        """sum_j A_ij edge(x_i, x_j), faster than edge by edge or with parameters of each node; None for 0."""
        return None

    def _keeps(self, function: str, known: type[Law]) -> bool:
        """Whether ``node`` or ``edge`` is still the one that ``known`` wrote."""
        return getattr(getattr(self, function), "__func__", None) is getattr(known, function)

    def initial_state(self, graph: Graph, *, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """A state from which the law is worth watching: the paper's three blocks, unless the law has one of its own.

        Args:
            graph: the graph.
            seed: for laws that start at random.
            dtype: of the result.

        Returns:
            shape (n, d), d = 1 unless the law has more features.

        Example:
            >>> import ndcn
            >>> ndcn.laws.SIR().initial_state(ndcn.networks.grid(9)).shape
            torch.Size([9, 2])
        """
        return initial_state(graph, dtype=dtype).repeat(1, len(self.features or ("x",)))

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the parameters that ``_set`` keeps, in its order.

        Example:
            >>> import ndcn
            >>> ndcn.laws.Gene().parameter_names
            ('b', 'f', 'h')
        """
        return self._names

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names of the parameters that were given as None or ``laws.per_node``: to be estimated.

        Example:
            >>> import ndcn
            >>> ndcn.laws.Gene(b=None, h=None).unknown
            ('b', 'h')
        """
        return tuple(name for name in self._names if name in self._buffers and self._buffers[name] is None)

    @property
    def unknown_per_node(self) -> tuple[str, ...]:
        """Those of the unknown parameters that have a value of their own at each node.

        Example:
            >>> import ndcn
            >>> law = ndcn.laws.Kuramoto(omega=ndcn.laws.per_node, k=None)
            >>> law
            Kuramoto(omega=? per node, k=?)
            >>> law.unknown_per_node
            ('omega',)
        """
        return tuple(name for name in self.unknown if name in self._per_node)

    def with_values(self: _Law, **values: Any) -> _Law:
        """A copy of the law with these parameters, the others as they are.

        Args:
            values: by name, each as in the law's ``__init__``; what is computed there from parameters is not computed
                again.

        Raises:
            ValueError: the law has no such parameter.

        Example:
            >>> import ndcn
            >>> law = ndcn.laws.Gene(b=None, h=2)
            >>> law
            Gene(b=?, f=1, h=2)
            >>> law.with_values(b=0.5)
            Gene(b=0.5, f=1, h=2)
        """
        for name in values:
            if name not in self._names:
                known = f"it has {', '.join(self._names)}" if self._names else "it has none that were kept by _set"
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; {known}")
        made = copy.deepcopy(self)
        made._set(**values)
        return made

    def _set(self, **values: Any) -> None:
        """Keep parameters: a number, one number per node (n,), or (n, d); nn.Parameter is learned; None and ``per_node`` are unknown."""
        self._names = (*self._names, *(name for name in values if name not in self._names))
        self._per_node = (self._per_node - set(values)) | {k for k, v in values.items() if isinstance(v, PerNode)}
        for name, value in values.items():
            if isinstance(value, nn.Parameter):
                self._buffers.pop(name, None)
                self.register_parameter(name, value)
                continue
            unknown = value is None or isinstance(value, PerNode)
            tensor = None if unknown else torch.as_tensor(value, dtype=torch.float64)
            if tensor is not None and not tensor.isfinite().all():
                raise ValueError(f"{type(self).__name__}: {name} must be finite, got {value}")
            self._parameters.pop(name, None)
            self.register_buffer(name, tensor)

    def _known(self, name: str) -> torch.Tensor:
        value: torch.Tensor | None = getattr(self, name)
        if value is None:
            raise ValueError(self._advice((name,)))
        return value

    def _advice(self, unknown: tuple[str, ...]) -> str:
        names = ", ".join(unknown)
        settings = ", ".join(f"{name}=..." for name in unknown)
        return (
            f"{type(self).__name__}: {names} {'is' if len(unknown) == 1 else 'are'} unknown; "
            f"DynamicsRegressor(model=law).fit(data) estimates what is unknown, law.with_values({settings}) sets it"
        )

    def _value(self, name: str, x: torch.Tensor) -> torch.Tensor:
        """A parameter in the dtype of x, shaped to multiply states of shape (n, d)."""
        value = self._known(name).to(x.device, x.dtype)
        if value.dim() == 0:
            return value
        if value.shape[0] != x.shape[-2]:
            raise ValueError(
                f"{type(self).__name__}: {name} has one value for each of {value.shape[0]} nodes, "
                f"but the graph has {x.shape[-2]}"
            )
        if value.dim() == 1:
            return value.unsqueeze(1)
        if value.shape[1] not in (1, x.shape[-1]):
            raise ValueError(
                f"{type(self).__name__}: {name} has shape {tuple(value.shape)}, which does not fit {x.shape[-1]} "
                f"feature{'s' * (x.shape[-1] != 1)}; give a number or one for each node"
            )
        return value

    def _number(self, name: str, x: torch.Tensor) -> torch.Tensor:
        """A parameter in the dtype of x for ``edge``, which sees edges and does not know which nodes they join."""
        value = self._known(name)
        if value.dim():
            raise ValueError(
                f"{type(self).__name__}: {name} has one value for each of {value.shape[0]} nodes, which edge(x_i, x_j) cannot "
                "tell apart; per-node parameters need the law's own forward: call the law itself as law(t, x, graph) "
                f"without a node or edge of your own, or give {name} as a number"
            )
        return value.to(x.device, x.dtype)

    def extra_repr(self) -> str:
        """The parameters, for printing; a question mark for what is unknown."""
        kept = {name: getattr(self, name) for name in self._names}
        others = {**dict(self.named_parameters(recurse=False)), **dict(self.named_buffers(recurse=False))}
        shown = {name: _shown(value) for name, value in {**kept, **others}.items()}
        return ", ".join(f"{name}={text}{' per node' * (name in self._per_node)}" for name, text in shown.items())


@functools.lru_cache(maxsize=256)
def _further(function: Callable[..., torch.Tensor], states: int) -> tuple[str, ...]:
    """Names of the arguments that a function of states takes after these: its inputs."""
    named = [
        p for p in signature(function).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return tuple(p.name for p in named[states:] if p.default is p.empty)


@functools.lru_cache(maxsize=256)
def _formula(text: str, features: tuple[str, ...]) -> Formula:
    """Read once: reading takes longer than a short simulation."""
    return Formula(text, features)


def _shown(value: torch.Tensor | None) -> str:
    if value is None:
        return "?"
    return f"{value.item():g}" if value.dim() == 0 else str(tuple(value.shape))
