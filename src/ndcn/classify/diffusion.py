"""Diffusion over a graph: the operator Phi with a fixed or learned alpha, and the exact state at a time T."""

from __future__ import annotations

import functools
import math
from typing import Any

import torch
from scipy.special import gammainc  # P(N > K) = gammainc(K + 1, mean)
from torch import nn

from ..graph import Graph, SparseMatrix, operators
from ..solve import Field

INSIDE = 1e-2  # how far from 0 and 1 a learned alpha starts at least: at the ends it would not move


def unit_weights(graph: Graph) -> Graph:
    """The graph with weights in units of their mean absolute value, so that alpha counts against typical edges; itself if that is 1.

    Example:
        >>> import ndcn
        >>> unit_weights(ndcn.Graph.from_edges([(0, 1, 2000.0), (1, 2, 4000.0)])).to_scipy().max()
        np.float64(1.3333333333333333)
    """
    matrix = graph.to_scipy()
    size = float(abs(matrix.data).mean()) if matrix.nnz else 0.0
    if size in (0.0, 1.0):
        return graph
    return graph.cached("unit weights", lambda: graph.with_adjacency(matrix / size))


class DiffusionOperator(nn.Module):
    """x to Phi x with Phi = D~^-1/2 (alpha I + (1 - alpha) A) D~^-1/2, D~ = alpha I + (1 - alpha) D; see ``operators.diffusion``.

    Args:
        alpha: in [0, 1].
        learn: whether alpha is a parameter. It then stays inside (0, 1): alpha = sigmoid(a).

    Raises:
        ValueError: alpha is outside [0, 1], or, when used, the graph has negative weights.

    Example:
        >>> import ndcn, torch
        >>> pair = ndcn.Graph.from_edges([(0, 1)])
        >>> DiffusionOperator(0.2)(torch.tensor([[1.0], [0.0]]), pair)
        tensor([[0.2000],
                [0.8000]])
    """

    def __init__(self, alpha: float, learn: bool = False) -> None:
        super().__init__()
        if not 0 <= alpha <= 1:
            raise ValueError(f"alpha must be between 0 and 1, got {alpha}")
        self.fixed = None if learn else float(alpha)
        if learn:
            inside = min(max(float(alpha), INSIDE), 1 - INSIDE)
            self.logit = nn.Parameter(torch.tensor(math.log(inside / (1 - inside))))

    @property
    def alpha(self) -> float:
        """alpha as it is now."""
        return torch.sigmoid(self.logit.detach()).item() if self.fixed is None else self.fixed

    def forward(self, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        """Phi x, shape (n, d)."""
        if self.fixed is not None:
            return operators.diffusion(graph, self.fixed) @ x
        alpha = torch.sigmoid(self.logit)
        degrees = graph.cached(("degrees of diffusion", x.dtype, x.device), lambda: _degrees(graph, x))
        left, right = ((alpha + (1 - alpha) * degree).rsqrt().unsqueeze(1) for degree in degrees)
        scaled = right * x
        return left * (alpha * scaled + (1 - alpha) * (graph.adjacency @ scaled))


def _degrees(graph: Graph, x: torch.Tensor) -> list[torch.Tensor]:
    """What acts on each node and what it acts on, both in the dtype of x; negative weights are refused."""
    operators.diffusion(graph, 0.5)
    return [torch.as_tensor(graph.adjacency.csr.sum(axis=axis)).to(x) for axis in (1, 0)]


class LinearDiffusion(Field):
    """dX/dt = (Phi - I) X + beta (X(0) - X): diffusion with a source that holds on to where it began.

    With beta = 0 it is plain diffusion. ``state`` gives the solution at any time by a series in Phi, without time steps;
    as a field it is only complete for beta = 0, for a field does not know X(0).

    Args:
        operator: Phi.
        source: beta >= 0.

    Example:
        >>> import ndcn, torch
        >>> pair = ndcn.Graph.from_edges([(0, 1)])
        >>> field = LinearDiffusion(DiffusionOperator(0.0))
        >>> field.state(torch.tensor([[1.0], [0.0]]), torch.tensor(9.0), pair)
        tensor([[0.5000],
                [0.5000]])
    """

    signs: tuple[int, ...] = (1,)  # of the parts of X, each as wide as X(0)

    def __init__(self, operator: DiffusionOperator, source: float = 0.0) -> None:
        super().__init__()
        self.operator, self.source = operator, float(source)

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        """|s| (s Phi - I) X for the sign s of each part, shape (n, d)."""
        parts = zip(self.signs, x.chunk(len(self.signs), dim=1), strict=True)
        return torch.cat(
            [sign * self.operator(part, graph) - part if sign else 0 * part for sign, part in parts], dim=1
        )

    def state(
        self, x0: torch.Tensor, time: torch.Tensor, graph: Graph, tolerance: float = 1e-5, sign: int = 1
    ) -> torch.Tensor:
        """X(T) of the part with this sign, with an error of at most ``tolerance`` times the size of X(0).

        Differentiable, also with respect to T.
        """
        if sign == 0:
            return x0
        chebyshev = graph.adjacency.symmetric  # then all eigenvalues of Phi lie in [-1, 1]
        if self.operator.fixed is not None and not time.requires_grad:
            fixed = _fixed_weights(time.item(), self.source, tolerance, chebyshev, sign)
            return _Series.apply(x0, operators.diffusion(graph, self.operator.fixed), fixed, chebyshev)
        weights = (chebyshev_weights if chebyshev else power_weights)(time.double(), self.source, tolerance)
        weights = weights * weights.new_tensor([sign**k for k in range(len(weights))])  # T_k(-z) = (-1)^k T_k(z)
        return series(lambda x: self.operator(x, graph), x0, weights.to(x0.dtype).unbind(), chebyshev)


class SignedDiffusion(LinearDiffusion):
    """dX/dt = |s| [(s Phi - I) X + beta (X(0) - X)], with a sign s for each part of X: attract (1), stay (0), repel (-1).

    X(0) is there three times, side by side. Where s = 1, neighbours become alike; where s = -1, each moves away from the mean of
    its neighbours, and those two steps apart become alike; where s = 0, features stay as they are. Which of them tells the
    classes is learned by the readout of all three. Each part is exact, as of ``LinearDiffusion``.

    Example:
        >>> import ndcn, torch
        >>> pair = ndcn.Graph.from_edges([(0, 1)])
        >>> field = SignedDiffusion(DiffusionOperator(0.0))
        >>> field.state(torch.tensor([[1.0], [0.0]]), torch.tensor(9.0), pair, sign=-1)
        tensor([[ 0.5000],
                [-0.5000]])
    """

    signs = (1, 0, -1)


class NoDiffusion(LinearDiffusion):
    """dX/dt = 0: features alone.

    Example:
        >>> import ndcn, torch
        >>> pair = ndcn.Graph.from_edges([(0, 1)])
        >>> NoDiffusion(DiffusionOperator(0.0)).state(torch.tensor([[1.0], [0.0]]), torch.tensor(9.0), pair, sign=0)
        tensor([[1.],
                [0.]])
    """

    signs = (0,)


class ReluDiffusion(Field):
    """dX/dt = ReLU(Phi X): the paper's field for classifying nodes. It has no weights.

    Example:
        >>> import ndcn, torch
        >>> pair = ndcn.Graph.from_edges([(0, 1)])
        >>> ReluDiffusion(DiffusionOperator(0.0))(torch.tensor(0.0), torch.tensor([[1.0], [-2.0]]), pair)
        tensor([[0.],
                [1.]])
    """

    def __init__(self, operator: DiffusionOperator) -> None:
        super().__init__()
        self.operator = operator

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Graph) -> torch.Tensor:
        """ReLU(Phi X), shape (n, d)."""
        return torch.relu(self.operator(x, graph))


