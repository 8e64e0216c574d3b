"""Warnings that point at the user's line, however deep in the library they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import FrameType

PACKAGE = str(Path(__file__).parents[1])


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside this package that called it.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     warn_user("mind the gap")
        >>> str(caught[0].message)
        'mind the gap'
    """
    frame: FrameType | None = sys._getframe(1)
    level = outside = 2
    while frame is not None:  # decorators of other packages may stand between our own frames
        level += 1
        if frame.f_code.co_filename.startswith(PACKAGE):
            outside = level
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=outside)
