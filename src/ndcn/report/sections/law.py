"""The identified law: its equation, and f and g as curves."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ..encode import plain
from ..section import Section

if TYPE_CHECKING:
    from ...regressor import DynamicsRegressor

POINTS = 41


def law_of(estimator: DynamicsRegressor) -> dict[str, Any] | None:
    """Equation, reason, and f and g on a grid with standard deviations; None for models that have no law.

    g is given along x_j at the least, the middle and the largest x_i seen.
    """
    if not estimator.fitted_.can.law:
        return None
    text, latex = None, None
    with suppress(ValueError):  # f and g are splines
        equations = estimator.equations()
        text, latex = str(equations), equations.latex()
    found = estimator.functions(POINTS)
    middle = (0, POINTS // 2, POINTS - 1)
    curves = [
        {
            "feature": name,
            "x": plain(found.x[a]),
            "f": plain(found.f[a, :, a]),
            "f_std": plain(found.f_std[a, :, a]),
            "g_at": plain(found.x[a, list(middle)]),
            "g": [plain(found.g[a, k, :, a]) for k in middle],
            "g_std": [plain(found.g_std[a, k, :, a]) for k in middle],
            "density": plain(found.density[a] / max(float(np.max(found.density[a])), 1e-300), 3),
        }
        for a, name in enumerate(found.features)
    ]
    return {"equation": text, "latex": latex, "reason": str(estimator.evidence_), "curves": curves}


SECTION = Section("Identified law", "law.js", lambda page: law_of(page.estimator))
