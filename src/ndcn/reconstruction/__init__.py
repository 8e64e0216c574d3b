"""Finding the network: who acts on whom, with probabilities, together with the law."""

from __future__ import annotations

from .calibration import Calibration, average_precision as average_precision
from .continued import coefficients as coefficients
from .finding import reconstruct
from .result import Reconstruction
from .trees import Opinion
from .verdict import Verdict

__all__ = ["Calibration", "Opinion", "Reconstruction", "Verdict", "reconstruct"]
