"""Every known law as a formula over a dense matrix A, written without the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ndcn.laws import Gene, Heat, Law, Mutualistic


def _column(value: Any) -> torch.Tensor:
    """A parameter as a number or a column that multiplies (n, d)."""
    tensor = torch.as_tensor(value, dtype=torch.float64)
    return tensor.unsqueeze(1) if tensor.dim() == 1 else tensor


def _row_of_pairs(value: Any) -> torch.Tensor:
    """A parameter of the acting node, as it multiplies (n acted on, n acting, d)."""
    tensor = _column(value)
    return tensor if tensor.dim() == 0 else tensor.unsqueeze(0)


def dense_heat(a: torch.Tensor, x: torch.Tensor, k: Any = 1.0) -> torch.Tensor:
    pairs = x.unsqueeze(1) - x.unsqueeze(0)  # x_i - x_j
    return -_column(k) * torch.einsum("ij,ijd->id", a, pairs)


def dense_mutualistic(
    a: torch.Tensor, x: torch.Tensor, b: Any = 0.1, k: Any = 5.0, c: Any = 1.0, d: Any = 5.0, e: Any = 0.9, h: Any = 0.1
) -> torch.Tensor:
    b, k, c, d, e = (_column(value) for value in (b, k, c, d, e))
    own, other = x.unsqueeze(1), x.unsqueeze(0)
    pairs = own * other / ((d + e * x).unsqueeze(1) + _row_of_pairs(h) * other)
    return b + x * (1 - x / k) * (x / c - 1) + torch.einsum("ij,ijd->id", a, pairs)


def dense_gene(a: torch.Tensor, x: torch.Tensor, b: Any = 1.0, f: Any = 1.0, h: Any = 2.0) -> torch.Tensor:
    raised = x ** _column(h)
    return -_column(b) * x ** _column(f) + a @ (raised / (raised + 1))


DENSE: dict[type[Law], Callable[..., torch.Tensor]] = {
    Heat: dense_heat,
    Mutualistic: dense_mutualistic,
    Gene: dense_gene,
}
SETTINGS: list[tuple[type[Law], dict[str, float]]] = [
    (Heat, {}),
    (Heat, {"k": 0.3}),
    (Mutualistic, {}),
    (Mutualistic, {"b": 0.2, "k": 4.0, "c": 1.5, "d": 3.0, "e": 0.1, "h": 0.9}),
    (Gene, {}),
    (Gene, {"b": 2.0, "f": 2.0, "h": 1.0}),
    (Gene, {"b": 0.5, "f": 1.5, "h": 2.5}),
]
