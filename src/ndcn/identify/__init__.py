"""Finding laws in data: candidates, weak form, shooting, whole trajectories, evidence."""

from __future__ import annotations

from .discovery import discover as discover
from .estimation import estimate as estimate
from .functions import Functions, functions_of as functions_of, states_along as states_along
from .interaction import Interaction
from .parameter_table import Estimates
from .result import Evidence, FoundLaw as FoundLaw

__all__ = ["Estimates", "Evidence", "Functions", "Interaction"]
