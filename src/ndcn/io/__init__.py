"""Your own network: a file of edges and a file of states, in the formats and the shape they are in."""

from __future__ import annotations

from .columns import is_whole
from .inspection import GAP, Inspection, inspect
from .reading import read

__all__ = [
    "GAP",
    "Inspection",
    "inspect",
    "is_whole",
    "read",
]
