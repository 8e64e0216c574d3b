"""A trajectory and, on tape, the derivatives of all its states by the first one and by the parameters.

Nothing of size n x n is formed: derivatives are applied forwards and backwards along a tape of sparse Jacobians.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from scipy import sparse

from ..laws import Model, Network


@dataclass(frozen=True)
class Step:
    """One Runge-Kutta step: its length, and Jacobians, with their transposes, and parameter columns of its four stages."""

    h: float
    J: tuple[sparse.csr_array, ...]
    JT: tuple[sparse.csc_array, ...]
    C: tuple[np.ndarray, ...]


@dataclass
class Tape:
    """A trajectory and the steps that led from each observation time to the next."""

    states: torch.Tensor
    steps: list[list[Step]] = field(default_factory=list)

    def tangent(self, v: np.ndarray, sources: bool) -> Iterator[np.ndarray]:
        """Derivatives of the state at each time, when those of the first are v (n d, M); ``sources`` are parameters."""
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

    def memory(self, weights: Sequence[np.ndarray]) -> np.ndarray:
        """About the diagonal of sum_k T_k^T w_k T_k: each node by itself."""
        kept = np.ones_like(weights[0])
        out = np.zeros_like(weights[0])
        for steps, w in zip(self.steps, weights[1:], strict=True):
            for s in steps:
                kept = kept * np.exp(np.clip(s.h * s.J[0].diagonal()[:, None], -20, 2))
            out += w * kept**2
        return out

    def adjoint(self, w: Sequence[np.ndarray]) -> np.ndarray:
        """The transpose: sum_k T_k^T w_k, where T_k takes derivatives of the initial state to those at time k."""
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
    tape = Tape(states)
    stage = 0
    for span, count in zip(spans.tolist(), steps, strict=True):
        taken = []
        for _ in range(count):
            J, JT = zip(*jacobians[stage : stage + 4], strict=True)
            taken.append(Step(span / count, J, JT, tuple(columns[stage : stage + 4])))
            stage += 4
        tape.steps.append(taken)
    return tape
