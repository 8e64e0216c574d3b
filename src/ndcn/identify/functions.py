"""f and g of a law on a grid over the states seen, with standard deviations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ..laws import Law


@dataclass(frozen=True)
class Functions:
    """f(x_i) and g(x_i, x_j) on a grid along each of d features, the other features at their medians.

    Attributes:
        features: names of the features.
        x: m points from the least to the largest state seen, along feature a: x[a], shape (d, m).
        f: f[a, k] is f where feature a is x[a, k], shape (d, m, d).
        f_std: its standard deviation, the same shape.
        g: g[a, k, l] is g where feature a of x_i is x[a, k] and that of x_j is x[a, l], shape (d, m, m, d).
        g_std: its standard deviation, the same shape.
        density: of the states seen, at x; each row integrates to 1, shape (d, m).
        median: of the states seen, shape (d,).
    """

    features: tuple[str, ...]
    x: np.ndarray
    f: np.ndarray
    f_std: np.ndarray
    g: np.ndarray
    g_std: np.ndarray
    density: np.ndarray
    median: np.ndarray


def functions_of(
    node: Callable[[torch.Tensor], torch.Tensor],
    edge: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    samples: Sequence[Law],
    states: torch.Tensor,
    points: int = 50,
    features: Sequence[str] | None = None,
) -> Functions:
    """f and g, as ``law.node`` and ``law.edge``, on a grid of m points along each feature of the states seen (..., d), without NaN.

    Standard deviations are those of posterior ``samples`` of the law; with fewer than two they are 0.

    Raises:
        ValueError: there are no states, fewer than two points, or not as many names as features.

    Example:
        >>> import ndcn
        >>> law = ndcn.laws.Gene()
        >>> found = functions_of(law.node, law.edge, [], torch.rand(100, 1), points=20)
        >>> found.f.shape, found.g.shape
        ((1, 20, 1), (1, 20, 20, 1))
    """
    if points < 2:
        raise ValueError(f"a grid needs at least 2 points, got {points}")
    seen = states.detach().reshape(-1, states.shape[-1])
    d = seen.shape[1]
    names = tuple(features or ([f"x{k + 1}" for k in range(d)] if d > 1 else ["x"]))
    if len(names) != d:
        raise ValueError(f"the states have {d} features, got the names {names}")
    finite = [seen[:, a][seen[:, a].isfinite()] for a in range(d)]
    if not all(len(values) for values in finite):
        raise ValueError("there are no states to make a grid from")
    x = torch.stack([_grid(values, points) for values in finite])
    median = torch.stack([values.median() for values in finite])
    rows: list[tuple[np.ndarray, ...]] = []
    with torch.no_grad():
        for a in range(d):
            at = states_along(x[a], median, a)
            pairs = at.repeat_interleave(points, 0), at.repeat(points, 1)
            f = node(at)
            g = edge(*pairs).reshape(points, points, d)
            f_std = _spread([law.node(at) for law in samples], f)
            g_std = _spread([law.edge(*pairs).reshape(g.shape) for law in samples], g)
            rows.append(tuple(part.double().cpu().numpy() for part in (f, f_std, g, g_std)))
    f_all, f_std_all, g_all, g_std_all = (np.stack(part) for part in zip(*rows, strict=True))
    grid = x.double().cpu().numpy()
    density = np.stack([_density(values.double().cpu().numpy(), grid[a]) for a, values in enumerate(finite)])
    return Functions(names, grid, f_all, f_std_all, g_all, g_std_all, density, median.double().cpu().numpy())


def states_along(x: torch.Tensor, median: torch.Tensor, feature: int) -> torch.Tensor:
    """States (m, d) whose one feature is x (m,), the others at their medians (d,)."""
    states = median.repeat(len(x), 1)
    states[:, feature] = x
    return states


def _grid(values: torch.Tensor, points: int) -> torch.Tensor:
    low, high = values.min().item(), values.max().item()
    if high - low <= 1e-6 * max(abs(low), abs(high)):
        low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
    return torch.linspace(low, high, points, dtype=values.dtype, device=values.device)


def _spread(samples: Sequence[torch.Tensor], like: torch.Tensor) -> torch.Tensor:
    return torch.stack(list(samples)).std(0) if len(samples) > 1 else torch.zeros_like(like)


def _density(values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    half = (grid[1] - grid[0]) / 2
    edges = np.linspace(grid[0] - half, grid[-1] + half, len(grid) + 1)
    return np.histogram(values, edges, density=True)[0]
