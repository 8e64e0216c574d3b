"""Graph files that networkx reads: GML (.gml), GraphML (.graphml), and JSON (.json) in its and d3's node-link form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.parsers import expat

import networkx as nx

from ..._support.limits import check_graph
from ..edge_list import EdgeList, from_networkx
from ..files import open_bytes, parsing

NODE_LINK = '{"nodes": [{"id": ...}], "links": [{"source": ..., "target": ...}]}'
PART = 1 << 20  # bytes that are looked at together


def read_gml(path: Path) -> EdgeList:
    """The edges of a GML file; nodes go by their labels where all have one of their own, else by their ids."""
    _check_count(path, "GML", b"[")
    with parsing(path, "GML"):
        graph = nx.read_gml(path, label="id")
        labels = dict(graph.nodes(data="label"))
        if None not in labels.values() and len(set(labels.values())) == len(labels):
            graph = nx.relabel_nodes(graph, labels)
    return from_networkx(graph, path.name)


def read_graphml(path: Path) -> EdgeList:
    """The edges of a GraphML file; a ValueError if it declares XML entities, which can expand without bound."""
    _check_elements(path)
    with parsing(path, "GraphML"):
        graph = nx.read_graphml(path)
    return from_networkx(graph, path.name)


def read_json(path: Path) -> EdgeList:
    """The edges of ``{"nodes": [{"id": ...}], "links": [{"source": ..., "target": ...}]}``; "edges" for "links" also."""
    _check_count(path, "JSON", b"{")
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


def _check_count(path: Path, form: str, opening: bytes) -> None:
    """Refuse a file with far more nodes and edges, each of which starts with a character, than its size lets expect."""
    count, stored = 0, path.stat().st_size
    with parsing(path, form), open_bytes(path) as file:
        while part := file.read(PART):
            count += part.count(opening)
    check_graph(count, stored, path.name)


def _check_elements(path: Path) -> None:
    """Refuse GraphML with far more elements than its size lets expect, or that declares entities, in any encoding."""
    stored, count, entities = path.stat().st_size, 0, False

    def element(*_: Any) -> None:
        nonlocal count
        count += 1

    def entity(*_: Any) -> None:
        nonlocal entities
        entities = True
        raise ValueError("it defines XML entities")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EntityDeclHandler = element, entity
    try:
        with parsing(path, "GraphML"), open_bytes(path) as file:
            while part := file.read(PART):
                parser.Parse(part)
            parser.Parse(b"", True)
    except ValueError:
        if not entities:
            raise
        raise ValueError(
            f"{path.name} defines XML entities, which a graph does not need; export it again without"
        ) from None
    check_graph(count, stored, path.name)
