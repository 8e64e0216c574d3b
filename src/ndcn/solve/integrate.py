"""integrate(): from dX/dt = f(t, X, G) and X(t0) to X at any times."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from ..data import Inputs, Statistics
from ..graph import Graph, type_text
from .driven import DrivenField, solve_in_pieces, with_inputs
from .kernels import euler, law_solve
from .methods import adjoint, runge_kutta, stiff
from .solver import STIFF, Solution, Solver


def integrate(
    field: nn.Module,
    graph: Graph,
    x0: torch.Tensor,
    times: Any,
    *,
    solver: Solver | None = None,
    t0: float = 0.0,
    inputs: Inputs | None = None,
) -> Solution:
    """Solve dX/dt = field(t, X, graph), X(t0) = x0, with gradients with respect to x0 and the field's parameters.

    Args:
        field: called as field(t, x, graph), or field(t, x, graph, u) if it takes inputs; returns the shape of x.
        graph: handed to the field.
        x0: the state at t0, shape (n, d).
        times: any real numbers from t0 on, in any order, repeated or not, shape (T,).
        solver: DOPRI5 by default.
        t0: the time of x0.
        inputs: what a field with inputs takes; the integration stops where they jump, and goes on from there.

    Raises:
        TypeError: x0 is not a floating-point tensor.
        ValueError: a time is before t0 or not finite; inputs that are missing, or end before the last time.
        IntegrationError: the solution explodes, a tolerance cannot be met, or there are too many steps.

    Example:
        >>> import ndcn, torch
        >>> pair = ndcn.Graph.from_edges([(0, 1)])
        >>> x0 = torch.tensor([[1.0], [0.0]], dtype=torch.float64)
        >>> solution = ndcn.integrate(ndcn.laws.Heat(), pair, x0, [10.0, 0.0])
        >>> solution.states[:, 0, 0]
        tensor([0.5000, 1.0000], dtype=torch.float64)
    """
    return solve_and_decode(field, graph, x0, times, solver or Solver(), t0, None, inputs)


def solve_and_decode(
    field: nn.Module,
    graph: Graph,
    x0: torch.Tensor,
    times: Any,
    solver: Solver,
    t0: float,
    decoder: nn.Module | None,
    inputs: Inputs | None = None,
) -> Solution:
    """``integrate``, and the decoder applied to the states: inside the fast path where it is linear."""
    query, inverse = _queries(times, t0)
    if not isinstance(x0, torch.Tensor) or not x0.is_floating_point():
        raise TypeError(f"x0 must be a floating-point tensor of shape (n, d), got {type_text(x0)}")
    euler.check_start(x0, t0, graph)
    field = with_inputs(field, inputs, graph, t0, query[-1])
    if isinstance(field, DrivenField):

        def piece(part: nn.Module, x: torch.Tensor, asked: Sequence[float], begin: float) -> tuple[Any, Statistics]:
            return _solved(part, graph, x, asked, solver, begin, None)[:2]

        states, statistics = solve_in_pieces(field, x0, query, solver, t0, piece)
    else:
        states, statistics, decoder = _solved(field, graph, x0, query, solver, t0, decoder)
    if decoder is not None:
        states = decoder(states)
    return Solution(states if inverse is None else states[inverse.to(states.device)], statistics)


def _solved(
    field: nn.Module,
    graph: Graph,
    x0: torch.Tensor,
    query: Sequence[float],
    solver: Solver,
    t0: float,
    decoder: nn.Module | None,
) -> tuple[torch.Tensor, Statistics, nn.Module | None]:
    """States at the sorted times ``query``, statistics, and the decoder where it is still to be applied."""
    differentiate = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (x0, *field.parameters()))
    if graph.in_parts and (solver.method in STIFF or (differentiate and solver.gradient == "adjoint")):
        what = solver.method if solver.method in STIFF else 'gradient="adjoint"'
        raise ValueError(
            f'{what} needs the whole graph in one process; use dopri5, rk4 or euler with gradient="checkpoint"'
        )
    if solver.method in STIFF:
        if differentiate:
            instead = "use dopri5, tsit5 or rk4 to train, or torch.no_grad() to simulate"
            raise ValueError(f"{solver.method} gives no gradients; {instead}")
        states, statistics = stiff.solve(field, graph, x0, query, solver, t0)
    elif differentiate and solver.gradient == "adjoint":
        states, statistics = adjoint.solve(field, graph, x0, query, solver, t0)
    elif solver.method == "euler" and (backend := euler.backend(field, graph, x0, solver.kernel)) is not None:
        linear = euler.linear_readout(decoder, x0)
        states, statistics = euler.solve(field, graph, x0, query, solver, t0, decoder=linear, backend=backend)
        decoder = None if linear is not None else decoder
    elif not differentiate and (kernel := law_solve.kernel_for(field, graph, x0, solver)) is not None:
        states, statistics = law_solve.solve(kernel, graph, x0, query, solver, t0)
    else:
        states, statistics = runge_kutta.solve(field, graph, x0, query, solver, t0)
    return states, statistics, decoder


def _queries(times: Any, t0: float) -> tuple[list[float], torch.Tensor | None]:
    """The requested times sorted and without repetition, and where each of them went (None: already so)."""
    asked = torch.as_tensor(times, dtype=torch.float64).detach().cpu().reshape(-1)
    values: list[float] = asked.tolist()  # for a hundred times, plain numbers are faster than tensors
    if not values:
        raise ValueError("no times were asked for")
    if not math.isfinite(t0):
        raise ValueError(f"t0 must be finite, got {t0}")
    if not all(map(math.isfinite, values)):
        raise ValueError(f"times must be finite, got {next(t for t in values if not math.isfinite(t))}")
    if min(values) < t0:
        raise ValueError(f"cannot go back in time: {min(values):g} was asked for, but the state is given at t = {t0:g}")
    if all(a < b for a, b in itertools.pairwise(values)):
        return values, None
    unique, inverse = asked.unique(return_inverse=True)
    return unique.tolist(), inverse
