"""Modules that are trained by gradient steps: NDCN and its ablations, the residual GNN, temporal GNNs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import nn

from ..._support.checks import named
from ..._support.generators import initial_weights
from ..._support.registries import ACTIVATIONS, OPERATORS
from ..._support.stored_shapes import check_sizes
from ...data import checked_times, common_grid
from ...graph import Operator
from ...neural import Activation, InputLayer, ResidualGNN, TemporalGNN, ndcn, no_control, no_encode, no_graph
from ...solve import Solver
from ...training import (
    RECIPES,
    RESIDUAL_GNN as RESIDUAL_GNN_RECIPES,
    TEMPORAL_GNN as TEMPORAL_GNN_RECIPES,
    Recipe,
    Units,
)
from ..initial import InitialCondition
from ..kind import OF_FIELDS, OPTIONAL, Can, Kind, Stored, TrainingData
from ..settings import Settings
from .ensemble import fit_many
from .trained_module import TrainedModel, fit_module, restore_modules

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
    inputs: InputLayer | None


class Trained(Kind):
    """A model of this name, built from its parts by ``make``, its initial weights drawn from the seed.

    ``unused`` are arguments that it does not use; with ``equal_steps`` it goes from one snapshot to the next and needs
    them equally spaced; with ``history`` it continues from all of them; with ``knots`` its weights can change with time; with
    ``inputs`` it learns what drives it from outside; ``encodes`` is whether it has a hidden state.
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
        history: bool = False,
        knots: bool = False,
        inputs: bool = False,
        encodes: bool = True,
    ) -> None:
        self.name, self.make, self.width, self.recipes = name, make, width, recipes
        self.equal_steps, self.knots, self.encodes = equal_steps, knots, encodes
        self.uses = OPTIONAL - unused
        self.can = Can(
            any_time=not equal_steps,
            history=history,
            resume=True,
            ensemble=True,
            in_parts=not equal_steps,
            inputs=inputs,
        )

    def fit(self, data: TrainingData, settings: Settings) -> TrainedModel:
        """Train it, or several of them."""
        if settings["ensemble"] > 1:
            return fit_many(data, settings)
        return fit_module(self.build, data.trajectories, settings, draws=False)

    def restore(self, stored: Stored, settings: Settings) -> TrainedModel:
        """The trained modules of a file."""
        self._check_sizes(stored, settings)
        return restore_modules(self.build, stored.about, stored.tensors, stored.initial, settings)

    def build(self, settings: Settings, units: Units, initial: list[InitialCondition]) -> nn.Module:
        """The module that the settings ask for, with its initial weights."""
        parts = self._parts(settings, units, initial)
        with initial_weights(settings.seed):
            return self.make(replace(parts, inputs=self._input_layer(settings, initial)))

    def _check_sizes(self, stored: Stored, settings: Settings) -> None:
        """Refuse settings that ask for a module of another size than that of the file."""
        first = "model.0."
        weights = {name[len(first) :]: value for name, value in stored.tensors.items() if name.startswith(first)}
        kept = max((len(value) for name, value in weights.items() if name.endswith("knots")), default=0)
        if settings["knots"] is not None and len(settings["knots"]) != kept:
            raise ValueError(f"the settings have {len(settings['knots'])} knots, and {kept} are stored")
        parts = self._parts(settings, Units(stored.tensors["scale"], **stored.about["units"]), stored.initial)
        check_sizes(lambda: self.make(replace(parts, inputs=self._input_layer(settings, stored.initial))), weights)

    def _input_layer(self, settings: Settings, initial: list[InitialCondition]) -> InputLayer | None:
        """For the inputs of the training data, drawn with the other weights."""
        seen = [start.inputs for start in initial if start.inputs is not None]
        if not seen or not self.can.inputs:
            return None
        width = settings.width if self.encodes else initial[0].x0.shape[1]
        return InputLayer(seen[0].names, width, seen)

    def _parts(self, settings: Settings, units: Units, initial: list[InitialCondition]) -> Parts:
        nodes = max(int(start.graph.highest(torch.tensor(start.graph.num_nodes))) for start in initial)
        knots = settings["knots"]
        if knots is not None and not self.knots:
            raise ValueError(f"{self.name} has no weights W(t) that could change with time: drop knots")
        state_bytes = nodes * settings.width * settings.dtype.itemsize
        grid = common_grid([start.times for start in initial], self.name) if self.equal_steps else None
        return Parts(
            features=initial[0].x0.shape[1],
            nodes=nodes,
            hidden=settings.width,
            operator=named(OPERATORS, "operator", settings["operator"]),
            activation=named(ACTIVATIONS, "activation", settings["activation"]),
            knots=None if knots is None else units.time(checked_times(knots, ordered=True)).tolist(),
            solver=settings["solver"] or settings.recipe.solver(state_bytes),
            step=1.0 if grid is None else grid.step * units.rate,
            layers=max(len(start.times) for start in initial),
            inputs=None,
        )


def _from(make: Callable[..., nn.Module], names: str) -> Callable[[Parts], nn.Module]:
    """Make a module from some of the parts, which it takes by these names."""
    return lambda parts: make(**{name: getattr(parts, name) for name in names.split()})


def _temporal_gnn(cell: str) -> Trained:
    return Trained(
        f"{cell}_gnn",
        _from(functools.partial(TemporalGNN, cell=cell), "nodes features hidden step"),
        width=10,
        unused=frozenset({"operator", "activation"}) | OF_FIELDS,
        recipes=TEMPORAL_GNN_RECIPES,
        equal_steps=True,
        history=True,
    )


NDCN = Trained("ndcn", _from(ndcn, "features hidden operator activation knots solver inputs"), knots=True, inputs=True)
NO_ENCODE = Trained(
    "no_encode",
    _from(no_encode, "features operator activation knots solver inputs"),
    knots=True,
    inputs=True,
    encodes=False,
)
NO_GRAPH = Trained("no_graph", _from(no_graph, "features hidden activation solver inputs"), inputs=True)
NO_CONTROL = Trained("no_control", _from(no_control, "features hidden operator activation solver"))
RESIDUAL_GNN = Trained(
    "residual_gnn",
    _from(ResidualGNN, "features hidden operator activation step layers"),
    unused=OF_FIELDS,
    recipes=RESIDUAL_GNN_RECIPES,
    equal_steps=True,
)
RNN_GNN, GRU_GNN, LSTM_GNN = (_temporal_gnn(cell) for cell in ("rnn", "gru", "lstm"))
