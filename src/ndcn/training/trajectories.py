"""Training on trajectories: whole solutions from an initial condition, or one step ahead."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import nn

from ..graph import Graph
from ..neural import TemporalGNN
from ..solve import IntegrationError
from .objective import Objective, Target
from .task import Score, Task

HIDDEN = 20  # features of a hidden state where nobody knows them, as far as the number of threads is concerned


@dataclass(frozen=True)
class Problem:
    """One trajectory in the model's own units: start from x0 at t0, compare at ``times`` with ``target``.

    A temporal GNN learns one step ahead instead: it is shown true snapshots, in ``spread`` as it wants them, and what it
    predicts for the next ones, all or those in ``rows``, is compared.
    """

    graph: Graph
    x0: torch.Tensor
    t0: float
    times: torch.Tensor
    target: Target
    spread: torch.Tensor | None = None
    rows: torch.Tensor | None = None

    def loss(self, model: nn.Module, objective: Objective) -> torch.Tensor:
        """The objective of the model's prediction."""
        if self.spread is not None:
            ahead = cast(TemporalGNN, model).one_step_ahead(self.spread)
            return objective.loss(ahead if self.rows is None else ahead[self.rows], self.target)
        return objective.loss(model(self.x0, self.times, self.graph, self.t0), self.target)


class TrajectoryTask(Task):
    """The mean objective over trajectories; held-out snapshots are scored by the running loss.

    The terminal loss is defined at the last time only, which is never held out.

    Args:
        model: called as model(x0, times, graph, t0).
        problems: to learn.
        held_out: to score.
        objective: to minimise.
        seed: of random layers: that of epoch k is seed + k, so that a resumed run draws the same.
        width: features of the hidden state.
    """

    validate_every = 10
    advice = "Try a smaller learning_rate, clip_norm=1.0, or a smaller step_size of the solver"

    def __init__(
        self,
        model: nn.Module,
        problems: Sequence[Problem],
        held_out: Sequence[Problem],
        objective: Objective,
        *,
        seed: int = 0,
        width: int = HIDDEN,
    ) -> None:
        self.model = model
        self.problems = problems
        self.validation = held_out
        self.held_out = bool(held_out)
        self.objective = objective
        self.judge = replace(objective, terminal=None) if held_out else objective
        self.size = max(problem.x0.shape[0] for problem in problems) * width
        self.seed = seed
        on_cpu = all(p.device.type == "cpu" for p in model.parameters())
        # torch.manual_seed takes half a millisecond
        self.reseed = torch.default_generator.manual_seed if on_cpu else torch.manual_seed

    def losses(self, epoch: int) -> Iterator[torch.Tensor]:
        """The share of each trajectory in the mean objective."""
        self.reseed(self.seed + epoch)
        for problem in self.problems:
            yield problem.loss(self.model, self.objective) / len(self.problems)

    def score(self) -> Score:
        """The mean running loss of the held-out snapshots, infinite where the solution cannot be followed."""
        try:
            losses = [problem.loss(self.model, self.judge).item() for problem in self.validation]
            loss = sum(losses) / len(losses)
        except IntegrationError:
            loss = math.inf
        return Score(loss, (-loss,))
