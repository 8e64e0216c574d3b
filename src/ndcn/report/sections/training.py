"""The loss during training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...training import History
from ..encode import plain
from ..section import Section

POINTS = 400  # of a curve


def curves_of(histories: Sequence[History]) -> dict[str, Any]:
    """Training and validation loss of each member of an ensemble."""
    curves = []
    for history in histories:
        loss = np.asarray(history.loss)
        epoch = np.unique(np.linspace(0, max(len(loss) - 1, 0), min(POINTS, len(loss))).round().astype(int))
        validation = [[e, *plain(np.array([value]), 4)] for e, value in history.validation]
        curves.append({"epoch": (epoch + 1).tolist(), "loss": plain(loss[epoch], 4), "validation": validation})
    first = histories[0]
    return {"curves": curves, "epochs": len(first.loss), "seconds": round(first.seconds, 2), "stopped": first.stopped}


SECTION = Section("Training", "training.js", lambda page: curves_of(page.estimator.histories_))
OF_CLASSIFIER = Section("Training", "training.js", lambda page: curves_of([page.classifier.history_]))
