"""A known law some of whose parameters are unknown: ``laws.Gene(b=None)``, ``laws.Kuramoto(omega=laws.per_node)``."""

from __future__ import annotations

from dataclasses import replace

from ...identify import estimate
from ...laws import Law
from ...training import History
from ..kind import Can, Kind, Stored, TrainingData
from ..settings import Settings
from .estimated_law import EstimatedLaw, stored_values
from .interaction import FittedLaw, fitted_law, stored_law, with_states


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
        return FittedLaw(self.can, initial, History(seconds=found.seconds), EstimatedLaw(found))

    def restore(self, stored: Stored, settings: Settings) -> FittedLaw:
        """The law of a file, given one of the same class."""
        form = stored.about["law"]["form"]
        law = stored_values(settings.model, form, stored.tensors)
        common, nodes = (tuple(part) for part in form["names"])
        found = replace(stored_law(law, stored), errors=stored.tensors["law.errors"], names=(common, nodes))
        return fitted_law(self.can, EstimatedLaw(found), stored)


KNOWN_LAW = KnownLaw()
