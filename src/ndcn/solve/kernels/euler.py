"""Euler through a graph field as one autograd function: where it applies, and how it is cut into segments.

X_{k+1} = X_k + h_k S_k, S_k = relu(Phi X_k W^T + b). A linear readout R commutes with the interpolation between steps,
so only U_k = X_k R^T and V_k = S_k R^T leave the function: d columns instead of h. The gradient is derived by hand:
with G = dL/dX_{k+1}, gZ = (h_k G + gV_k R) [S_k > 0] and Y = Phi^T gZ,

    dL/dX_k = G + Y W + gU_k R,    dL/dW += Y^T X_k,    dL/db += sum gZ,    dL/dR += gU_k^T X_k + gV_k^T S_k.

Phi X need not be kept. With segments, only every ``segment``-th state is kept and the others are computed again. The
compiled kernel keeps the slopes and every eighth state, and finds the others again on the way back, X_k = X_{k+1} - h_k S_k.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import nn
from torch.autograd.function import once_differentiable

from ...data import Statistics, all_finite
from ...graph import Graph, HaloMatrix, SparseMatrix
from ..field import Field
from ..methods.runge_kutta import SAME, explosion, fixed_grid
from ..solver import IntegrationError, Solver
from . import euler_compiled, euler_parts, euler_torch


def backend(field: nn.Module, graph: Graph, x0: torch.Tensor, kernel: str) -> ModuleType | None:
    """The compiled or the torch fast path for this field; None for the plain loop, which also explains what is wrong."""
    found = accepted(field, graph, x0, kernel)
    return None if found is None else found.backend


class Accepted(NamedTuple):
    """A field relu(Phi X W^T + b) that the fast path takes, and the back end for it."""

    backend: ModuleType
    phi: SparseMatrix | HaloMatrix
    weight: torch.Tensor
    bias: torch.Tensor


def accepted(field: nn.Module, graph: Graph, x0: torch.Tensor, kernel: str) -> Accepted | None:
    """What the fast path needs of this field, for states like x0; None for the plain loop."""
    n = graph.num_nodes
    if kernel == "off" or x0.dim() != 2 or len(x0) != n or hooked(field) or not isinstance(field, Field):
        return None
    form = field.relu_form(graph)
    if form is None or not (form.linear is None or _fits(form.linear, x0)):
        return None
    phi = form.operator
    if phi is None:
        phi = graph.cached("identity", lambda: SparseMatrix(sparse.eye_array(n, format="csr"), symmetric=True))
    if not isinstance(phi, (SparseMatrix, HaloMatrix)) or phi.shape != (n, n):
        return None
    compiled = (
        isinstance(phi, SparseMatrix)
        and kernel != "torch"
        and x0.device.type == "cpu"
        and x0.dtype in euler_compiled.PANELS
        and phi.nnz < 2**31
        and euler_compiled.library() is not None
    )
    in_parts = isinstance(phi, HaloMatrix)
    backend = euler_parts if in_parts else euler_compiled if compiled else euler_torch
    if form.linear is not None:
        return Accepted(backend, phi, form.linear.weight, form.linear.bias)
    return Accepted(backend, phi, *_no_weights(x0.shape[1], x0.dtype, x0.device))


@functools.lru_cache(maxsize=8)
def _no_weights(width: int, dtype: torch.dtype, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """W = I and b = 0."""
    return torch.eye(width, dtype=dtype, device=device), torch.zeros(width, dtype=dtype, device=device)


def _fits(linear: Any, x0: torch.Tensor) -> bool:
    """Whether W and b of a field are plain numbers that go with the state."""
    return (
        type(linear) is nn.Linear
        and linear.bias is not None
        and not hooked(linear)
        and linear.in_features == x0.shape[1]
        and linear.weight.dtype == linear.bias.dtype == x0.dtype
        and linear.weight.device == x0.device
    )


def linear_readout(decoder: nn.Module | None, x0: torch.Tensor) -> nn.Linear | None:
    """The decoder, if it can be applied inside."""
    if type(decoder) is not nn.Linear or hooked(decoder) or decoder.in_features != x0.shape[1]:
        return None
    return decoder if (decoder.weight.dtype, decoder.weight.device) == (x0.dtype, x0.device) else None


def hooked(module: nn.Module) -> bool:
    """Whether calling the module does more than its forward."""
    return bool(module._forward_hooks or module._forward_pre_hooks or module._backward_hooks)


def solve(
    field: nn.Module,
    graph: Graph,
    x0: torch.Tensor,
    query: Sequence[float],
    solver: Solver,
    t0: float,
    *,
    decoder: nn.Linear | None,
    backend: ModuleType,
) -> tuple[torch.Tensor, Statistics]:
    """States at the sorted times ``query``, decoded if a linear decoder is given, and statistics."""
    at = schedule(tuple(query), solver, t0)
    count = len(at.steps)
    readout = None if decoder is None else decoder.weight
    states, slopes = trajectory(
        field,
        graph,
        x0,
        at.steps,
        readout=readout,
        with_slopes=at.at_slopes is not None,
        segment=segment_length(solver, count, torch.is_grad_enabled()),
        backend=backend,
    )
    if not finite_end(states, slopes, graph):
        raise explosion(last_good(states, at, graph))
    if decoder is not None and decoder.bias is not None:  # interpolation leaves a constant as it is
        states.add_(decoder.bias)
    flat = states if at.at_states is None else at.at_states @ states.flatten(1)
    if slopes is not None and at.at_slopes is not None:
        flat = flat + at.at_slopes @ slopes.flatten(1)
    return flat.reshape(len(query), *states.shape[1:]), Statistics(count + (slopes is not None), count, 0)


def segment_length(solver: Solver, count: int, differentiate: bool) -> int:
    """Steps whose states are kept at once for the gradient: all of them, or as the solver says."""
    keep_all = solver.gradient == "backprop" and differentiate
    return max(count, 1) if keep_all else solver.segment or max(1, math.isqrt(count))


def finite_end(states: torch.Tensor, slopes: torch.Tensor | None, graph: Graph) -> bool:
    """Whether the last state and slope are finite at all nodes."""
    return graph.everywhere(all_finite(states[-1]) and (slopes is None or all_finite(slopes[-1])))


def last_good(states: torch.Tensor, at: Schedule, graph: Graph) -> float:
    """The last time at which all states are finite."""
    bad = (~states.detach().flatten(1).isfinite().all(dim=1)).long()  # once it is not finite, it stays so
    good = len(bad) - int(graph.highest(bad).sum())
    return at.grid[max(0, good - 1)]


def check_start(x0: torch.Tensor, t0: float, graph: Graph) -> None:
    """Refuse a state that is not finite."""
    if not graph.everywhere(all_finite(x0)):
        message = f"the state at the start, t = {t0:g}, holds NaN or infinite entries"
        raise IntegrationError(message, time=t0, reason="start")


@dataclass(frozen=True)
class Schedule:
    """Steps to take, and the requested states as combinations of the states and slopes at their ends.

    ``at_states`` is None where the requested times are the ends themselves, ``at_slopes`` where none is inside a step.
    """

    grid: list[float]
    steps: torch.Tensor
    at_states: SparseMatrix | None
    at_slopes: SparseMatrix | None


@functools.lru_cache(maxsize=64)
def schedule(query: tuple[float, ...], solver: Solver, t0: float) -> Schedule:
    """Cubic Hermite interpolation, as in the plain loop, written as two sparse matrices."""
    grid = fixed_grid(query, solver, t0)
    ends = np.array(grid)
    steps = torch.from_numpy(np.diff(ends))
    if list(query) == grid:
        return Schedule(grid, steps, None, None)
    asked = np.array(query)
    rows = np.arange(len(asked))
    if len(grid) == 1:
        return Schedule(grid, steps, _matrix([(rows, 0 * rows, np.ones(len(asked)))], len(asked), 1), None)
    left = np.clip(np.searchsorted(ends, asked, side="right") - 1, 0, len(grid) - 2)
    h = ends[left + 1] - ends[left]
    s = (asked - ends[left]) / h
    s = np.where(s < SAME, 0.0, np.where(s > 1 - SAME, 1.0, s))
    blend = s * s * (3 - 2 * s)
    shape = len(asked), len(grid)
    at_states = _matrix([(rows, left, 1 - blend), (rows, left + 1, blend)], *shape)
    if ((s == 0) | (s == 1)).all():
        return Schedule(grid, steps, at_states, None)
    at_slopes = _matrix([(rows, left, h * s * (1 - s) ** 2), (rows, left + 1, -h * s * s * (1 - s))], *shape)
    return Schedule(grid, steps, at_states, at_slopes)


def _matrix(parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]], m: int, n: int) -> SparseMatrix:
    row, column, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    matrix = sparse.coo_array((value, (row, column)), shape=(m, n)).tocsr()
    matrix.eliminate_zeros()
    return SparseMatrix(matrix)


def trajectory(
    field: nn.Module,
    graph: Graph,
    x0: torch.Tensor,
    steps: torch.Tensor,
    *,
    readout: torch.Tensor | None,
    with_slopes: bool,
    segment: int,
    backend: ModuleType,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """States after 0, 1, ... steps and, if asked for, the slopes at each of them; times ``readout``^T if it is given.

    x0: (n, h). steps: step sizes, float64. readout: (d, h). Returns (steps + 1, n, h or d) each.
    """
    found = accepted(field, graph, x0, "torch" if backend is euler_torch else "auto")
    assert found is not None  # the caller has looked
    given = [found.weight, found.bias, torch.eye(x0.shape[1]).to(x0) if readout is None else readout]
    needed = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (x0, *given))
    plan = Plan(found.phi, steps.contiguous(), with_slopes, segment, needed, backend)
    states, slopes = _Trajectory.apply(plan, x0, *given)
    return states, slopes if with_slopes else None


@dataclass(frozen=True)
class Plan:
    """What a trajectory is made of besides numbers that can be learned, and how its gradient is computed."""

    phi: Any  # a SparseMatrix, or in parts a HaloMatrix
    steps: torch.Tensor
    with_slopes: bool
    segment: int
    differentiate: bool
    backend: ModuleType

    def segments(self) -> list[tuple[int, int, int]]:
        """(first step, end, end of the outputs) of each segment; the last one also hands out the last state."""
        count = len(self.steps)
        segment = max(1, min(self.segment, count))
        cuts = [(a, min(a + segment, count)) for a in range(0, max(count, 1), segment)]
        return [(a, b, b + (b == count)) for a, b in cuts]


class _Trajectory(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, plan: Plan, x0: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, readout: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        n, width = x0.shape
        count = len(plan.steps)
        states = x0.new_empty(count + 1, n, len(readout))
        slopes = x0.new_empty(count + 1 if plan.with_slopes else 0, n, len(readout))
        start, layer = plan.backend.pack(x0), euler_torch.Layer(plan.phi, weight, bias, readout)
        segments = plan.segments()
        whole = len(segments) == 1 and plan.differentiate
        kept: list[torch.Tensor] = []
        for a, b, last in segments:
            if plan.differentiate and not whole:
                kept.append(start.clone())
            out = slopes[a:last] if plan.with_slopes else None
            start, tape = plan.backend.forward(layer, plan.steps[a:b], start, states[a:last], out, keep=whole)
            kept += tape
        ctx.plan, ctx.width = plan, width
        ctx.save_for_backward(weight, bias, readout, *kept)
        return states, slopes

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        weight, bias, readout, *kept = ctx.saved_tensors
        plan, width = ctx.plan, ctx.width
        layer = euler_torch.Layer(plan.phi, weight, bias, readout)
        segments = plan.segments()
        grad = plan.backend.pack(weight.new_zeros(grads[0].shape[1], width))
        sums = tuple(torch.zeros_like(p, dtype=torch.float64) for p in (weight, bias, readout))
        for a, b, last in reversed(segments):
            steps = plan.steps[a:b]
            grad_slopes = grads[1][a:last] if plan.with_slopes else None
            if len(segments) == 1:
                tape = tuple(kept)
            else:  # the outputs are made once more and thrown away: they are small
                start = kept.pop().clone()
                outputs = [start.new_empty(last - a, grads[0].shape[1], len(readout)) for _ in range(2)]
                slopes = outputs[1] if plan.with_slopes else None
                _, tape = plan.backend.forward(layer, steps, start, outputs[0], slopes, keep=True)
            again = len(segments) == 1
            plan.backend.backward(layer, steps, tape, grads[0][a:last], grad_slopes, grad, sums, again)
            del tape  # before the next segment makes its own
        return (None, plan.backend.unpack(grad, width), *(total.to(weight.dtype) for total in sums))
