"""An error that all processes of a run raise, of which one tells it."""

from __future__ import annotations


class Agreed(ValueError):
    """What was found wrong, raised with the same words in every process that shares a network.

    Example:
        >>> isinstance(Agreed("two parts and three processes"), ValueError)
        True
    """
