"""Law: dx_i/dt = f(x_i) + sum_j A_ij g(x_i, x_j)."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ..field import Field
from ..graph import Graph


class Law(Field):
    """dx_i/dt = node(x_i) + sum_j A_ij edge(x_i, x_j): write one or both functions and get the rest.

    Both are called with whole batches and must work element by element along the first axis: ``node`` with the states
    of all nodes, shape (n, d); ``edge`` with the states at both ends of every edge, (edges, d) each; both return the
    shape they were given. The cost is O(edges).

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

    def node(self, x: torch.Tensor) -> torch.Tensor:
        """f(x_i), for all nodes at once; 0 unless you write it."""
        return torch.zeros_like(x)

    def edge(self, x_i: torch.Tensor, x_j: torch.Tensor) -> torch.Tensor:
        """g(x_i, x_j), the effect of j on i, for all edges at once; 0 unless you write it."""
        return torch.zeros_like(x_i)

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        """node(x_i) + sum_j A_ij edge(x_i, x_j)."""
        rate = self.node(x)
        if self._keeps("edge", Law):
            return rate
        i, j = graph.edge_index(x.device)
        x_i = x.index_select(-2, i)
        messages = self.edge(x_i, x.index_select(-2, j))
        if messages.shape != x_i.shape:
            raise ValueError(
                f"{type(self).__name__}.edge returned shape {tuple(messages.shape)} for {len(i)} edges with states of "
                f"shape {tuple(x_i.shape)}; it must return the shape it was given"
            )
        return rate + graph.aggregate(messages)

    def _keeps(self, function: str, known: type[Law]) -> bool:
        """Whether ``node`` or ``edge`` is still the one that ``known`` wrote, so that its own fast forward holds."""
        return getattr(getattr(self, function), "__func__", None) is getattr(known, function)

    def _set(self, **values: Any) -> None:
        """Keep parameters: a number, one number per node (n,), or (n, d); an nn.Parameter can be learned."""
        for name, value in values.items():
            if isinstance(value, nn.Parameter):
                self.register_parameter(name, value)
                continue
            tensor = torch.as_tensor(value, dtype=torch.float64)
            if not tensor.isfinite().all():
                raise ValueError(f"{type(self).__name__}: {name} must be finite, got {value}")
            self.register_buffer(name, tensor)

    def _value(self, name: str, x: torch.Tensor) -> torch.Tensor:
        """A parameter in the dtype of x, shaped to multiply states of shape (n, d)."""
        value: torch.Tensor = getattr(self, name).to(x.device, x.dtype)
        if value.dim() == 0:
            return value
        if value.shape[0] != x.shape[-2]:
            raise ValueError(
                f"{type(self).__name__}: {name} has one value for each of {value.shape[0]} nodes, "
                f"but the graph has {x.shape[-2]}"
            )
        return value.unsqueeze(1) if value.dim() == 1 else value

    def _number(self, name: str, x: torch.Tensor) -> torch.Tensor:
        """A parameter in the dtype of x for ``edge``, which sees edges and does not know which nodes they join."""
        value: torch.Tensor = getattr(self, name)
        if value.dim():
            raise ValueError(
                f"{type(self).__name__}: {name} has one value for each of {value.shape[0]} nodes, which edge(x_i, x_j) cannot "
                "tell apart; per-node parameters need the law's own forward: call the law itself as law(t, x, graph) "
                f"without a node or edge of your own, or give {name} as a number"
            )
        return value.to(x.device, x.dtype)

    def extra_repr(self) -> str:
        """The parameters, for printing."""
        values = {**dict(self.named_parameters(recurse=False)), **dict(self.named_buffers(recurse=False))}
        return ", ".join(f"{k}={v.item():g}" if v.dim() == 0 else f"{k}={tuple(v.shape)}" for k, v in values.items())
