"""Finding laws in data: candidates, weak form, shooting, whole trajectories, evidence."""

from __future__ import annotations

from .discovery import Discovery, Evidence, discover
from .estimates import Estimates
from .estimation import Estimation, estimate
from .functions import Functions, functions_of, states_along
from .interaction import Interaction

__all__ = [
    "Discovery",
    "Estimates",
    "Estimation",
    "Evidence",
    "Functions",
    "Interaction",
    "discover",
    "estimate",
    "functions_of",
    "states_along",
]
