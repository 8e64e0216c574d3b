"""Learned fields."""

from .neural import DiffusionField, GraphField, NodeField

__all__ = ["DiffusionField", "GraphField", "NodeField"]
