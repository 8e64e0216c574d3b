"""What times, states and names must be: tensors of the right shape, or a ValueError that says what is wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..graph import Graph


def checked_times(times: Any, *, ordered: bool) -> torch.Tensor:
    """Times as a float64 tensor of shape (T,), or a ValueError that says what is wrong with them."""
    out = _tensor(times, "times", torch.float64).detach().cpu()
    if out.dim() != 1 or len(out) == 0:
        raise ValueError(f"times must be a list of at least one number, shape (T,); got shape {tuple(out.shape)}")
    if not out.isfinite().all():
        where = int((~out.isfinite()).nonzero()[0])
        raise ValueError(f"times must be finite, but times[{where}] is {out[where].item()}")
    if (out < 0).any():
        raise ValueError(f"times must be >= 0, but the smallest is {out.min().item():g}; shift them by the first one")
    gaps = out.diff()
    if ordered and (gaps <= 0).any():
        where = int((gaps <= 0).nonzero()[0])
        word = "repeated" if gaps[where] == 0 else "not in increasing order"
        raise ValueError(
            f"times are {word}: times[{where}] = {out[where].item():g}, times[{where + 1}] = "
            f"{out[where + 1].item():g}; sort the snapshots and keep one for each time"
        )
    return out.clone()


def checked_state(x0: Any, graph: Graph, *, name: str = "x0") -> torch.Tensor:
    """One finite state of shape (n, d) for this graph, from (n,) or (n, d), or a ValueError."""
    x, n = _tensor(x0, name), graph.num_nodes
    x = x if x.is_floating_point() else x.float()
    x = x.unsqueeze(1) if x.dim() == 1 else x
    if x.dim() != 2 or x.shape[0] != n or x.shape[1] == 0:
        raise ValueError(f"{name} must have shape (n, d) with n = {n} nodes of the graph, got {tuple(x.shape)}")
    if not x.isfinite().all():
        node = graph.nodes[int((~x.isfinite()).nonzero()[0, 0])]
        first = f"the first at node {node!r}"
        raise ValueError(f"{name} has NaN or infinite entries, {first}; give every node a finite state")
    return x


def _tensor(value: Any, name: str, dtype: torch.dtype | None = None) -> torch.Tensor:
    try:
        if isinstance(value, np.ndarray) or hasattr(value, "to_numpy"):
            value = np.require(value, requirements="W")  # what pandas gives is often read-only, which torch dislikes
            if value.dtype.kind in "mM":
                raise ValueError(f"these are dates or durations; {in_days(name)}")
        out = torch.as_tensor(value, dtype=None if hasattr(value, "dtype") else dtype)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} must be numbers in a tensor, an array or a list: {error}") from None
    if out.is_complex():
        raise ValueError(f"{name} must be real numbers, got {out.dtype}; keep both parts as two features, or take abs")
    return out if dtype is None else out.to(dtype)


def in_days(times: str) -> str:
    """How dates become numbers, for messages about the pandas column or index of that name."""
    return f"turn them into numbers since the first, for days: ({times} - {times}.min()) / pandas.Timedelta(days=1)"


def all_finite(x: torch.Tensor) -> bool:
    """Whether no entry is NaN or infinite; a finite sum says so at a tenth of the cost of looking at each."""
    return math.isfinite(x.detach().sum().item()) or bool(x.isfinite().all())


def checked_states(
    states: Any, mask: Any, T: int, n: int, copy: bool = True
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """States (T, n, d) with NaN where they were not observed, and where they were; or a ValueError."""
    x = _tensor(states, "states").detach()
    x = x if x.is_floating_point() else x.float()
    x = x.unsqueeze(2) if x.dim() == 2 else x
    if x.dim() != 3 or x.shape[:2] != (T, n) or x.shape[2] == 0:
        expected = f"(T, n, d) with T = {T} times and n = {n} nodes of the graph"
        raise ValueError(f"states must have shape {expected}, got {tuple(x.shape)}")
    if mask is not None:
        mask = _tensor(mask, "mask").to(x.device)
        if mask.dtype != torch.bool:
            raise ValueError(f"mask must be boolean (True where observed), got {mask.dtype}")
        mask = mask.unsqueeze(2).expand_as(x) if mask.shape == x.shape[:2] else mask
        if mask.shape != x.shape:
            raise ValueError(f"mask must have the shape of states {tuple(x.shape)}, got {tuple(mask.shape)}")
        mask = None if mask.all() else mask
    if mask is None and all_finite(x):
        return x.clone() if copy else x, None
    finite = x.isfinite() if mask is None else x.isfinite() | ~mask
    if not finite.all():
        t, i, k = (~finite).nonzero()[0].tolist()
        raise ValueError(
            f"states hold {int((~finite).sum())} NaN or infinite entries, the first at time {t}, node {i}, feature {k}; "
            "if they are missing, pass mask=states.isfinite()"
        )
    assert mask is not None  # else all are finite, or this was said
    return torch.where(mask, x, torch.nan), mask.clone()


def feature_names(features: Sequence[str] | None, d: int) -> tuple[str, ...]:
    """d distinct names, by default "x", or "x1", "x2", ...; or a ValueError."""
    if features is None:
        return ("x",) if d == 1 else tuple(f"x{k + 1}" for k in range(d))
    names = tuple(str(name) for name in features)
    if len(names) != d or len(set(names)) != d:
        raise ValueError(f"features must be {d} distinct names, got {names}")
    if {"time", "node"} & set(names):
        raise ValueError(f'features cannot be called "time" or "node", which name columns of tables, got {names}')
    return names
