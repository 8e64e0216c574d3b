"""Node classification: data sets, NodeClassifier, baselines, and runs of them."""

from __future__ import annotations

from . import datasets, files as files
from .baselines import NodeBaseline
from .calibration import Calibration as Calibration
from .choice import FieldChoice as FieldChoice
from .classifier import NodeClassifier
from .datasets.geom_gcn import geom_gcn as geom_gcn
from .datasets.karate import karate_club as karate_club
from .datasets.nodes import NodeDataset as NodeDataset
from .datasets.planetoid import planetoid as planetoid
from .datasets.tables import node_tables as node_tables
from .explanation import Explanation as Explanation, Explanations as Explanations, explanations as explanations
from .network import DiffusionClassifier
from .node_data import SPLITS as SPLITS, TEST as TEST
from .over_time import accuracies_over as accuracies_over
from .runs import NodeRun as NodeRun, RunsInterrupted as RunsInterrupted, repeat as repeat

__all__ = ["DiffusionClassifier", "NodeBaseline", "NodeClassifier", "datasets"]
