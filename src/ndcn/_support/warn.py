"""Warnings that point at the user's line, however deep in ndcn they arise."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

PACKAGE = __name__.partition(".")[0]


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside this package that led here."""
    frame: FrameType | None = sys._getframe(1)
    level = outside = 2
    while frame is not None:  # frames of other packages, as decorators, may stand between our own
        level += 1
        if frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
            outside = level
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=outside)
