"""Modules that are trained by gradient steps: NDCN and its ablations, the residual GNN, temporal GNNs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ..._support.checks import named
from ..._support.generators import seeded
from ..._support.registries import ACTIVATIONS, OPERATORS
from ...data import checked_times, common_grid
from ...graph import Operator
from ...neural import Activation, ResidualGNN, TemporalGNN, ndcn, no_control, no_encode, no_graph
from ...solve import Solver
from ...training import RECIPES, Recipe, Units
from ...training import RESIDUAL_GNN as RESIDUAL_GNN_RECIPES
from ...training import TEMPORAL_GNN as TEMPORAL_GNN_RECIPES
from ..initial import InitialCondition
from ..kind import OF_FIELDS, OPTIONAL, Can, Kind, TrainingData
from ..settings import Settings
from .ensemble import fit_many
from .training import TrainedModel, fit_module, restore_modules

HIDDEN = 20  # of NDCN and its ablations, as in the paper


@dataclass(frozen=True)
class Parts:
    """All that a named model may be built from."""

    features: int
    nodes: int
    hidden: int
    operator: Operator
    activation: Activation
    knots: list[float] | None
    solver: Solver
    step: float
    layers: int


class Trained(Kind):
    """A model of this name, built from a few choices, its first weights drawn from the seed.

    Args:
        name: of the model.
        make: the module, of its parts.
        width: of the hidden state by default.
        unused: arguments that it does not use.
        recipes: its presets.
        equal_steps: it goes from one snapshot to the next and needs them equally spaced.
        knots: its weights can change with time.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[Parts], nn.Module],
        *,
        width: int = HIDDEN,
        unused: frozenset[str] = frozenset(),
        recipes: Mapping[str, Recipe] = RECIPES,
        equal_steps: bool = False,
        knots: bool = False,
    ) -> None:
        self.name, self.make, self.width, self.recipes = name, make, width, recipes
        self.equal_steps, self.knots = equal_steps, knots
        self.uses = OPTIONAL - unused
        self.can = Can(any_time=not equal_steps, resume=True, ensemble=True)

    def fit(self, data: TrainingData, settings: Settings) -> TrainedModel:
        """Train it, or several of them."""
        if settings["ensemble"] > 1:
            return fit_many(data, settings)
        return fit_module(self.build, data.trajectories, settings)

    def restore(
        self,
        about: Mapping[str, Any],
        tensors: Mapping[str, torch.Tensor],
        initial: list[InitialCondition],
        settings: Settings,
    ) -> TrainedModel:
        """The trained modules of a file."""
        return restore_modules(self.build, about, tensors, initial, settings)

    def build(self, settings: Settings, units: Units, initial: list[InitialCondition]) -> nn.Module:
        """The module that the settings ask for, with its first weights."""
        operator = named(OPERATORS, "operator", settings["operator"])
        activation = named(ACTIVATIONS, "activation", settings["activation"])
        nodes = max(start.graph.num_nodes for start in initial)
        knots = settings["knots"]
        if knots is not None and not self.knots:
            raise ValueError(f"{self.name} has no weights W(t) that could change with time: drop knots")
        state_bytes = nodes * settings.width * settings.dtype.itemsize
        grid = common_grid([start.times for start in initial], self.name) if self.equal_steps else None
        parts = Parts(
            features=initial[0].x0.shape[1],
            nodes=nodes,
            hidden=settings.width,
            operator=operator,
            activation=activation,
            knots=None if knots is None else units.time(checked_times(knots, ordered=True)).tolist(),
            solver=settings["solver"] or settings.recipe.solver(state_bytes),
            step=1.0 if grid is None else grid.step * units.rate,
            layers=max(len(start.times) for start in initial),
        )
        with seeded(settings.seed):
            return self.make(parts)


def _ndcn(p: Parts) -> nn.Module:
    return ndcn(
        p.features, hidden=p.hidden, operator=p.operator, activation=p.activation, knots=p.knots, solver=p.solver
    )


def _no_encode(p: Parts) -> nn.Module:
    return no_encode(p.features, operator=p.operator, activation=p.activation, knots=p.knots, solver=p.solver)


def _no_graph(p: Parts) -> nn.Module:
    return no_graph(p.features, hidden=p.hidden, activation=p.activation, solver=p.solver)


def _no_control(p: Parts) -> nn.Module:
    return no_control(p.features, hidden=p.hidden, operator=p.operator, activation=p.activation, solver=p.solver)


def _residual_gnn(p: Parts) -> nn.Module:
    return ResidualGNN(
        p.features, hidden=p.hidden, operator=p.operator, activation=p.activation, step=p.step, layers=p.layers
    )


def _temporal_gnn(cell: str) -> Trained:
    return Trained(
        f"{cell}_gnn",
        lambda p: TemporalGNN(p.nodes, p.features, cell=cell, hidden=p.hidden, step=p.step),
        width=10,
        unused=frozenset({"operator", "activation"}) | OF_FIELDS,
        recipes=TEMPORAL_GNN_RECIPES,
        equal_steps=True,
    )


NDCN = Trained("ndcn", _ndcn, knots=True)
NO_ENCODE = Trained("no_encode", _no_encode, knots=True)
NO_GRAPH = Trained("no_graph", _no_graph)
NO_CONTROL = Trained("no_control", _no_control)
RESIDUAL_GNN = Trained("residual_gnn", _residual_gnn, unused=OF_FIELDS, recipes=RESIDUAL_GNN_RECIPES, equal_steps=True)
RNN_GNN, GRU_GNN, LSTM_GNN = (_temporal_gnn(cell) for cell in ("rnn", "gru", "lstm"))
