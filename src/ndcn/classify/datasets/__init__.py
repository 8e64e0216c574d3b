"""Data sets for node classification: the citation graphs of Planetoid, the karate club, and tables of one's own."""

from .karate import karate_club
from .nodes import NodeDataset
from .planetoid import planetoid
from .tables import node_tables

__all__ = ["NodeDataset", "karate_club", "node_tables", "planetoid"]
