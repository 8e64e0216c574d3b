"""How what was chosen had done beside the best simple guess, a line for each horizon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .result import SAME

if TYPE_CHECKING:
    from .result import Forecast


def verdicts(found: Forecast, feature: int = 0) -> list[tuple[int, str]]:
    """(steps ahead, what is used and how it had done) for each horizon of a feature.

    Example:
        >>> import ndcn, numpy
        >>> states = numpy.arange(40.0)[:, None] + numpy.arange(9.0)
        >>> data = ndcn.Trajectory(times=numpy.arange(40.0), states=states, graph=ndcn.networks.grid(9))
        >>> verdicts(ndcn.forecast.auto(data, horizon=1, progress=False))[0][0]
        1
    """
    table = found.tables[feature]
    own = next((errors for name, _, errors in table.rows if name == "combination"), (None,) * len(table.horizons))
    per_horizon = (values[feature] for values in (found.chosen, found.reference, found.ratios, found.margins))
    lines = []
    for steps, kept, simple, ratio, margin, error in zip(table.horizons, *per_horizon, own, strict=True):
        if kept != "combination":
            words = f"{simple}: no combination was better"
        elif not np.isfinite(ratio + margin):
            words = "combination; too little past to compare it"
        elif abs(ratio - 1) <= max(SAME, margin):
            words = f"combination, as accurate as {simple}"
        else:
            words = f"combination, error {100 * abs(1 - ratio):.0f} % {'below' if ratio < 1 else 'above'} {simple}"
        if kept == "combination" and error is not None and error > 1 + SAME:
            words += "; persistence was more accurate"
        lines.append((steps, words))
    return lines
