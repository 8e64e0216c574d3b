"""``integrate`` for laws that have a compiled kernel: adaptive steps in C, as ``methods/runge_kutta.py`` takes them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from ...data import Statistics
from ...graph import Graph
from ..field import Field
from ..methods.runge_kutta import first_step, no_smaller_step, too_many_steps
from ..methods.tableau import ADAPTIVE
from ..solver import Solver
from .law_compiled import LawKernel

AT_ONCE = 100_000_000  # nodes and edges that are computed between two looks at the keyboard: less than a second
ROUNDING = torch.finfo(torch.float64).eps / 2  # tolerances below it are refused step by step: left to the torch path


def kernel_for(field: object, graph: Graph, x0: torch.Tensor, solver: Solver) -> LawKernel | None:
    """The kernel of a field, if it has one that serves these states and this solver."""
    plain = x0.dtype == torch.float64 and x0.device.type == "cpu" and x0.dim() == 2
    fits = solver.method in ADAPTIVE and solver.kernel == "auto" and solver.rtol >= ROUNDING
    return field.law_kernel(graph, x0.shape[1]) if plain and fits and isinstance(field, Field) else None


def solve(
    kernel: LawKernel, graph: Graph, x0: torch.Tensor, query: Sequence[float], solver: Solver, t0: float
) -> tuple[torch.Tensor, Statistics]:
    """States at the sorted times ``query``, shape (T, n, d), and statistics."""
    x0 = x0.detach()
    times = [t for t in query if t > t0]
    states = x0.new_empty((len(query), *x0.shape))
    after = len(query) - len(times)
    states[:after] = x0
    if not times:
        return states, Statistics(0, 0, 0)

    def rate_at(t: float, x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(kernel.rate(x.unsqueeze(0).numpy())[0])

    rate = rate_at(t0, x0)
    tableau = ADAPTIVE[solver.method]
    h = first_step(rate_at, t0, x0, rate, solver, tableau.order, graph)
    steps = kernel.adaptive(
        x0.numpy(), rate.numpy(), h, times, states[after:].numpy(), (solver.rtol, solver.atol), t0, tableau
    )
    each = max(1, AT_ONCE // (len(tableau.b) * (graph.num_nodes + kernel.graph.edges)))
    status = "going on"
    while status == "going on":
        left = solver.max_steps - steps.progress.taken - steps.progress.failed
        if left <= 0:
            raise too_many_steps(solver, steps.progress.t, query[-1])
        status = steps.go_on(min(each, left))
    if status == "no smaller step":
        raise no_smaller_step(steps.progress.t, finite=math.isfinite(steps.progress.size))
    progress = steps.progress
    statistics = Statistics(progress.calls + 2, progress.taken, progress.failed)
    return states, statistics
