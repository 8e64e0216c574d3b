"""LawODE: a learned law, followed as exactly as its data are known."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import nn

from ..data import Inputs
from ..graph import Graph
from ..solve import IntegrationError, Solution, Solver, integrate
from .law import Law

DOPRI5_STEPS = 20_000  # after so many DOPRI5 gives way to a solver for stiff laws
FIRST_STEPS = 500  # after which DOPRI5 gives way at once if, at this pace, it would need twice as many as DOPRI5_STEPS
BDF_STEPS = 10_000  # stiff laws take hundreds; one that takes more jumps about, and would be followed for minutes
# Posterior samples may take SAMPLE_STEPS times as many steps as the law itself, or as FEWEST_STEPS if that takes fewer: one that needs more
# is far out, and would take longer to follow than all the others (docs/interaction.md, How sure it is).
SAMPLE_STEPS = 4
FEWEST_STEPS = 50


class LawODE(nn.Module):
    """X(t) from dX/dt = law(X, G), X(t0) = x0, in float64: by DOPRI5, and by BDF where that takes too many steps.

    Args:
        law: the law.
        inputs: of a law that takes some, known as long as it is followed.

    Example:
        >>> import ndcn, torch
        >>> model = LawODE(ndcn.laws.Heat())
        >>> model(torch.tensor([[1.0], [0.0]]), torch.tensor([1.0]), ndcn.Graph.from_edges([(0, 1)]), 0.0).shape
        torch.Size([1, 2, 1])
    """

    def __init__(self, law: Law, inputs: Inputs | None = None) -> None:
        super().__init__()
        self.law = law
        self.inputs = inputs

    def forward(self, x0: torch.Tensor, times: torch.Tensor, graph: Graph, t0: float) -> torch.Tensor:
        """The states at ``times``, shape (T, n, d).

        Raises:
            IntegrationError: the law leads to infinity; the message names the time.
        """
        return self.followed(x0, times, graph, t0)[0]

    def followed(self, x0: torch.Tensor, times: torch.Tensor, graph: Graph, t0: float) -> tuple[torch.Tensor, Solver]:
        """The states, and a solver for posterior samples of the law, which gives up on those that take far more steps.

        Raises:
            IntegrationError: as ``forward`` does.
        """
        if self.law.map_step is not None:
            steps_of_map = Solver("euler", step_size=self.law.map_step)
            return self.by(steps_of_map, x0, times, graph, t0), steps_of_map
        unit = max(float(x0.abs().max()), 1e-300)
        solver = Solver("dopri5", rtol=1e-7, atol=1e-9 * unit, max_steps=DOPRI5_STEPS)
        try:
            try:
                solution = self._patiently(x0, times, graph, t0, solver)
            except IntegrationError as error:
                if error.reason != "max_steps":  # BDF cannot follow a law that explodes either
                    raise
                solver = Solver("bdf", rtol=1e-6, atol=1e-8 * unit, max_steps=BDF_STEPS)
                solution = self._solved(x0, times, graph, t0, solver)
        except IntegrationError as error:
            raise IntegrationError(
                f"the learned law cannot be integrated: {error}. It leaves the states it was learned from; predict less far, fit "
                'with more snapshots, or compare with model="ndcn"',
                time=error.time,
                reason=error.reason,
            ) from error
        steps = solution.statistics.accepted_steps + solution.statistics.rejected_steps
        return solution.states, replace(solver, max_steps=SAMPLE_STEPS * max(steps, FEWEST_STEPS))

    def _patiently(self, x0: torch.Tensor, times: torch.Tensor, graph: Graph, t0: float, solver: Solver) -> Solution:
        """By this solver, which first shows in a few steps that it will not need far too many."""
        try:
            return self._solved(x0, times, graph, t0, replace(solver, max_steps=min(FIRST_STEPS, solver.max_steps)))
        except IntegrationError as error:
            share = (error.time - t0) / max(float(times.max()) - t0, 1e-300)
            if error.reason != "max_steps" or share * 2 * solver.max_steps < FIRST_STEPS:
                raise
        return self._solved(x0, times, graph, t0, solver)

    def by(self, solver: Solver, x0: torch.Tensor, times: torch.Tensor, graph: Graph, t0: float) -> torch.Tensor:
        """The states by this solver alone.

        Raises:
            IntegrationError: it does not lead so far.
        """
        return self._solved(x0, times, graph, t0, solver).states

    def _solved(self, x0: torch.Tensor, times: torch.Tensor, graph: Graph, t0: float, solver: Solver) -> Solution:
        with torch.no_grad():
            return integrate(self.law, graph, x0.double(), times.double(), solver=solver, t0=t0, inputs=self.inputs)
