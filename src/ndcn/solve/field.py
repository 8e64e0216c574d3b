"""Field: the right-hand side of dX/dt = f(t, X, G)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import nn

from ..graph import Graph, SparseMatrix
from .kernels.law_compiled import LawKernel


@dataclass(frozen=True)
class ReluForm:
    """relu(Phi X W^T + b): a field in the form that the fast Euler kernels integrate.

    Attributes:
        operator: Phi; None for the identity.
        linear: W and b; None for W = I, b = 0.
    """

    operator: SparseMatrix | None
    linear: nn.Linear | None


class Field(nn.Module):
    """dX/dt = f(t, X, G), known or learned. Fields add: ``Heat() + learned`` is the field X -> Heat(X) + learned(X).

    Subclasses write ``forward(t, x, graph)``. Any ``nn.Module`` with that call works wherever a field is asked for; as a
    Field it can also stand on the left of ``+``.

    Shapes:
        t: a tensor with no axes. x: (n, d). Returns (n, d), the rate of change of x.

    Example:
        >>> import ndcn
        >>> class Decay(ndcn.Field):
        ...     def forward(self, t, x, graph):
        ...         return -x
        >>> graph = ndcn.networks.grid(9)
        >>> times = ndcn.sampling.regular_times(1.0, 5)
        >>> data = ndcn.simulate(ndcn.laws.Heat() + Decay(), graph, ndcn.laws.initial_state(graph), times)
    """

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs that it takes; if there are any, it is called as field(t, x, graph, u), u a tensor for each by name."""
        return ()

    @abstractmethod
    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        """The rate of change of x at time t, shape (n, d)."""

    def relu_form(self, graph: Graph) -> ReluForm | None:
        """This field as relu(Phi X W^T + b), if it is one: then Euler's method takes a fast path."""
        return None

    def law_kernel(self, graph: Graph, features: int) -> LawKernel | None:
        """This field in C, for states of so many features, if it has such a kernel: then adaptive steps take a fast path."""
        return None

    def start_as_correction(self) -> None:
        """Called when it is added to a field with nothing to learn, such as a law: a learned field starts near zero there."""

    def __add__(self, other: nn.Module) -> SumField:
        return SumField(self, other)

    def __radd__(self, other: nn.Module) -> SumField:
        return SumField(other, self)


class SumField(Field):
    """f(t, X, G) = sum_k f_k(t, X, G): what ``+`` between fields makes.

    Beside a field with nothing to learn, ``GraphField`` and ``NodeField`` start near zero, if their weights are still those that
    were drawn: training then begins at the law and not far from it.

    Example:
        >>> import ndcn
        >>> len((ndcn.laws.Heat() + ndcn.laws.Gene()).terms)
        2
    """

    def __init__(self, *terms: nn.Module) -> None:
        super().__init__()
        flat: list[nn.Module] = []
        for term in terms:
            if not isinstance(term, nn.Module):
                expected = "only fields (nn.Module with forward(t, x, graph)) can be added"
                raise TypeError(f"{expected}, got {type(term).__name__}")
            flat.extend(term.terms if isinstance(term, SumField) else [term])
        self.terms: nn.ModuleList = nn.ModuleList(flat)
        if not all(any(p.requires_grad for p in term.parameters()) for term in flat):
            for term in flat:
                if isinstance(term, Field):
                    term.start_as_correction()

    @property
    def inputs(self) -> tuple[str, ...]:
        """Those of all terms."""
        return tuple(dict.fromkeys(name for term in self.terms for name in inputs_of(term)))

    def forward(
        self, t: torch.Tensor, x: torch.Tensor, graph: Graph, u: Mapping[str, torch.Tensor] | None = None
    ) -> torch.Tensor:
        """The sum of the terms."""
        total = _rate(self.terms[0], t, x, graph, u)
        for term in self.terms[1:]:
            total = total + _rate(term, t, x, graph, u)
        return total


def inputs_of(field: nn.Module) -> tuple[str, ...]:
    """Names of the inputs that a field takes; () of one that says nothing of inputs."""
    names = getattr(field, "inputs", ())
    return tuple(names) if isinstance(names, (tuple, list)) else ()


def _rate(
    term: nn.Module, t: torch.Tensor, x: torch.Tensor, graph: Graph, u: Mapping[str, torch.Tensor] | None
) -> torch.Tensor:
    rate: torch.Tensor = term(t, x, graph, u) if inputs_of(term) else term(t, x, graph)
    return rate


def check_field(field: nn.Module, graph: Graph, x: torch.Tensor, t: float = 0.0) -> None:
    """Call the field once and explain what is wrong with its answer, if anything is.

    Raises:
        TypeError: it cannot be called as field(t, x, graph), or does not return a tensor.
        ValueError: its answer has another shape than x, or is not finite.
    """
    name = type(field).__name__
    try:
        with torch.no_grad():
            out = graph.evaluate(field, x.new_tensor(t), x)
    except TypeError as error:
        raise TypeError(f"{name} could not be called as field(t, x, graph): {error}") from error
    if not isinstance(out, torch.Tensor):
        raise TypeError(f"{name} returned {type(out).__name__}; it must return a tensor of shape {tuple(x.shape)}")
    if out.shape != x.shape:
        raise ValueError(f"{name} returned shape {tuple(out.shape)} for x of shape {tuple(x.shape)}; they must agree")
    fine = bool(out.isfinite().all())
    if not graph.everywhere(fine):
        if fine:
            raise ValueError(f"{name} is NaN or infinite at the initial state of a node in another process; see there")
        node = graph.nodes[int((~out.isfinite()).nonzero()[0, 0])]
        raise ValueError(
            f"{name} is NaN or infinite at the initial state, first at node {node!r}; "
            "check its parameters and the range of states for which it is defined"
        )
