"""Models: an encoder, a field integrated over time, and a decoder."""

from .graph_ode import GraphODE
from .paper import ndcn, no_control, no_encode, no_graph

__all__ = ["GraphODE", "ndcn", "no_control", "no_encode", "no_graph"]
