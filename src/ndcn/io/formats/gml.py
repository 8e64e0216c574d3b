"""GML (.gml), read by networkx."""

from __future__ import annotations

from pathlib import Path

import networkx as nx

from ..edge_list import EdgeList
from ..graph_objects import from_networkx
from ..parse_errors import parsing


def read(path: Path) -> EdgeList:
    """The edges of a GML file; nodes go by their labels where all have one of their own, else by their ids.

    Raises:
        ValueError: it cannot be read.
    """
    with parsing(path, "GML"):
        graph = nx.read_gml(path, label="id")
        labels = dict(graph.nodes(data="label"))
        if None not in labels.values() and len(set(labels.values())) == len(labels):
            graph = nx.relabel_nodes(graph, labels)
    return from_networkx(graph, path.name)
