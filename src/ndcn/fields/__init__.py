"""Learned fields."""

from .closed_form import ClosedForm
from .corrected import Corrected
from .free_form import FreeForm
from .neural import DiffusionField, GraphField, NodeField

__all__ = ["ClosedForm", "Corrected", "DiffusionField", "FreeForm", "GraphField", "NodeField"]
