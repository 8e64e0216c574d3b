"""Your own network: a file of edges and a file of states, in the formats and the shape they are in."""

from __future__ import annotations

from ..data import Calendar, Dataset
from .cells import is_whole as is_whole
from .inspection import GAP as GAP
from .inspection import Inspection, inspect
from .reading import read

__all__ = ["Calendar", "Dataset", "Inspection", "inspect", "read"]
