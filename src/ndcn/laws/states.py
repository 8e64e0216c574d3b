"""States to start from: the paper's, and random ones."""

from __future__ import annotations

import math

import numpy as np
import torch

from ..graph import Graph


def initial_state(graph: Graph, *, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """The paper's initial state: three warm blocks on the square layout, 25, 20 and 17, and 0 elsewhere.

    Node i lies at row i // N, column i % N of an N x N square, N = ceil(sqrt(n)).

    Returns:
        shape (n, 1).

    Example:
        >>> import ndcn
        >>> x0 = ndcn.laws.initial_state(ndcn.networks.grid(400))
        >>> x0.shape, x0.max().item()
        (torch.Size([400, 1]), 25.0)
    """
    n = graph.num_nodes
    side = math.isqrt(n - 1) + 1
    square = torch.zeros(side, side, dtype=dtype)

    def cells(low: float, high: float) -> slice:
        return slice(int(low * side), int(high * side))

    square[cells(0.05, 0.25), cells(0.05, 0.25)] = 25
    square[cells(0.45, 0.75), cells(0.45, 0.75)] = 20
    square[cells(0.05, 0.25), cells(0.35, 0.65)] = 17
    return square.reshape(-1)[:n].reshape(n, 1)


def uniform_state(graph: Graph, low: float, high: float, seed: int) -> torch.Tensor:
    """Numbers drawn evenly from [low, high), shape (n, 1), float64."""
    draw = np.random.default_rng([seed, 3])  # another stream than those of times, splits and validation
    return torch.from_numpy(draw.uniform(low, high, size=(graph.num_nodes, 1)))
