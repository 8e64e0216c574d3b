"""Graphs and problems whose answers are known exactly, shared by the tests."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from ndcn import Field, Graph, Trajectory, laws, operators
from ndcn.laws import Equation, Term
from ndcn.laws.formula import Formula

WEIGHTED = [[0, 2, 0, 0.5, 0], [2, 3, 1, 0, 0], [0, 1, 0, 4, 0], [0.5, 0, 4, 0, 0], [0, 0, 0, 0, 0]]
DIRECTED = [[0, 2, 0, 0, 0], [0, 1, 0.5, 0, 0], [3, 0, 0, 0, 1], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]]
SIGNED = [[0, -1, 2], [-1, 0, -0.5], [2, -0.5, 0]]

GRAPHS = {
    "path": Graph.from_edges([(0, 1), (1, 2), (2, 3)]),
    "weighted": Graph.from_dense(WEIGHTED),  # with a self-loop and an isolated node
    "directed": Graph.from_dense(DIRECTED),  # node 3 acts on nobody, nobody acts on node 4
    "single": Graph.from_edges([], num_nodes=1),
    "edgeless": Graph.from_edges([], num_nodes=3),
}
SIGNED_GRAPHS = {**GRAPHS, "signed": Graph.from_dense(SIGNED)}


def states(graph: Graph, *shape: int, seed: int = 0) -> torch.Tensor:
    """Positive random states (*shape[:-1], n, shape[-1]) in float64."""
    size = (*shape[:-1], graph.num_nodes, shape[-1])
    return torch.rand(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 3 + 0.1


def trajectory(graph: Graph, T: int = 4, d: int = 1, *, missing: bool = False, **arguments: object) -> Trajectory:
    """Random snapshots at uneven times, some entries missing if asked."""
    x = states(graph, T, d).float()
    mask = (x > 1) if missing else None
    return Trajectory(times=torch.arange(T, dtype=torch.float64) ** 1.5, states=x, graph=graph, mask=mask, **arguments)


def heat(graph: Graph, x0: torch.Tensor, times: torch.Tensor) -> torch.Tensor:
    """exp(-L t) x0 at each time, shape (T, n, d): the solution of heat diffusion."""
    a = graph.to_dense()
    laplacian = torch.diag(a.sum(1)) - a
    return torch.stack([torch.matrix_exp(-laplacian * t) @ x0.double() for t in torch.as_tensor(times)])


class Function(Field):
    """A field from a function of t and x that counts its calls."""

    def __init__(self, rate: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.rate, self.calls = rate, 0

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        self.calls += 1
        return self.rate(t, x)


class TanhField(Field):
    """dX/dt = tanh(Phi X W + b) sin(t + 1): smooth, with parameters, depends on time."""

    def __init__(self, width: int = 2) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(1)
        self.weight = nn.Parameter(torch.randn(width, width, generator=generator, dtype=torch.float64))
        self.bias = nn.Parameter(torch.randn(width, generator=generator, dtype=torch.float64))

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        return torch.tanh(operators.signed_laplacian(graph) @ x @ self.weight + self.bias) * torch.sin(t + 1)


@dataclass(frozen=True)
class Exact:
    """An initial value problem at t0 and its solution."""

    field: nn.Module
    graph: Graph
    x0: torch.Tensor
    solution: Callable[[torch.Tensor], torch.Tensor]
    t0: float = 0.0

    def states(self, times: torch.Tensor) -> torch.Tensor:
        """The solution at each time, shape (T, n, d)."""
        return torch.stack([self.solution(t) for t in torch.as_tensor(times, dtype=torch.float64)])


_FOUR = GRAPHS["path"]
_X0 = torch.tensor([[1.0, 0.3], [0.1, 0.8], [0.5, 0.6], [0.2, 0.9]], dtype=torch.float64)

EXACT = {
    "linear": Exact(laws.Heat(0.7), _FOUR, _X0, lambda t: heat(_FOUR, _X0, [0.7 * t])[0]),
    "logistic": Exact(  # dx/dt = 2 x (1 - x)
        Function(lambda t, x: 2 * x * (1 - x)), _FOUR, _X0, lambda t: 1 / (1 + (1 / _X0 - 1) * torch.exp(-2 * t))
    ),
    "time-dependent": Exact(  # dx/dt = cos(t) x from t0 = 0.5
        Function(lambda t, x: torch.cos(t) * x),
        _FOUR,
        _X0,
        lambda t: _X0 * torch.exp(torch.sin(t) - math.sin(0.5)),
        0.5,
    ),
}


def equation(*rows: tuple, features: tuple[str, ...] = ("x",)) -> Equation:
    """From rows of (coefficient, formula, coupling, values, output)."""
    terms = tuple(
        Term(Formula(text, features), coupling, *(rest[1:] or (0,)), tuple(rest[0]) if rest else ())
        for _, text, coupling, *rest in rows
    )
    return Equation(terms, torch.tensor([row[0] for row in rows], dtype=torch.float64), len(features))
