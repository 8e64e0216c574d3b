"""Numbers of the law that vary among nodes: on the network, and against degree and attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...laws import NodeLaw
from ..encode import plain
from ..section import PageContext, Section

if TYPE_CHECKING:
    from ...graph import Graph

MOST_ATTRIBUTES = 20  # to choose from


def node_values_of(page: PageContext) -> dict[str, Any] | None:
    """Values with standard errors, attributes, and which values follow which; None where nodes are alike."""
    estimator, graph = page.estimator, page.shown.graph
    law = estimator.law_ if estimator.fitted_.can.law else None
    if not isinstance(law, NodeLaw):
        return None
    known = estimator.node_values_
    assert known is not None
    table = known.reindex(list(graph.nodes))
    numbers = [
        {
            "label": label,
            "values": plain(table[label].to_numpy()),
            "errors": plain(table[f"{label} error"].to_numpy(), 3),
            "follows": [one.attribute for one in law.relations if one.number == k],
        }
        for k, label in enumerate(law.labels)
    ]
    groups = [None if g != g else int(g) for g in table["group"]] if "group" in table else None
    return {"numbers": numbers, "attributes": _attributes(graph, numbers), "groups": groups}


def _attributes(graph: Graph, numbers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that values follow first, then the degree, then others that are not the same everywhere."""
    first = [name for number in numbers for name in number["follows"] if name in graph.attributes or name == "degree"]
    names = list(dict.fromkeys([*first, "degree", *graph.attributes]))
    columns = [(name, graph.attribute(name)) for name in names]
    told = [
        (name, x)
        for name, x in columns
        if name == "degree" or np.nanmax(x, initial=-np.inf) > np.nanmin(x, initial=np.inf)
    ]
    return [{"name": name, "x": plain(x)} for name, x in told[:MOST_ATTRIBUTES]]


SECTION = Section("Values of nodes", "node_values.js", node_values_of)
