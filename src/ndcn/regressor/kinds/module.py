"""A ready module: a GraphODE or any nn.Module called as model(x0, times, graph, t0), or a field to be learned."""

from __future__ import annotations

import copy

from torch import nn

from ...neural import GraphODE
from ...solve import Field
from ...training import READY_MODULE, Units
from ..initial import InitialCondition
from ..kind import OF_NAMED, OPTIONAL, Can, Kind, Stored, TrainingData
from ..settings import Settings
from .trained_module import TrainedModel, fit_module, restore_modules


class Module(Kind):
    """A module that was passed ready: copied, with its own solver, in the data's units; a field gets a solver around it."""

    name = "module"
    can = Can(resume=True, in_parts=True, inputs=True)
    uses = OPTIONAL - OF_NAMED - {"knots"}
    recipes = {"default": READY_MODULE, "paper": READY_MODULE}  # noqa: RUF012  # never changed
    width = 20  # what it is taken to have, as far as the number of threads is concerned

    def accepts(self, model: object) -> bool:
        """Modules."""
        return isinstance(model, nn.Module)

    def subject(self, model: object) -> str:
        """The module in messages about its arguments."""
        return f"a ready module such as this {type(model).__name__}"

    def refused(self, model: object) -> frozenset[str]:
        """A module has a solver of its own; a field has none."""
        return super().refused(model) | (frozenset() if isinstance(model, Field) else {"solver"})

    def advice(self, model: object) -> str:
        """What to do instead."""
        return ", and make the module as you want it"

    def alone(self, model: object) -> str:
        """Why it cannot be an ensemble: its weights are there already."""
        return "an ensemble draws initial weights for each member, which a ready module cannot: fit it alone"

    def fit(self, data: TrainingData, settings: Settings) -> TrainedModel:
        """Train a copy of it."""
        return fit_module(self.build, data.trajectories, settings)

    def restore(self, stored: Stored, settings: Settings) -> TrainedModel:
        """A module of the same kind with the weights of a file."""
        return restore_modules(self.build, stored.about, stored.tensors, stored.initial, settings)

    def build(self, settings: Settings, units: Units, initial: list[InitialCondition]) -> nn.Module:
        """A copy; a field becomes a ``GraphODE`` without encoder and decoder."""
        ready = copy.deepcopy(settings.model)
        if isinstance(ready, Field):
            return GraphODE(nn.Identity(), ready, nn.Identity(), settings["solver"])
        module: nn.Module = ready
        return module


MODULE = Module()
