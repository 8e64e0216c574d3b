"""Stiff problems: scipy's implicit BDF with the graph's sparsity for its Jacobian."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import torch
from scipy import sparse
from scipy.integrate import BDF
from torch import nn

from ...data import Statistics
from ...graph import Graph
from ..solver import IntegrationError, Reason, Solver
from .runge_kutta import check_tolerance


@torch.no_grad()
def solve(
    field: nn.Module, graph: Graph, x0: torch.Tensor, query: Sequence[float], solver: Solver, t0: float
) -> tuple[torch.Tensor, Statistics]:
    """States at the sorted times ``query`` without gradients, and statistics.

    The Jacobian is taken to couple a node with itself and its neighbours only, as it does in every law and learned field
    of this library; a field that couples others too is still solved, with more iterations.
    """
    shape, d = x0.shape, x0.shape[1]
    calls = 0

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        x = torch.from_numpy(y).to(x0.device, x0.dtype).reshape(shape)
        out: np.ndarray = field(x.new_tensor(t), x, graph).reshape(-1).double().cpu().numpy()
        return out

    states = [x0 for q in query if q <= t0]
    start = x0.detach().double().cpu().numpy().reshape(-1)
    if len(states) == len(query):
        return torch.stack(states), Statistics(0, 0, 0)
    check_tolerance(t0, x0, solver, graph)
    coupled = abs(graph.to_scipy()) + sparse.eye_array(graph.num_nodes)
    pattern = sparse.kron(coupled, np.ones((d, d)), format="csc")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy's, about tolerances below rounding
        if not np.isfinite(rate(t0, start)).all():
            message = f"the rate of change is NaN or infinite at the start, t = {t0:g}; check the field"
            raise IntegrationError(message, time=t0, reason="start")
        bdf = BDF(rate, t0, start, query[-1], rtol=solver.rtol, atol=solver.atol, jac_sparsity=pattern)
        accepted = 0
        while len(states) < len(query):
            before = bdf.t
            try:
                message = bdf.step()
            except (RuntimeError, ValueError) as error:  # a matrix with NaN or infinite entries was to be inverted
                raise _stopped(before, f"its matrix of slopes cannot be inverted ({error})", "exploded") from error
            if not np.isfinite(bdf.y).all():
                raise _stopped(before, message or "the state became infinite or NaN", "exploded")
            if bdf.status == "failed":
                raise _stopped(before, message or "no step is small enough", "tolerance")
            accepted += 1
            if accepted > solver.max_steps:
                used = f"bdf used its {solver.max_steps} steps and came to t = {bdf.t:g} of {query[-1]:g}"
                advice = "raise max_steps or loosen rtol and atol"
                raise IntegrationError(f"{used}; {advice}", time=bdf.t, reason="max_steps")
            dense = bdf.dense_output()
            while len(states) < len(query) and query[len(states)] <= bdf.t:
                y = torch.from_numpy(dense(query[len(states)]))
                states.append(y.to(x0.device, x0.dtype).reshape(shape))
    return torch.stack(states), Statistics(calls, accepted, 0)


def _stopped(time: float, why: str, reason: Reason) -> IntegrationError:
    message = f"bdf cannot go beyond t = {time:g}: {why.rstrip('.')}; check the field, or loosen rtol and atol"
    return IntegrationError(message, time=time, reason=reason)
