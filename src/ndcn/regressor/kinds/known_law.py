"""A known law some of whose parameters are unknown: ``laws.Gene(b=None)``, ``laws.Kuramoto(omega=laws.per_node)``."""

from __future__ import annotations

from ...identify import estimate
from ...laws import Law
from ...training import History
from ..kind import Can, Kind, Stored, TrainingData
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

    def restore(self, stored: Stored, settings: Settings) -> FittedLaw:
        """The law of a file, given one of the same class."""
        law, more = EstimatedLaw.stored(settings.model, stored.about["law"]["form"], stored.tensors)
        return stored_law(self.can, EstimatedLaw, law, stored, **more)


KNOWN_LAW = KnownLaw()
