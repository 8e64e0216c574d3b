"""Your own network: a file of edges and a file of states, in the formats and the shape they are in."""

from __future__ import annotations

from .calendar import Calendar
from .dataset import Dataset
from .inspection import Inspection, inspect
from .reading import read

__all__ = ["Calendar", "Dataset", "Inspection", "inspect", "read"]
