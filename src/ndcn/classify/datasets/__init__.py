"""Data sets for node classification: citation graphs, graphs whose neighbours differ, the karate club, tables of one's own."""

from .geom_gcn import geom_gcn, geom_gcn_names as geom_gcn_names
from .karate import karate_club
from .nodes import NodeDataset
from .planetoid import planetoid
from .tables import node_tables

__all__ = ["NodeDataset", "geom_gcn", "karate_club", "node_tables", "planetoid"]
