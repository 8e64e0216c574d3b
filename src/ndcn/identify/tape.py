"""A trajectory and, on tape, the derivatives of all its states by the first one and by the parameters.

Nothing of size n x n is formed: derivatives are applied forwards and backwards along a tape of sparse Jacobians.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from scipy import sparse

from ..laws import Model, Network
from ..solve import CompiledTape, Steps


class Tape(ABC):
    """A trajectory and its derivatives. T_k takes derivatives of the first state to those at time k; rows are (n d)."""

    states: torch.Tensor  # (T, n, d)

    @abstractmethod
    def sensitivities(self) -> Sequence[np.ndarray]:
        """Derivatives of the state at each time by the parameters, (n d, P)."""

    @abstractmethod
    def tangent(self, v: np.ndarray) -> Iterable[np.ndarray]:
        """Derivatives of the state at each time, T_k v, when those of the first are v (n d, M)."""

    @abstractmethod
    def adjoint(self, w: Sequence[np.ndarray]) -> np.ndarray:
        """The transpose: sum_k T_k^T w_k."""

    @abstractmethod
    def decay(self) -> Iterable[np.ndarray]:
        """About how much of itself each entry of the first state keeps until each time but the first, (n d, 1)."""

    def node_tangent(self, d: int) -> Iterator[np.ndarray]:
        """Of a law whose features from d on do not change: derivatives of the first d at each time but the first, (n d, n d + n q).

        Columns are the first d features of each node at the beginning, then the other q of each.
        """
        n, D = self.states.shape[1:]
        rows = (np.arange(n)[:, None] * D + np.arange(d)).ravel()
        columns = np.concatenate([rows, np.setdiff1d(np.arange(n * D), rows)])
        for k, T in enumerate(self.tangent(np.eye(n * D)[:, columns])):
            if k:
                yield T[rows]

    def gram(self, v: np.ndarray, weights: Sequence[np.ndarray]) -> np.ndarray:
        """sum_k T_k^T w_k T_k v."""
        return self.adjoint([w * along for w, along in zip(weights, self.tangent(v), strict=True)])

    def memory(self, weights: Sequence[np.ndarray]) -> np.ndarray:
        """About the diagonal of sum_k T_k^T w_k T_k: each node by itself."""
        out = np.zeros_like(weights[0])
        for w, kept in zip(weights[1:], self.decay(), strict=True):
            out += w * kept**2
        return out


@dataclass(frozen=True)
class Step:
    """One Runge-Kutta step: its length, and Jacobians, with their transposes, and parameter columns of its four stages."""

    h: float
    J: tuple[sparse.csr_array, ...]
    JT: tuple[sparse.csc_array, ...]
    C: tuple[np.ndarray, ...]


@dataclass
class PlainTape(Tape):
    """The steps that led from each observation time to the next, as sparse matrices: for models without a compiled kernel."""

    states: torch.Tensor
    steps: list[list[Step]] = field(default_factory=list)

    def sensitivities(self) -> Sequence[np.ndarray]:
        """By the columns of all stages as sources."""
        P = next(step.C[0].shape[1] for steps in self.steps for step in steps)
        return list(self._tangent(np.zeros((self.states[0].numel(), P)), sources=True))

    def tangent(self, v: np.ndarray) -> Iterator[np.ndarray]:
        """Step by step."""
        return self._tangent(v, sources=False)

    def _tangent(self, v: np.ndarray, *, sources: bool) -> Iterator[np.ndarray]:
        yield v
        for steps in self.steps:
            for s in steps:
                c1, c2, c3, c4 = s.C if sources else (np.zeros(1),) * 4
                k1 = s.J[0] @ v + c1
                k2 = s.J[1] @ (v + s.h / 2 * k1) + c2
                k3 = s.J[2] @ (v + s.h / 2 * k2) + c3
                k4 = s.J[3] @ (v + s.h * k3) + c4
                v = v + s.h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            yield v

    def decay(self) -> Iterator[np.ndarray]:
        """By the diagonals of Jacobians."""
        kept = np.ones((self.states[0].numel(), 1))
        for steps in self.steps:
            for s in steps:
                kept = kept * np.exp(np.clip(s.h * s.J[0].diagonal()[:, None], -20, 2))
            yield kept

    def adjoint(self, w: Sequence[np.ndarray]) -> np.ndarray:
        """Step by step, backwards."""
        v = w[-1]
        for steps, here in zip(reversed(self.steps), reversed(w[:-1]), strict=True):
            for s in reversed(steps):
                b4 = s.h / 6 * v
                y4 = s.JT[3] @ b4
                b3 = s.h / 3 * v + s.h * y4
                y3 = s.JT[2] @ b3
                b2 = s.h / 3 * v + s.h / 2 * y3
                y2 = s.JT[1] @ b2
                b1 = s.h / 6 * v + s.h / 2 * y2
                v = v + y4 + y3 + y2 + s.JT[0] @ b1
            v = v + here
        return v


@dataclass
class KernelTape(Tape):
    """The same in C."""

    tape: CompiledTape

    def __post_init__(self) -> None:
        self.states = torch.from_numpy(self.tape.states)

    def sensitivities(self) -> Sequence[np.ndarray]:
        """As they were recorded."""
        return list(self.tape.sensitivities)

    def tangent(self, v: np.ndarray) -> Iterator[np.ndarray]:
        """Interval by interval."""
        return self.tape.tangent(v)

    def node_tangent(self, d: int) -> Iterator[np.ndarray]:
        """Interval by interval, without the features that do not change."""
        return self.tape.node_tangent(d)

    def gram(self, v: np.ndarray, weights: Sequence[np.ndarray]) -> np.ndarray:
        """In one call."""
        return self.tape.gram(v, np.stack(weights))

    def adjoint(self, w: Sequence[np.ndarray]) -> np.ndarray:
        """In one call."""
        return self.tape.adjoint(np.stack(w))

    def decay(self) -> Iterator[np.ndarray]:
        """By the diagonals of Jacobians."""
        steps = self.tape.steps
        rates = self.tape.diagonals() * np.repeat(steps.h, steps.count)[:, None]
        kept = np.cumsum(np.clip(rates, -20, 2), axis=0)[np.cumsum(steps.count) - 1]
        return iter(np.exp(kept)[..., None])


def roll(
    model: Model,
    network: Network,
    x0: torch.Tensor,
    spans: torch.Tensor,
    steps: Sequence[int],
    visited: list[torch.Tensor] | None = None,
) -> torch.Tensor | None:
    """The trajectory from x0 (n, d) through all intervals, (T, n, d); None if it explodes.

    States at which rates were taken, four in each step, join ``visited``.
    """
    if visited is None and (kernel := model.kernel(network)) is not None:
        found = kernel.roll(x0.numpy(), Steps.of(spans.numpy(), steps))
        return None if found is None else torch.from_numpy(found)
    x = x0.unsqueeze(0)
    out = [x0]
    for span, count in zip(spans.tolist(), steps, strict=True):
        h = span / count
        for _ in range(count):
            k1 = model.rate(x, network)
            x2 = x + h / 2 * k1
            k2 = model.rate(x2, network)
            x3 = x + h / 2 * k2
            k3 = model.rate(x3, network)
            x4 = x + h * k3
            k4 = model.rate(x4, network)
            if visited is not None:
                visited += [x, x2, x3, x4]
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        if not x.isfinite().all():
            return None
        out.append(x[0])
    return torch.stack(out)


def record(model: Model, network: Network, x0: torch.Tensor, spans: torch.Tensor, steps: Sequence[int]) -> Tape | None:
    """``roll`` with the tape of its derivatives."""
    if (kernel := model.kernel(network)) is not None:
        found = kernel.record(x0.numpy(), Steps.of(spans.numpy(), steps))
        return None if found is None else KernelTape(found)
    visited: list[torch.Tensor] = []
    states = roll(model, network, x0, spans, steps, visited)
    if states is None:
        return None
    jacobians: list[tuple[sparse.csr_array, sparse.csc_array]] = []
    columns: list[np.ndarray] = []
    for some in torch.cat(visited).split(network.together()):
        slopes = model.slopes(some, network)
        jacobians += network.jacobians(slopes.own, slopes.edges)
        columns += list(slopes.columns.flatten(1, -2).numpy())
    tape = PlainTape(states)
    stage = 0
    for span, count in zip(spans.tolist(), steps, strict=True):
        taken = []
        for _ in range(count):
            J, JT = zip(*jacobians[stage : stage + 4], strict=True)
            taken.append(Step(span / count, J, JT, tuple(columns[stage : stage + 4])))
            stage += 4
        tape.steps.append(taken)
    return tape
