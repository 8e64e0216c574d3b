"""JSON (.json) in the node-link form of networkx and d3."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx

from ..edge_list import EdgeList
from ..files import open_bytes
from ..graph_objects import from_networkx
from ..parse_errors import parsing


def read(path: Path) -> EdgeList:
    """The edges of ``{"nodes": [{"id": ...}], "links": [{"source": ..., "target": ...}]}``; "edges" for "links" also.

    Raises:
        ValueError: it cannot be read, or is other JSON.
    """
    with parsing(path, "JSON"), open_bytes(path) as file:
        data = json.loads(file.read().decode("utf-8-sig"))
    known = data if isinstance(data, dict) else {}
    edges = next((key for key in ("links", "edges") if isinstance(known.get(key), list)), None)
    if edges is None:
        raise ValueError(
            f'{path.name} is no node-link graph: expected {{"nodes": [{{"id": ...}}], "links": [{{"source": ..., "target": ...}}]}}'
        )
    with parsing(path, "JSON"):
        if not isinstance(data.get("nodes"), list):
            ends = (edge[end] for edge in data[edges] for end in ("source", "target"))
            data["nodes"] = [{"id": node} for node in dict.fromkeys(ends)]
        if all(isinstance(node, dict) and "id" not in node for node in data["nodes"]):
            # as older d3 writes it: edges name nodes by their positions
            data["nodes"] = [{**node, "id": k} for k, node in enumerate(data["nodes"])]
        graph = nx.node_link_graph(data, edges=edges)
    return from_networkx(graph, path.name)
