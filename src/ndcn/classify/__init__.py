"""Node classification: data sets, NodeClassifier, baselines, and runs of them."""

from __future__ import annotations

from . import datasets, files
from .baselines import NodeBaseline
from .classifier import NodeClassifier
from .datasets.karate import karate_club
from .datasets.nodes import NodeDataset
from .datasets.planetoid import planetoid
from .datasets.tables import node_tables
from .network import DiffusionClassifier
from .runs import NodeRun, repeat

__all__ = [
    "DiffusionClassifier",
    "NodeBaseline",
    "NodeClassifier",
    "NodeDataset",
    "NodeRun",
    "datasets",
    "files",
    "karate_club",
    "node_tables",
    "planetoid",
    "repeat",
]
