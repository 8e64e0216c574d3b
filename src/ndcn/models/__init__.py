"""Models: NDCN and its ablations, and the baselines that they are compared with."""

from .classifier import DiffusionClassifier
from .graph_ode import GraphODE
from .law_ode import LawODE
from .node_curves import Linear, Persistence, Spline
from .paper import ndcn, no_control, no_encode, no_graph
from .residual_gnn import ResidualGNN
from .temporal_gnn import TemporalGNN

__all__ = [
    "DiffusionClassifier",
    "GraphODE",
    "LawODE",
    "Linear",
    "Persistence",
    "ResidualGNN",
    "Spline",
    "TemporalGNN",
    "ndcn",
    "no_control",
    "no_encode",
    "no_graph",
]
