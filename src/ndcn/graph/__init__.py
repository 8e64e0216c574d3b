"""Graphs: who acts on whom, networks drawn from a seed, operators, and sparse products."""

from __future__ import annotations

from . import networks, operators
from .graph import Graph
from .labels import label_index as label_index, place_of as place_of
from .operators import (
    Operator as Operator,
    kipf as kipf,
    laplacian as laplacian,
    normalized_adjacency as normalized_adjacency,
    signed_laplacian as signed_laplacian,
)
from .partition.halo_matrix import HaloMatrix as HaloMatrix
from .partition.part import Part as Part
from .partition.part_graph import PartGraph as PartGraph
from .partition.partition import Partition
from .positions import projected as projected
from .sequence import GraphSequence
from .sparse import SparseMatrix, type_text as type_text
from .sparse_parts import check_sparse as check_sparse, csr_of_parts as csr_of_parts

__all__ = ["Graph", "GraphSequence", "Partition", "SparseMatrix", "networks", "operators"]
