"""GraphML (.graphml), read by networkx."""

from __future__ import annotations

from pathlib import Path

import networkx as nx

from ..edge_list import EdgeList
from ..files import open_bytes
from ..graph_objects import from_networkx
from ..parse_errors import parsing

PROLOGUE = 1 << 16  # bytes in which a document declares its entities: they stand before the first element


def read(path: Path) -> EdgeList:
    """The edges of a GraphML file.

    Raises:
        ValueError: it cannot be read, or declares XML entities, which can expand without bound.
    """
    with parsing(path, "GraphML"), open_bytes(path) as file:
        prologue = file.read(PROLOGUE)
    if b"<!ENTITY" in prologue:
        raise ValueError(f"{path.name} defines XML entities, which a graph does not need; export it again without")
    with parsing(path, "GraphML"):
        graph = nx.read_graphml(path)
    return from_networkx(graph, path.name)
