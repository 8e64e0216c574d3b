"""The loss during training."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..encode import plain
from ..section import PageContext, Section

POINTS = 400  # of a curve


def part(page: PageContext) -> dict[str, Any]:
    """Training and validation loss of each member of an ensemble."""
    curves = []
    for history in page.estimator.histories_:
        loss = np.asarray(history.loss)
        epoch = np.unique(np.linspace(0, max(len(loss) - 1, 0), min(POINTS, len(loss))).round().astype(int))
        validation = [[e, *plain(np.array([value]), 4)] for e, value in history.validation]
        curves.append({"epoch": (epoch + 1).tolist(), "loss": plain(loss[epoch], 4), "validation": validation})
    first = page.estimator.history_
    return {"curves": curves, "epochs": len(first.loss), "seconds": round(first.seconds, 2), "stopped": first.stopped}


SECTION = Section("Training", "training.js", part)
