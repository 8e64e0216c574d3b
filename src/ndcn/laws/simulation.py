"""simulate: the trajectory of a field from an initial state."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .._support.threads import threads_for
from ..data import Inputs, Trajectory, all_finite, checked_state, checked_times
from ..graph import Graph
from ..solve import IntegrationError, Solver, SumField, check_field, integrate, with_inputs
from .law import Law


def simulate(
    field: nn.Module,
    graph: Graph,
    x0: Any,
    times: Any,
    *,
    solver: Solver | None = None,
    t0: float = 0.0,
    inputs: Inputs | None = None,
) -> Trajectory:
    """Solve dX/dt = field(t, X, graph) from X(t0) = x0 and return the states at ``times``.

    Args:
        field: a law, or any nn.Module that is called as field(t, x, graph), or as field(t, x, graph, u) if it takes inputs.
        graph: the graph.
        x0: the state at t0, shape (n, d) or (n,).
        times: in increasing order, from t0 on, shape (T,).
        solver: by default DOPRI5 in float64 with rtol = 1e-8 and an atol of 1e-8 times the size of x0, so that states in
            any unit are solved equally well; the result has the dtype of x0. atol is one number for all features: the
            size is that of the smallest one (its largest |x0|; features that start at 0 do not count, and 1 if all
            do), but atol is not below 1e-13 of the largest. Features that differ by more than 1e5 in size are better
            brought to one scale. For stiff laws use ``Solver("bdf")``.
        t0: the time of x0.
        inputs: drivers u(t) of a law that takes some, known from t0 to the last time. The solver stops where a held one
            switches and where a linear one bends. The trajectory keeps them.

    Returns:
        A Trajectory; its features are named as those of the law, and how the solver fared is in its ``statistics``.

    Raises:
        ValueError: the law takes inputs that are not given, or not until the last time.
        IntegrationError: the solution explodes, the solver cannot go on, or the dtype of x0 cannot hold the solution.

    Example:
        >>> import ndcn
        >>> graph = ndcn.networks.power_law(100, seed=0)
        >>> data = ndcn.simulate(ndcn.laws.Gene(), graph, ndcn.laws.initial_state(graph), [0.0, 1.0, 2.0])
        >>> data
        Trajectory(3 snapshots of 100 nodes, 1 feature, t = 0 .. 2)
        >>> data.statistics.rejected_steps >= 0
        True
        >>> class Heated(ndcn.laws.Heat):
        ...     def node(self, x, heater): return heater - 0.1 * x
        >>> on = ndcn.Inputs([0.0, 1.0], {"heater": [5.0, 0.0]}, until=2.0)
        >>> ndcn.simulate(Heated(), graph, ndcn.laws.initial_state(graph), [0.0, 1.0, 2.0], inputs=on).inputs
        Inputs(heater: held, t = 0 .. 2)
    """
    x = checked_state(x0, graph)
    start = x.detach().double()
    times = checked_times(times, ordered=True)
    taken = with_inputs(field, inputs, graph, t0, max(times[-1].item(), t0))
    check_field(taken, graph, start, t0)
    solver = solver or Solver("dopri5", rtol=1e-8, atol=_atol(start, graph))
    with torch.no_grad(), threads_for(start.numel() + graph.num_edges):
        solution = integrate(taken, graph, start, times, solver=solver, t0=t0)
    states = solution.states.to(x.dtype)
    if states.dtype != torch.float64 and not all_finite(
        states
    ):  # the solver's own states are finite, or it would have said so
        time = times[int((~states.isfinite()).nonzero()[0, 0])].item()
        name = str(x.dtype).removeprefix("torch.")
        raise IntegrationError(
            f"the solution at t = {time:g} is larger than {name} can hold ({torch.finfo(x.dtype).max:.2g}); "
            "use float64 (x0.double()) or stop earlier",
            time=time,
        )
    features = _features(field, x.shape[1])
    return Trajectory(
        times=times,
        states=states,
        graph=graph,
        features=features,
        statistics=solution.statistics,
        inputs=inputs,
        copy=False,
    )


def _features(field: nn.Module, d: int) -> tuple[str, ...] | None:
    """The names that a law, or the first of a sum of fields that has some, gives to its d features."""
    terms = field.terms if isinstance(field, SumField) else [field]
    named = [term.features for term in terms if isinstance(term, Law) and term.features is not None]
    return named[0] if named and len(named[0]) == d else None


def _atol(x0: torch.Tensor, graph: Graph) -> float:
    """1e-8 of the smallest feature of x0 that is not 0, within what float64 can resolve next to the largest."""
    sizes = graph.highest(x0.abs().amax(0))
    sizes = sizes[sizes > 0]
    if not len(sizes):
        return 1e-8
    return max(1e-8 * sizes.min().item(), 1e-13 * sizes.max().item(), torch.finfo(torch.float64).tiny)