# X(T) = g(Phi) X(0) with g(z) = e^{-(b+1-z) T} + b (1 - e^{-(b+1-z) T}) / (b+1-z), which is entire in z.


def power_weights(time: torch.Tensor, source: float, tolerance: float) -> torch.Tensor:
    """w_k with g(z) = sum_k w_k z^k; they are positive and at most 1 in sum, so that nothing cancels.

    e^{-(b+1)T} T^k / k! is the term of X(0); of what the source gave since, w_k = b (b+1)^-(k+1) P(N > k), N being Poisson
    with mean (b+1) T.
    """
    rate = (1 + source) * time
    highest = _poisson_reach(rate.item(), tolerance)
    k = torch.arange(highest + 1, dtype=torch.float64, device=time.device)
    poisson = torch.exp(k * torch.log(rate.clamp_min(1e-300)) - rate - torch.lgamma(k + 1))
    decay = (1 + source) ** -k
    return decay * poisson + (source / (1 + source)) * decay * (1 - poisson.cumsum(0)).clamp_min(0)


def chebyshev_weights(time: torch.Tensor, source: float, tolerance: float) -> torch.Tensor:
    """c_k with g(z) = sum_k c_k T_k(z) on [-1, 1]; they fall off faster than those of the powers."""
    nodes = _poisson_reach((1 + source) * time.item(), 1e-12) + 8
    angle = (torch.arange(nodes, dtype=torch.float64, device=time.device) + 0.5) * (math.pi / nodes)
    gap = source + 1 - torch.cos(angle)  # >= 0; 0 only where (1 - e^{-gap T}) / gap is T
    faded = torch.exp(-gap * time)
    values = faded + source * torch.where(gap > 1e-12, (1 - faded) / gap.clamp_min(1e-12), time)
    weights = (2 / nodes) * torch.cos(torch.arange(nodes, device=angle.device).unsqueeze(1) * angle) @ values
    weights = torch.cat([weights[:1] / 2, weights[1:]])
    rest = weights.detach().abs().flip(0).cumsum(0).flip(0)  # what all from the k-th on can amount to
    return weights[: max(1, int((rest > tolerance).sum()))]


