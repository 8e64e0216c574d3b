"""What training minimises: integral of a running loss over time, plus a terminal loss at the last time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.autograd.function import once_differentiable

from ..data import Trajectory
from ..solve import Comparison

Function = Callable[[torch.Tensor], torch.Tensor]


class Penalty(NamedTuple):
    """A function of the error, and its derivative."""

    value: Function
    slope: Function


PENALTIES: dict[str, Penalty] = {
    "l1": Penalty(torch.abs, torch.sgn),
    "l2": Penalty(torch.square, lambda e: 2 * e),
    "huber": Penalty(
        lambda e: nn.functional.huber_loss(e, torch.zeros_like(e), reduction="none"), lambda e: e.clamp(-1, 1)
    ),
}


class CrossEntropy:
    """-sum_i log softmax(X_i(T))[label_i] / count: labels of some nodes, scored on the decoded state at the last time.

    Args:
        labels: class of each node, shape (n,), integers.
        mask: which nodes count, shape (n,), boolean; all by default.

    Example:
        >>> import ndcn, torch
        >>> loss = ndcn.CrossEntropy(torch.tensor([0, 1]), mask=torch.tensor([True, False]))
        >>> loss(torch.zeros(2, 3))
        tensor(1.0986)
    """

    def __init__(self, labels: Any, mask: Any = None) -> None:
        labels = torch.as_tensor(labels)
        if labels.dim() != 1 or labels.is_floating_point():
            raise ValueError(f"labels must be whole numbers of shape (n,), got {labels.dtype} {tuple(labels.shape)}")
        self.mask = torch.ones_like(labels, dtype=torch.bool) if mask is None else torch.as_tensor(mask)
        if self.mask.shape != labels.shape or self.mask.dtype != torch.bool:
            raise ValueError(f"mask must be boolean of shape {tuple(labels.shape)}")
        if not self.mask.any():
            raise ValueError("the mask leaves no labelled node to score")
        self.labels = labels.long()
        if self.labels[self.mask].min() < 0:
            raise ValueError("labels that count must be 0 or more")

    def __call__(self, state: torch.Tensor) -> torch.Tensor:
        """The loss of a decoded state, shape (n, classes)."""
        mask = self.mask.to(state.device)
        classes = int(self.labels[self.mask].max()) + 1
        if state.dim() != 2 or len(state) != len(mask) or state.shape[1] < classes:
            raise ValueError(
                f"labels of {len(mask)} nodes in {classes} classes do not fit a decoded state of shape {tuple(state.shape)}"
            )
        return nn.functional.cross_entropy(state[mask], self.labels.to(state.device)[mask])


@dataclass(frozen=True)
class Objective:
    """L = sum_k w_k mean |X(t_k) - X^(t_k)|^p + terminal_weight S(X(T)), with sum_k w_k = 1.

    Args:
        running: penalty of the error at every observed entry: "l1" (the paper's), "l2", "huber", or None.
        terminal: penalty of the last snapshot ("l1", "l2", "huber"), or any function of the decoded state at the last
            time, such as ``CrossEntropy``; None by default.
        terminal_weight: factor of the terminal loss.
        time_weights: "uniform" weighs all observations equally; "gaps" weighs a snapshot by the time it stands for
            (trapezoidal rule), which approximates the integral over time on irregular snapshots.

    Entries that were not observed never count.

    Example:
        >>> import ndcn
        >>> ndcn.Objective(running="huber", time_weights="gaps").running
        'huber'
    """

    running: str | None = "l1"
    terminal: str | Callable[[torch.Tensor], torch.Tensor] | None = None
    terminal_weight: float = 1.0
    time_weights: str = "uniform"

    def __post_init__(self) -> None:
        for name in ("running", "terminal"):
            value = getattr(self, name)
            free = value is None or (name == "terminal" and callable(value))
            if not free and (not isinstance(value, str) or value not in PENALTIES):
                raise ValueError(f"unknown {name} loss {value!r}; known are {', '.join(PENALTIES)}")
        if self.running is None and self.terminal is None:
            raise ValueError("there is nothing to minimise: give a running or a terminal loss")
        if not math.isfinite(self.terminal_weight):
            raise ValueError(f"terminal_weight must be finite, got {self.terminal_weight}")
        if self.time_weights not in ("uniform", "gaps"):
            raise ValueError(f'time_weights must be "uniform" or "gaps", got {self.time_weights!r}')

    @property
    def compares(self) -> bool:
        """Whether a term compares the prediction with the data, so that both must have the same features."""
        return self.running is not None or isinstance(self.terminal, str)

    def target(self, data: Trajectory, scale: torch.Tensor, dtype: torch.dtype, device: Any) -> Target:
        """The observations in scaled units on the device, ready to be compared with predictions many times."""
        states = data.states.to(device, dtype) / scale.to(device, dtype)
        mask = None if data.mask is None else data.mask.to(device)
        T, n, d = states.shape
        observed = torch.full((T,), float(n * d)).double() if mask is None else mask.sum(dim=(1, 2)).double().cpu()
        observed = data.graph.total(observed)
        if self.time_weights == "gaps":  # a snapshot counts by its time, however many entries it has
            weights = torch.zeros_like(data.times) if T > 1 else torch.ones_like(data.times)
            weights[:-1] += data.times.diff() / 2
            weights[1:] += data.times.diff() / 2
            per_entry = torch.where(observed > 0, weights / observed.clamp(min=1), 0)
            per_entry = per_entry / (weights * (observed > 0)).sum()
        else:  # every observed entry counts alike
            per_entry = torch.ones_like(observed) / observed.sum()
        if mask is not None:
            states.nan_to_num_(0.0)
        last = None
        if isinstance(self.terminal, str) and data.graph.in_parts:
            here = states[-1].numel() if mask is None else int(mask[-1].sum())
            last = max(1.0, data.graph.total(torch.tensor([float(here)], dtype=torch.float64)).item())
        elif self.terminal is not None and data.graph.in_parts:
            raise ValueError(
                "a terminal loss that is a function of the last state sees the nodes of one process only: use a running loss "
                'or terminal="l1", "l2" or "huber" where several processes share the network'
            )
        return Target(states, mask, per_entry.to(device, dtype).reshape(T, 1, 1), last)

    def comparison(self, target: Target) -> Comparison | None:
        """The objective as a comparison with all observations, if it is nothing else."""
        if self.running is None or self.terminal is not None:
            return None
        return Comparison(target.states, target.mask, target.weights, self.running, *PENALTIES[self.running])

    def loss(self, prediction: torch.Tensor, target: Target) -> torch.Tensor:
        """The value to minimise, for decoded predictions of shape (T, n, d) in scaled units."""
        terms = []
        if self.running is not None:
            terms.append(_Weighted.apply(prediction, PENALTIES[self.running], target))
        if isinstance(self.terminal, str):
            mask = None if target.mask is None else target.mask[-1:]
            here = target.states[-1].numel() if mask is None else max(1, int(mask.sum()))
            count = here if target.last is None else target.last
            weights = (self.terminal_weight / count) * torch.ones_like(target.weights[-1:])
            last = Target(target.states[-1:], mask, weights)
            terms.append(_Weighted.apply(prediction[-1:], PENALTIES[self.terminal], last))
        elif self.terminal is not None:
            terms.append(self.terminal_weight * self.terminal(prediction[-1]))
        return sum(terms[1:], terms[0])


@dataclass(frozen=True)
class Target:
    """Observations prepared for an objective: states (T, n, d), mask, the weight of an entry at each time; in parts, how many are at the last."""

    states: torch.Tensor
    mask: torch.Tensor | None
    weights: torch.Tensor
    last: float | None = None


class _Weighted(torch.autograd.Function):
    """sum_k w_k sum_i penalty(prediction - states): one pass for value and gradient, a few million entries at a time."""

    AT_ONCE = 4_000_000

    @staticmethod
    def forward(ctx: Any, prediction: torch.Tensor, penalty: Penalty, target: Target) -> torch.Tensor:
        slope = torch.empty_like(prediction)
        total = prediction.new_zeros(())
        rows = max(1, _Weighted.AT_ONCE // prediction[0].numel())
        for k in range(0, len(prediction), rows):
            here = slice(k, k + rows)
            error = prediction[here] - target.states[here]
            if target.mask is not None:
                error.masked_fill_(~target.mask[here], 0.0)
            total += (penalty.value(error).sum(dim=(1, 2), keepdim=True) * target.weights[here]).sum()
            torch.mul(penalty.slope(error), target.weights[here], out=slope[here])
        ctx.save_for_backward(slope)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (slope,) = ctx.saved_tensors
        return slope if grads[0] == 1 else slope * grads[0], None, None
