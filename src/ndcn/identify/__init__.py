"""Finding laws in data: candidates, weak form, shooting, whole trajectories, evidence."""

from __future__ import annotations

from .agreement import disagreement as disagreement
from .common_driver import UNKNOWN as UNKNOWN
from .data_smoothing import Noise as Noise
from .discovery import discover as discover
from .estimation import estimate as estimate
from .functions import Functions, functions_of as functions_of, states_along as states_along
from .held_out import (
    LEAST_ERROR as LEAST_ERROR,
    HeldOut as HeldOut,
    held_out as held_out,
    observation_noise as observation_noise,
)
from .input_quadrature import input_weights as input_weights
from .interaction import Interaction
from .library import formula_names as formula_names, library as library
from .node_groups import Groups as Groups, groups_of as groups_of
from .parameter_table import Estimates
from .result import Evidence, FoundLaw as FoundLaw
from .screening import (
    TOO_OPEN as TOO_OPEN,
    TOO_ROUGH as TOO_ROUGH,
    open_share as open_share,
    roughness_of_all as roughness_of_all,
)
from .trial import law_on_trial as law_on_trial

__all__ = ["Estimates", "Evidence", "Functions", "Interaction"]
