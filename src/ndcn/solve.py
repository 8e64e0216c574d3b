"""Solver and integrate(): from dX/dt = f(t, X, G) and X(t0) to X at any times."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any

import torch
from torch import nn

from .graph import Graph
from .integrators.tableau import ADAPTIVE, FIXED
from .sparse import kind_of

STIFF = ("bdf",)
METHODS = (*FIXED, *ADAPTIVE, *STIFF)
GRADIENTS = ("backprop", "adjoint", "checkpoint")
KERNELS = ("auto", "torch", "off")


class IntegrationError(RuntimeError):
    """The solver could not go on. ``time`` is how far it came; the message says what to try."""

    def __init__(self, message: str, time: float) -> None:
        super().__init__(message)
        self.time = time


@dataclass(frozen=True)
class Solver:
    """How to integrate a field.

    Args:
        method: fixed steps: "euler", "midpoint", "heun", "rk4"; adaptive steps: "dopri5", "tsit5"; stiff problems:
            "bdf" (implicit, by scipy; gives no gradients).
        rtol, atol: tolerances of the adaptive and stiff methods: the error of a step stays below
            atol + rtol |x|, in root mean square over all entries.
        step_size: for fixed-step methods, in units of time. The steps start at t0 and states between them come from
            cubic Hermite interpolation, so the answer at a time does not depend on which other times are asked for.
            ``"observations"`` steps from each requested time to the next instead, as the paper's code does; then it
            does depend on them. ``DynamicsRegressor.predict`` adds the training times to those requested.
        gradient: "backprop" goes back through the stored steps; "checkpoint" gives the same gradient with memory for
            only sqrt(steps) of them; "adjoint" solves the adjoint equation backwards in time: constant memory, and a
            gradient that is exact only up to the solver's error.
        max_steps: give up after that many steps.
        kernel: where the field is a ``GraphField`` or ``NodeField`` with ReLU and the method is Euler, "auto" takes the
            compiled fast path if it was built, else the torch one; "torch" takes the torch one; "off" the plain loop. Second
            derivatives need "off".
        segment: with gradient="checkpoint", how many steps lie between the states that are kept; about sqrt(steps) by default.

    Raises:
        ValueError: an unknown method, a fixed-step method without a step size, or a number out of range.

    Example:
        >>> import ndcn
        >>> ndcn.Solver("rk4", step_size=0.1)
        Solver(method='rk4', step_size=0.1)
    """

    method: str = "dopri5"
    rtol: float = 1e-5
    atol: float = 1e-6
    step_size: float | str | None = None
    gradient: str = "backprop"
    max_steps: int = 100_000
    kernel: str = "auto"
    segment: int | None = None

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"unknown method {self.method!r}; known are {', '.join(METHODS)}")
        if self.gradient not in GRADIENTS:
            raise ValueError(f"unknown gradient {self.gradient!r}; known are {', '.join(GRADIENTS)}")
        if self.method in FIXED:
            if self.step_size is None:
                raise ValueError(
                    f"{self.method} takes fixed steps and needs a step_size: a number in units of time, "
                    'or "observations" to step on the requested times as the paper does'
                )
            if self.step_size != "observations" and not _positive(self.step_size):
                raise ValueError(f'step_size must be a positive number or "observations", got {self.step_size!r}')
        elif self.step_size is not None:
            raise ValueError(f"{self.method} chooses its own steps: drop step_size, or use one of {', '.join(FIXED)}")
        for name in ("rtol", "atol"):
            if not _positive(getattr(self, name)):
                raise ValueError(f"{name} must be a positive number, got {getattr(self, name)!r}")
        if not _count(self.max_steps):
            raise ValueError(f"max_steps must be a whole number, at least 1, got {self.max_steps!r}")
        if self.kernel not in KERNELS:
            raise ValueError(f"unknown kernel {self.kernel!r}; known are {', '.join(KERNELS)}")
        if self.segment is not None and not _count(self.segment):
            raise ValueError(f"segment must be a whole number, at least 1, got {self.segment!r}")
        for field in fields(self):  # NumPy's numbers become Python's, as files need them
            value = getattr(self, field.name)
            if isinstance(value, Real):
                object.__setattr__(self, field.name, int(value) if isinstance(value, Integral) else float(value))

    def __repr__(self) -> str:
        kept = [f for f in fields(self) if f.name == "method" or getattr(self, f.name) != f.default]
        return f"Solver({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in kept)})"


@dataclass(frozen=True)
class Statistics:
    """What a solve cost: calls of the field, steps kept, steps tried again with a smaller size."""

    evaluations: int
    accepted_steps: int
    rejected_steps: int


@dataclass(frozen=True)
class Solution:
    """The states at the requested times, shape (T, n, d), in the order asked for, and what they cost."""

    states: torch.Tensor
    statistics: Statistics


def integrate(
    field: nn.Module,
    graph: Graph,
    x0: torch.Tensor,
    times: Any,
    *,
    solver: Solver | None = None,
    t0: float = 0.0,
) -> Solution:
    """Solve dX/dt = field(t, X, graph), X(t0) = x0, with gradients with respect to x0 and the field's parameters.

    Args:
        field: called as field(t, x, graph); returns the shape of x.
        graph: handed to the field.
        x0: the state at t0, shape (n, d).
        times: any real numbers from t0 on, in any order, repeated or not, shape (T,).
        solver: DOPRI5 by default.
        t0: the time of x0.

    Raises:
        TypeError: x0 is not a floating-point tensor.
        ValueError: a time is before t0 or not finite.
        IntegrationError: the solution explodes, a tolerance cannot be met, or there are too many steps.

    Example:
        >>> import ndcn, torch
        >>> pair = ndcn.Graph.from_edges([(0, 1)])
        >>> x0 = torch.tensor([[1.0], [0.0]], dtype=torch.float64)
        >>> solution = ndcn.integrate(ndcn.laws.Heat(), pair, x0, [10.0, 0.0])
        >>> solution.states[:, 0, 0]
        tensor([0.5000, 1.0000], dtype=torch.float64)
    """
    return solve_and_decode(field, graph, x0, times, solver or Solver(), t0, None)


def solve_and_decode(
    field: nn.Module, graph: Graph, x0: torch.Tensor, times: Any, solver: Solver, t0: float, decoder: nn.Module | None
) -> Solution:
    """``integrate``, and the decoder applied to the states: inside the fast path where it is linear."""
    from .integrators import adjoint, runge_kutta, stiff
    from .kernels import euler

    query, inverse = _queries(times, t0)
    if not isinstance(x0, torch.Tensor) or not x0.is_floating_point():
        raise TypeError(f"x0 must be a floating-point tensor of shape (n, d), got {kind_of(x0)}")
    if not all_finite(x0):
        raise IntegrationError(f"the state at the start, t = {t0:g}, holds NaN or infinite entries", time=t0)
    tensors = [x0, *field.parameters()]
    differentiate = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    if solver.method in STIFF:
        if differentiate:
            raise ValueError(
                f"{solver.method} gives no gradients; use dopri5, tsit5 or rk4 to train, or torch.no_grad() to simulate"
            )
        states, statistics = stiff.solve(field, graph, x0, query, solver, t0)
    elif differentiate and solver.gradient == "adjoint":
        states, statistics = adjoint.solve(field, graph, x0, query, solver, t0)
    elif solver.method == "euler" and (backend := euler.backend(field, graph, x0, solver.kernel)) is not None:
        linear = euler.linear_readout(decoder, x0)
        states, statistics = euler.solve(field, graph, x0, query, solver, t0, decoder=linear, backend=backend)
        decoder = None if linear is not None else decoder
    else:
        states, statistics = runge_kutta.solve(field, graph, x0, query, solver, t0)
    if decoder is not None:
        states = decoder(states)
    return Solution(states if inverse is None else states[inverse.to(states.device)], statistics)


def _queries(times: Any, t0: float) -> tuple[list[float], torch.Tensor | None]:
    """The requested times sorted and without repetition, and where each of them went (None: already so)."""
    asked = torch.as_tensor(times, dtype=torch.float64).detach().cpu().reshape(-1)
    values: list[float] = asked.tolist()  # for a hundred times, plain numbers are faster than tensors
    if not values:
        raise ValueError("no times were asked for")
    if not math.isfinite(t0):
        raise ValueError(f"t0 must be finite, got {t0}")
    for t in values:
        if not math.isfinite(t):
            raise ValueError(f"times must be finite, got {t}")
    if min(values) < t0:
        raise ValueError(f"cannot go back in time: {min(values):g} was asked for, but the state is given at t = {t0:g}")
    if all(a < b for a, b in itertools.pairwise(values)):
        return values, None
    unique, inverse = asked.unique(return_inverse=True)
    return unique.tolist(), inverse


def all_finite(x: torch.Tensor) -> bool:
    """Whether no entry is NaN or infinite; a finite sum says so at a tenth of the cost of looking at each."""
    return math.isfinite(x.detach().sum().item()) or bool(x.isfinite().all())


def _positive(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value) and float(value) > 0


def _count(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1
