"""Training on trajectories, in the model's own units: whole solutions from an initial condition, or one step ahead."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import cast

import torch
from torch import nn

from .._support.generators import seeded
from ..data import Inputs, Trajectory
from ..graph import Graph
from ..neural import GraphODE, ResidualGNN, TemporalGNN
from ..solve import IntegrationError, TrajectoryLoss, inputs_of
from .objective import Objective, Target
from .recipes import Recipe
from .task import ReadyTerm, Score, Task, Term
from .together import check_alike, summed

INTEGRATED = (GraphODE, ResidualGNN)  # models of an encoder, a field, a decoder and a solver
HIDDEN = 20  # features of a hidden state where nobody knows them, as far as the number of threads is concerned


@dataclass(frozen=True)
class Units:
    """Between the data's units and the model's own: x = scale x_model, t = origin + t_model / rate."""

    scale: torch.Tensor
    origin: float
    rate: float

    @classmethod
    def identity(cls, features: int) -> Units:
        """The data's own units."""
        return cls(torch.ones(features, dtype=torch.float64), 0.0, 1.0)

    def time(self, t: torch.Tensor) -> torch.Tensor:
        """Data time to model time."""
        return (t - self.origin) * self.rate

    def trajectory(self, data: Trajectory) -> Trajectory:
        """Data in the data's units to the model's, in float64."""
        states = data.states.double() / self.scale.to(data.states.device)
        return Trajectory(times=self.time(data.times), states=states, graph=data.graph, mask=data.mask)


def units_of(trajectories: Sequence[Trajectory], recipe: Recipe) -> Units:
    """Each feature in units of its mean absolute value, and the training window of length ``recipe.span``, if wanted."""
    d = trajectories[0].num_features
    if not recipe.rescale:
        return Units.identity(d)
    total, count = torch.zeros(d, dtype=torch.float64), torch.zeros(d, dtype=torch.float64)
    for t in trajectories:
        here = torch.full((d,), float(len(t) * t.graph.num_nodes), dtype=torch.float64)
        here = here if t.mask is None else t.mask.sum(dim=(0, 1)).double().cpu()
        size = t.states.detach().abs().nansum(dim=(0, 1), dtype=torch.float64).cpu()
        total, count = total + t.graph.total(size), count + t.graph.total(here)
    scale = total / count
    origin = min(t.times[0].item() for t in trajectories)
    last = max(t.times[-1].item() for t in trajectories)
    return Units(torch.where(scale > 0, scale, 1.0), origin, recipe.span / (last - origin))


@dataclass(frozen=True)
class Problem:
    """One trajectory in the model's own units: start from x0 at t0, compare at ``times`` with ``target``.

    A temporal GNN learns one step ahead instead: it is shown true snapshots, in ``spread`` as it wants them, and what it
    predicts for the next ones, all or those in ``rows``, is compared. ``inputs`` are for fields that take some.
    """

    graph: Graph
    x0: torch.Tensor
    t0: float
    times: torch.Tensor
    target: Target
    spread: torch.Tensor | None = None
    rows: torch.Tensor | None = None
    inputs: Inputs | None = None
    _ways: dict[Objective, TrajectoryLoss | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    def loss(self, model: nn.Module, objective: Objective) -> torch.Tensor:
        """The objective of the model's prediction."""
        if self.spread is not None:
            ahead = cast(TemporalGNN, model).one_step_ahead(self.spread)
            return objective.loss(ahead if self.rows is None else ahead[self.rows], self.target)
        if isinstance(model, INTEGRATED) and (fused := self._fused(model, objective)) is not None:
            loss = fused.loss(_parts(model), model.solver)
            if loss is not None:
                return loss
        if isinstance(model, GraphODE) and self.inputs is not None:
            return objective.loss(model(self.x0, self.times, self.graph, self.t0, self.inputs), self.target)
        return objective.loss(model(self.x0, self.times, self.graph, self.t0), self.target)

    def term(self, model: nn.Module, objective: Objective, count: int) -> Term:
        """The loss divided by ``count``; its gradients come without autograd where that is possible."""
        if isinstance(model, INTEGRATED) and (fused := self._fused(model, objective)) is not None:
            found = fused.value_and_gradients(_parts(model), model.solver)
            if found is not None:
                return ReadyTerm(*found, count)
        return self.loss(model, objective) / count

    def _fused(self, model: GraphODE | ResidualGNN, objective: Objective) -> TrajectoryLoss | None:
        """The loss as one function, if the model and the objective are of that kind."""
        if (
            inputs_of(model.field)
            or type(model) not in INTEGRATED
            or model._forward_hooks
            or model._forward_pre_hooks
            or model._backward_hooks
        ):
            return None
        if objective not in self._ways:
            comparison = objective.comparison(self.target)
            way = None
            if comparison is not None:
                times, t0 = model.solver_times(self.times, self.t0)
                way = TrajectoryLoss(self.graph, self.x0, times.tolist(), t0, comparison)
            self._ways[objective] = way
        return self._ways[objective]


def _parts(model: GraphODE | ResidualGNN) -> tuple[nn.Module, nn.Module, nn.Module]:
    return model.encoder, model.field, model.decoder


class TrajectoryTask(Task):
    """The mean objective over trajectories; held-out snapshots are scored by the running loss.

    The terminal loss is defined at the last time only, which is never held out. The seed of random layers in epoch k is
    seed + k, so that a resumed run draws the same; without ``draws`` nothing in it is random, and torch's global generator
    is left alone. ``width`` counts the features of a hidden state.
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
        draws: bool = True,
    ) -> None:
        self.model = model
        self.problems = problems
        self.validation = held_out
        self.held_out = bool(held_out)
        self.objective = objective
        self.judge = replace(objective, terminal=None) if held_out else objective
        self.size = max(problem.x0.shape[0] for problem in problems) * width
        self.seed, self.draws = seed, draws
        check_alike(self.graph, model)

    @property
    def graph(self) -> Graph:
        """That of the first trajectory."""
        return self.problems[0].graph

    def losses(self, epoch: int) -> Iterator[Term]:
        """The share of each trajectory in the mean objective."""
        for problem in self.problems:
            yield problem.term(self.model, self.objective, len(self.problems))

    def drawing(self, epoch: int) -> AbstractContextManager[None]:
        """Seed the global generators, from which layers such as ``nn.Dropout`` draw."""
        return seeded(self.seed + epoch, self.problems[0].x0.device) if self.draws else nullcontext()

    def score(self) -> Score:
        """The mean running loss of the held-out snapshots, infinite if the integration fails."""
        try:
            losses = [problem.loss(self.model, self.judge).item() for problem in self.validation]
            loss = summed(self.graph, sum(losses) / len(losses), ())
        except IntegrationError:
            loss = math.inf
        return Score(loss, (-loss,))
