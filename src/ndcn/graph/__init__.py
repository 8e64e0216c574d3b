"""Graphs: who acts on whom, networks drawn from a seed, operators, and sparse products."""

from __future__ import annotations

from . import networks, operators
from .graph import Graph
from .labels import label_index as label_index
from .operators import Operator as Operator
from .operators import kipf as kipf
from .operators import laplacian as laplacian
from .operators import normalized_adjacency as normalized_adjacency
from .operators import signed_laplacian as signed_laplacian
from .sequence import GraphSequence
from .sparse import SparseMatrix
from .sparse import type_text as type_text

__all__ = ["Graph", "GraphSequence", "SparseMatrix", "networks", "operators"]
