"""Learned fields of one layer: with the graph, without it, and without weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import nn

from ..graph import Graph, Operator, signed_laplacian
from ..solve import Field, ReluForm
from .input_layer import InputLayer

Activation = Callable[[torch.Tensor], torch.Tensor]
CORRECTION = 0.01  # of the weights that were drawn: a correction begins with rates of about 1 % of the states


class _LearnedField(Field):
    """A field whose weights are drawn when it is made, and made small when it corrects another before it was trained."""

    _drawn: tuple[int, ...]
    driven: InputLayer | None

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs that drive it."""
        return () if self.driven is None else self.driven.names

    def _with_inputs(self, out: torch.Tensor, u: Mapping[str, torch.Tensor] | None) -> torch.Tensor:
        if self.driven is None:
            return out
        assert u is not None, "a field with inputs is called as field(t, x, graph, u)"
        return out + self.driven(u)

    def _remember_drawn(self) -> None:
        self._drawn = self._versions()

    def _versions(self) -> tuple[int, ...]:
        return tuple(p._version for p in self.parameters())  # torch counts changes in place: training, loading

    def start_as_correction(self) -> None:
        """Make the weights small, if they are still those that were drawn."""
        if self._versions() == self._drawn:
            with torch.no_grad():
                for p in self.parameters():
                    p.mul_(CORRECTION)


class GraphField(_LearnedField):
    """dX/dt = activation(Phi X W + b): the paper's field, with ReLU and the normalised Laplacian.

    Args:
        width: number of features of X.
        operator: Phi, a function of the graph; by default the normalised Laplacian D^-1/2 (D - A) D^-1/2, with |A| in
            the degrees so that it takes negative weights too.
        activation: applied element by element.
        knots: times at which W and b have values of their own, in increasing order; between them they are interpolated
            linearly, outside they stay constant. By default W and b do not change with time.
        inputs: drivers from outside, by an ``InputLayer``: activation(Phi X W + u V + b).

    Example:
        >>> import ndcn
        >>> sum(p.numel() for p in ndcn.fields.GraphField(20).parameters())
        420
        >>> sum(p.numel() for p in ndcn.fields.GraphField(20, knots=[0.0, 2.5, 5.0]).parameters())
        1260
    """

    def __init__(
        self,
        width: int,
        *,
        operator: Operator = signed_laplacian,
        activation: Activation = torch.relu,
        knots: Sequence[float] | None = None,
        inputs: InputLayer | None = None,
    ) -> None:
        super().__init__()
        self.operator, self.activation = operator, activation
        self.linear = nn.Linear(width, width) if knots is None else LinearInTime(width, knots)
        self.driven = inputs
        self._remember_drawn()

    def forward(
        self, t: torch.Tensor, x: torch.Tensor, graph: Graph, u: Mapping[str, torch.Tensor] | None = None
    ) -> torch.Tensor:
        """activation(Phi X W + u V + b)."""
        spread = self.operator(graph) @ x
        out = self.linear(spread) if isinstance(self.linear, nn.Linear) else self.linear(t, spread)
        return self.activation(self._with_inputs(out, u))

    def relu_form(self, graph: Graph) -> ReluForm | None:
        """The field itself, where weights do not change with time and nothing drives it."""
        if not _is_relu(self, GraphField) or not isinstance(self.linear, nn.Linear) or self.driven is not None:
            return None
        return ReluForm(self.operator(graph), self.linear)


class NodeField(_LearnedField):
    """dX/dt = activation(X W + b): every node for itself, the paper's no-graph ablation.

    Example:
        >>> import ndcn
        >>> sum(p.numel() for p in ndcn.fields.NodeField(20).parameters())
        420
    """

    def __init__(self, width: int, *, activation: Activation = torch.relu, inputs: InputLayer | None = None) -> None:
        super().__init__()
        self.activation = activation
        self.linear = nn.Linear(width, width)
        self.driven = inputs
        self._remember_drawn()

    def forward(
        self, t: torch.Tensor, x: torch.Tensor, graph: Graph, u: Mapping[str, torch.Tensor] | None = None
    ) -> torch.Tensor:
        """activation(X W + u V + b)."""
        return self.activation(self._with_inputs(self.linear(x), u))

    def relu_form(self, graph: Graph) -> ReluForm | None:
        """The field itself, with the identity for Phi; None where something drives it."""
        return ReluForm(None, self.linear) if _is_relu(self, NodeField) and self.driven is None else None


class DiffusionField(Field):
    """dX/dt = activation(Phi X): nothing to learn, the paper's no-control ablation.

    Example:
        >>> import ndcn
        >>> list(ndcn.fields.DiffusionField().parameters())
        []
    """

    def __init__(self, *, operator: Operator = signed_laplacian, activation: Activation = torch.relu) -> None:
        super().__init__()
        self.operator, self.activation = operator, activation

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        """activation(Phi X)."""
        return self.activation(self.operator(graph) @ x)

    def relu_form(self, graph: Graph) -> ReluForm | None:
        """The field itself, with the identity for W."""
        return ReluForm(self.operator(graph), None) if _is_relu(self, DiffusionField) else None


def _is_relu(field: GraphField | NodeField | DiffusionField, known: type[Field]) -> bool:
    """Whether a field is just this one with ReLU; a subclass may compute something else."""
    return type(field) is known and field.activation is torch.relu


class LinearInTime(nn.Module):
    """x -> x W(t) + b(t), with W and b given at knots in time and interpolated linearly between them."""

    def __init__(self, width: int, knots: Sequence[float]) -> None:
        super().__init__()
        times = np.asarray(knots, dtype=np.float64)
        if times.ndim != 1 or len(times) < 2 or not np.isfinite(times).all() or not (np.diff(times) > 0).all():
            raise ValueError(f"knots must be at least two finite times in increasing order, got {knots}")
        self.register_buffer("knots", torch.tensor(times.tolist(), dtype=torch.float64))
        layers = [nn.Linear(width, width) for _ in knots]
        self.weight = nn.Parameter(torch.stack([layer.weight.detach() for layer in layers]))
        self.bias = nn.Parameter(torch.stack([layer.bias.detach() for layer in layers]))

    def forward(self, t: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """X W(t)^T + b(t)."""
        knots: torch.Tensor = self.get_buffer("knots")
        now = t.to(knots).clamp(knots[0], knots[-1])
        right = int(torch.searchsorted(knots, now).clamp(1, len(knots) - 1))
        share = ((now - knots[right - 1]) / (knots[right] - knots[right - 1])).to(x.dtype)
        weight, bias = (torch.lerp(p[right - 1], p[right], share) for p in (self.weight, self.bias))
        return nn.functional.linear(x, weight, bias)
