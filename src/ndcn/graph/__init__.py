"""Graphs: who acts on whom, networks drawn from a seed, operators, and sparse products."""

from __future__ import annotations

from . import networks, operators
from .graph import Graph
from .labels import label_index
from .operators import Operator, kipf, laplacian, normalized_adjacency, signed_laplacian
from .sequence import GraphSequence
from .sparse import SparseMatrix, kind_of

__all__ = [
    "Graph",
    "GraphSequence",
    "Operator",
    "SparseMatrix",
    "kind_of",
    "kipf",
    "label_index",
    "laplacian",
    "networks",
    "normalized_adjacency",
    "operators",
    "signed_laplacian",
]
