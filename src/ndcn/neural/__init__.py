"""Learned fields and models: NDCN and its ablations, and the baselines that they are compared with."""

from __future__ import annotations

from .continuation import Continuation as Continuation
from .curves import Curve as Curve, Linear, Persistence, Spline
from .fields import Activation as Activation, DiffusionField, GraphField, NodeField
from .graph_ode import GraphODE
from .input_layer import InputLayer as InputLayer
from .ndcn import ndcn, no_control, no_encode, no_graph
from .residual_gnn import ResidualGNN
from .temporal_gnn import TemporalGNN, filled as filled

__all__ = [
    "DiffusionField",
    "GraphField",
    "GraphODE",
    "Linear",
    "NodeField",
    "Persistence",
    "ResidualGNN",
    "Spline",
    "TemporalGNN",
    "ndcn",
    "no_control",
    "no_encode",
    "no_graph",
]
