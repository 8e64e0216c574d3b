"""Graph files that networkx reads: GML (.gml), GraphML (.graphml), and JSON (.json) in its and d3's node-link form."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx

from ..edge_list import EdgeList, from_networkx
from ..files import open_bytes, parsing

NODE_LINK = '{"nodes": [{"id": ...}], "links": [{"source": ..., "target": ...}]}'
PROLOGUE = 1 << 16  # bytes in which a document declares its entities: they stand before the first element


def read_gml(path: Path) -> EdgeList:
    """The edges of a GML file; nodes go by their labels where all have one of their own, else by their ids."""
    with parsing(path, "GML"):
        graph = nx.read_gml(path, label="id")
        labels = dict(graph.nodes(data="label"))
        if None not in labels.values() and len(set(labels.values())) == len(labels):
            graph = nx.relabel_nodes(graph, labels)
    return from_networkx(graph, path.name)


def read_graphml(path: Path) -> EdgeList:
    """The edges of a GraphML file; a ValueError if it declares XML entities, which can expand without bound."""
    with parsing(path, "GraphML"), open_bytes(path) as file:
        prologue = file.read(PROLOGUE)
    if b"<!ENTITY" in prologue:
        raise ValueError(f"{path.name} defines XML entities, which a graph does not need; export it again without")
    with parsing(path, "GraphML"):
        graph = nx.read_graphml(path)
    return from_networkx(graph, path.name)


def read_json(path: Path) -> EdgeList:
    """The edges of ``{"nodes": [{"id": ...}], "links": [{"source": ..., "target": ...}]}``; "edges" for "links" also."""
    with parsing(path, "JSON"), open_bytes(path) as file:
        data = json.loads(file.read().decode("utf-8-sig"))
    known = data if isinstance(data, dict) else {}
    edges = next((key for key in ("links", "edges") if isinstance(known.get(key), list)), None)
    if edges is None:
        raise ValueError(f"{path.name} is no node-link graph: expected {NODE_LINK}")
    with parsing(path, "JSON"):
        if not isinstance(data.get("nodes"), list):
            ends = (edge[end] for edge in data[edges] for end in ("source", "target"))
            data["nodes"] = [{"id": node} for node in dict.fromkeys(ends)]
        if all(isinstance(node, dict) and "id" not in node for node in data["nodes"]):
            # as older d3 writes it: edges name nodes by their positions
            data["nodes"] = [{**node, "id": k} for k, node in enumerate(data["nodes"])]
        graph = nx.node_link_graph(data, edges=edges)
    return from_networkx(graph, path.name)
