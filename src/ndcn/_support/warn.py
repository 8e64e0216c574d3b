"""Warnings that name the line of the user's code, however deep in ndcn they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import FrameType

PACKAGE = str(Path(__file__).parents[1])


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside ndcn that called it."""
    frame: FrameType | None = sys._getframe(1)
    level = outside = 2
    while frame is not None:  # decorators of other packages may stand between our own frames
        level += 1
        if frame.f_code.co_filename.startswith(PACKAGE):
            outside = level
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=outside)