@functools.lru_cache(maxsize=64)
def _fixed_weights(time: float, source: float, tolerance: float, chebyshev: bool, sign: int) -> tuple[float, ...]:
    weights = (chebyshev_weights if chebyshev else power_weights)(
        torch.tensor(time, dtype=torch.float64), source, tolerance
    )
    return tuple(sign**k * weight for k, weight in enumerate(weights.tolist()))


def _poisson_reach(mean: float, tolerance: float) -> int:
    """The smallest K with P(N > K) <= tolerance, N being Poisson."""
    low, high = -1, 1
    while gammainc(high + 1, mean) > tolerance:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if gammainc(middle + 1, mean) > tolerance else (low, middle)
    return high


def series(multiply: Any, x: torch.Tensor, weights: Any, chebyshev: bool) -> torch.Tensor:
    """sum_k w_k Phi^k x, or sum_k w_k T_k(Phi) x with T_{k+1} = 2 Phi T_k - T_{k-1}."""
    total, before, now = weights[0] * x, x, x
    for k, weight in enumerate(weights[1:]):
        after = multiply(now)
        if chebyshev and k > 0:
            after = 2 * after - before
        total = total + weight * after
        before, now = now, after
    return total


class _Series(torch.autograd.Function):
    """The same with fixed weights: its gradient is the same series in the transpose, and nothing need be kept."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, matrix: SparseMatrix, weights: tuple[float, ...], chebyshev: bool
    ) -> torch.Tensor:
        ctx.rest = matrix, weights, chebyshev
        return _evaluated(x, matrix, weights, chebyshev)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        matrix, weights, chebyshev = ctx.rest
        return _evaluated(grads[0].contiguous(), matrix.T, weights, chebyshev), None, None, None


def _evaluated(x: torch.Tensor, matrix: SparseMatrix, weights: tuple[float, ...], chebyshev: bool) -> torch.Tensor:
    total, before, now = weights[0] * x, x, x
    for k, weight in enumerate(weights[1:]):
        after = matrix @ now
        if chebyshev and k > 0:
            after = after.mul_(2).sub_(before)
        total.add_(after, alpha=weight)
        before, now = now, after
    return total
