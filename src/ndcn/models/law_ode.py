"""LawODE: a learned law, followed as exactly as its data are known."""

from __future__ import annotations

import torch
from torch import nn

from ..graph import Graph
from ..laws import Law
from ..solve import IntegrationError, Solver, integrate

STEPS = 20_000  # after so many DOPRI5 gives way to a solver for stiff laws


class LawODE(nn.Module):
    """X(t) from dX/dt = law(X, G), X(t0) = x0, in float64: by DOPRI5, and by BDF where that takes too many steps.

    Args:
        law: the law.

    Example:
        >>> import ndcn, torch
        >>> model = LawODE(ndcn.laws.Heat())
        >>> model(torch.tensor([[1.0], [0.0]]), torch.tensor([1.0]), ndcn.Graph.from_edges([(0, 1)]), 0.0).shape
        torch.Size([1, 2, 1])
    """

    def __init__(self, law: Law) -> None:
        super().__init__()
        self.law = law

    def forward(self, x0: torch.Tensor, times: torch.Tensor, graph: Graph, t0: float) -> torch.Tensor:
        """The states at ``times``, shape (T, n, d).

        Raises:
            IntegrationError: the law leads to infinity; the message names the time.
        """
        start = x0.double()
        order = times.argsort()
        unit = max(float(start.abs().max()), 1e-300)
        solver = Solver("dopri5", rtol=1e-7, atol=1e-9 * unit, max_steps=STEPS)
        with torch.no_grad():
            try:
                solution = integrate(self.law, graph, start, times[order].double(), solver=solver, t0=t0)
            except IntegrationError as error:
                if not _finite_before(error):
                    raise self._failed(error) from error
                stiff = Solver("bdf", rtol=1e-6, atol=1e-8 * unit)
                try:
                    solution = integrate(self.law, graph, start, times[order].double(), solver=stiff, t0=t0)
                except IntegrationError as again:
                    raise self._failed(again) from again
        return solution.states[order.argsort()]

    @staticmethod
    def _failed(error: IntegrationError) -> IntegrationError:
        return IntegrationError(
            f"the learned law cannot be followed: {error}. It leaves the states it was learned from; predict less far, fit "
            'with more snapshots, or compare with model="ndcn"',
            time=error.time,
        )


def _finite_before(error: IntegrationError) -> bool:
    return "steps" in str(error)
