"""What if: changes to a network and to its state, written as "remove A", "cut A B" or "shock A +5"."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import torch
from scipy import sparse

from .._support.wording import some
from ..graph import Graph, place_of

FORMS = (
    '"remove NODE", "cut A B" (both ways) or "cut A->B" (A no longer acts on B), "shock NODE +5", "shock NODE x*0.5"'
)
QUOTES = "names with blanks stand in quotes of their own, as in: cut 'New York' Boston"
_AMOUNT = re.compile(r"(?P<feature>.+?)??(?P<sign>[-+*=])=?(?P<value>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)")


@dataclass(frozen=True)
class Remove:
    """The node and all its edges are gone."""

    node: str


@dataclass(frozen=True)
class Cut:
    """The edge from ``source`` to ``target`` is gone; and, unless ``one_way``, the edge back."""

    source: str
    target: str
    one_way: bool = False


@dataclass(frozen=True)
class Shock:
    """x_i becomes x_i + value ("+"), x_i * value ("*") or value ("="), in one feature or in all (None)."""

    node: str
    sign: str
    value: float
    feature: str | None = None


Change = Remove | Cut | Shock


def parse(text: str) -> Change:
    """A change from its text; names with blanks stand in quotes, which only ``cut A B`` needs.

    Raises:
        ValueError: it is none of the three.

    Example:
        >>> parse("cut 'New York' Boston")
        Cut(source='New York', target='Boston', one_way=False)
        >>> parse("remove New York")
        Remove(node='New York')
        >>> parse("shock Boston cases*2")
        Shock(node='Boston', sign='*', value=2.0, feature='cases')
    """
    wrong = ValueError(f"{text!r} is no change that is known; write {FORMS}; {QUOTES}")
    try:
        words = shlex.split(text)
    except ValueError:
        hint = 'a name with \' in it stands between " and "'
        raise ValueError(f"{text!r} has a quote that is never closed; write {FORMS}; {hint}") from None
    if len(words) < 2:
        raise wrong
    verb, rest = words[0].lower(), words[1:]
    if verb == "remove":
        return Remove(" ".join(rest))
    if verb == "cut":
        source, arrow, target = (part.strip() for part in " ".join(rest).partition("->"))
        if arrow and source and target:
            return Cut(source, target, one_way=True)
        if len(rest) == 2 and not arrow:
            return Cut(rest[0], rest[1])
    if verb == "shock" and len(rest) > 1 and (amount := _AMOUNT.fullmatch(rest[-1])) is not None:
        sign, value, feature = amount["sign"], float(amount["value"]), amount["feature"]
        if math.isfinite(value):
            return Shock(" ".join(rest[:-1]), "+" if sign == "-" else sign, -value if sign == "-" else value, feature)
    raise wrong


def changed_graph(graph: Graph, changes: Sequence[Change]) -> Graph:
    """The graph after these changes; removed nodes are no longer in it, and after a cut one way it is directed.

    Raises:
        ValueError: a node or an edge that is not there, or no node is left.

    Example:
        >>> import ndcn
        >>> chain = ndcn.Graph.from_edges([("a", "b"), ("b", "c")])
        >>> changed_graph(chain, [Remove("a")])
        Graph(2 nodes, 1 edge, undirected)
    """
    matrix = graph.to_scipy().tolil()
    for change in changes:
        if isinstance(change, Cut):
            i, j = node_place(graph, change.source), node_place(graph, change.target)
            if not matrix[j, i] and (change.one_way or not matrix[i, j]):
                raise ValueError(f"there is no edge from {change.source!r} to {change.target!r} to cut")
            matrix[j, i] = 0
            if not change.one_way:
                matrix[i, j] = 0
    keep = kept_nodes(graph, changes)
    if not keep:
        raise ValueError("all nodes are removed: nothing is left to predict")
    left = sparse.csr_array(matrix.tocsr()[keep][:, keep])
    left.eliminate_zeros()
    directed = graph.directed or any(isinstance(change, Cut) and change.one_way for change in changes)
    return graph.with_adjacency(left, keep=keep, directed=directed)


def changed_state(
    graph: Graph, state: torch.Tensor, features: Sequence[str], changes: Sequence[Change]
) -> torch.Tensor:
    """The state (n, d) after these changes, without the rows of removed nodes.

    Raises:
        ValueError: a node or feature that is not there.

    Example:
        >>> import ndcn, torch
        >>> chain = ndcn.Graph.from_edges([("a", "b"), ("b", "c")])
        >>> changed_state(chain, torch.ones(3, 1), ["x"], [Shock("b", "+", 5.0)]).tolist()
        [[1.0], [6.0], [1.0]]
    """
    out = state.clone()
    for change in changes:
        if isinstance(change, Shock):
            row, columns = node_place(graph, change.node), _columns(change.feature, features)
            old, value = out[row, columns], change.value
            new = {"+": old + value, "*": old * value, "=": torch.full_like(old, value)}
            out[row, columns] = new[change.sign]
    return out[kept_nodes(graph, changes)]


def kept_nodes(graph: Graph, changes: Sequence[Change]) -> list[int]:
    """Places of the nodes that are not removed."""
    gone = {node_place(graph, change.node) for change in changes if isinstance(change, Remove)}
    return [k for k in range(graph.num_nodes) if k not in gone]


def node_place(graph: Graph, name: Hashable) -> int:
    """The place of a node by its name, as text.

    Raises:
        ValueError: there is no such node.
    """
    place = place_of(graph.nodes, name)
    if place is not None:
        return place
    near = get_close_matches(str(name).casefold(), [str(label).casefold() for label in graph.nodes], n=1)
    meant = [str(label) for label in graph.nodes if near and str(label).casefold() == near[0]]
    hint = f"; did you mean {meant[0]!r}?" if meant else f"; {QUOTES}" if " " in str(name) else ""
    raise ValueError(f"the network has no node {name!r}; its nodes are {some(list(graph.nodes))}{hint}")


def _columns(feature: str | None, features: Sequence[str]) -> list[int]:
    if feature is None or (feature == "x" and "x" not in features and len(features) == 1):
        return list(range(len(features)))
    if feature not in features:
        raise ValueError(f"the states have no feature {feature!r}; they have {', '.join(features)}")
    return [list(features).index(feature)]
