"""Learned fields."""

from .closed_form import ClosedForm
from .free_form import FreeForm
from .neural import DiffusionField, GraphField, NodeField

__all__ = ["ClosedForm", "DiffusionField", "FreeForm", "GraphField", "NodeField"]
