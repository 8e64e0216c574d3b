"""A known law some of whose parameters are unknown: ``laws.Gene(b=None)``, ``laws.Kuramoto(omega=laws.per_node)``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ...identify import estimate
from ...laws import Law
from ...training import History
from ..initial import InitialCondition
from ..kind import Can, Kind, TrainingData
from ..settings import Settings
from .estimated_law import EstimatedLaw
from .interaction import FittedLaw, stored_law, with_states


class KnownLaw(Kind):
    """A law whose form is known and whose unknown parameters are estimated."""

    name = "known law"
    can = Can(spread=True, law=True)

    def accepts(self, model: object) -> bool:
        """Laws with unknown parameters."""
        return isinstance(model, Law) and bool(model.unknown)

    def fit(self, data: TrainingData, settings: Settings) -> FittedLaw:
        """Estimate the parameters."""
        found = estimate(settings.model, data.trajectories, settings.seed)
        initial = with_states(data.trajectories, found.initial_states)
        return FittedLaw(self.can, initial, History(seconds=found.seconds), EstimatedLaw.from_estimation(found))

    def restore(
        self,
        about: Mapping[str, Any],
        tensors: Mapping[str, torch.Tensor],
        initial: list[InitialCondition],
        settings: Settings,
    ) -> FittedLaw:
        """The law of a file, given one of the same class."""
        form = about["law"]["form"]
        law, more = EstimatedLaw.stored(settings.model, form, tensors)
        kept = stored_law(EstimatedLaw, law, about, tensors, len(initial), **more)
        return FittedLaw(self.can, initial, History([], [], **about["histories"][0]), kept)


KNOWN_LAW = KnownLaw()
