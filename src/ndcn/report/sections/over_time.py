"""The accuracy if the trained weights were read out after another time of diffusion."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...classify import accuracies_over
from ..encode import plain
from ..section import ClassContext, Section

POINTS = 17  # from no diffusion to twice the time trained for; every other lies on a sixteenth of that


def part(page: ClassContext) -> dict[str, Any] | None:
    """Accuracies on the judged, the validation and the training nodes; None where the field is not linear, or none."""
    clf = page.classifier
    if not clf.model_.linear or not clf.model_.diffuses:
        return None
    T = clf.model_.T
    times = np.linspace(0, 2 * T, POINTS)
    masks = {"judged": page.judged, "validation": clf.split_ == 2, "train": clf.split_ == 1}
    masks = {name: mask for name, mask in masks.items() if bool(torch.as_tensor(mask).any())}
    if not masks:
        return None
    found = accuracies_over(clf, times.tolist(), list(masks.values()))
    return {"T": T, "times": plain(times), "accuracy": {name: plain(found[:, k]) for k, name in enumerate(masks)}}


SECTION = Section("Accuracy over the time of diffusion", "over_time.js", part)
