"""Data sets for node classification: the citation graphs of Planetoid, and the karate club."""

from .karate import karate_club
from .nodes import NodeDataset
from .planetoid import planetoid

__all__ = ["NodeDataset", "karate_club", "planetoid"]
