"""What a notebook shows of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._support.html import card, first_names

if TYPE_CHECKING:
    from .graph import Graph


def graph_html(graph: Graph) -> str:
    """Nodes, edges, degrees."""
    degrees = graph.degrees
    kind = ("directed" if graph.directed else "undirected") + ", weighted" * graph.weighted
    rows = [
        ("nodes", f"{graph.num_nodes:,} ({first_names([str(name) for name in graph.nodes[:20]], graph.num_nodes)})"),
        ("edges", f"{graph.num_edges:,}, {kind}"),
        ("degree", f"{degrees.min():.4g} to {degrees.max():.4g}, mean {degrees.mean():.4g}"),
    ]
    return card("Graph", rows)
