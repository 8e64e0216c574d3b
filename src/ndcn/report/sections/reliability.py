"""Accuracy over confidence: whether a probability means what it says."""

from __future__ import annotations

from typing import Any

from ..encode import plain
from ..section import ClassContext, Section


def part(page: ClassContext) -> dict[str, Any] | None:
    """The bins of the expected calibration error; None without nodes to judge by."""
    if not page.judged.any():
        return None
    found = page.classifier.calibration(page.judged)
    return {
        "ece": found.ece,
        "temperature": found.temperature,
        "edges": plain(found.edges),
        "counts": found.counts.tolist(),
        "confidence": plain(found.confidence),
        "accuracy": plain(found.accuracy),
    }


SECTION = Section("Reliability", "reliability.js", part)
