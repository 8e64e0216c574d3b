"""Names of nodes in two files: which nodes of the edges and of another table are the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._support.wording import Urgent, counted, some
from .cells import is_whole, labels_for
from .edge_list import EdgeList
from .refusals import refuse
from .states import Observations


class Match(NamedTuple):
    """The nodes of a dataset.

    Attributes:
        labels: of the nodes, in order: whole numbers where all are, else texts.
        edge_node: for each label of the edges, the position of its node, or -1 where there are no states of it.
        state_node: for each name in the states, the position of its node.
        notes: what was found.
    """

    labels: list[Any]
    edge_node: np.ndarray
    state_node: np.ndarray
    notes: list[str]


def match(edges: EdgeList, states: Observations, unknown: str) -> Match:
    """Match the names. Nodes are those of the states; names that only the edges have are left out.

    Raises:
        ValueError: no name is in both files, or ``unknown`` is "error" and one of the files lacks some.
    """
    used = np.bincount(states.node, minlength=len(states.nodes)) > 0
    names = [name for name, there in zip(states.nodes, used.tolist(), strict=True) if there]
    edge_labels, notes = labels_as_in(edges, names, states.whole)
    refuse_strangers(edges.title, edge_labels, states.title, names)
    there, here = set(edge_labels), set(names)
    only_states = [name for name in names if name not in there]
    only_edges = [label for label in dict.fromkeys(edge_labels) if label not in here]
    hint = spelling_hint(edges.title, only_edges, states.title, only_states)
    if unknown == "error" and (only_states or only_edges):
        parts = [f"only in {edges.title}: {some(only_edges)}"] if only_edges else []
        parts += [f"only in {states.title}: {some(only_states)}"] if only_states else []
        refuse(
            f"{len(only_edges) + len(only_states)} names are not in both files; {'; '.join(parts)}; "
            f'{hint or "correct them"}, or allow it with unknown="drop"'
        )
    if only_states:
        notes.append(isolated_note(edges.title, states.title, only_states))
    if only_edges:
        lost = f"{counted(len(only_edges), 'node')} of {edges.title} without states in {states.title}"
        notes.append(Urgent(f"{lost}, left out with all edges: {some(only_edges, 10)}"))
    if hint:
        notes.append(Urgent(hint))
    labels = labels_for(names)
    place = {str(label): k for k, label in enumerate(labels)}
    edge_node, state_node = (
        np.array([place.get(name, -1) for name in there], dtype=np.int64) for there in (edge_labels, states.nodes)
    )
    return Match(labels, edge_node, state_node, notes)


def refuse_strangers(edges: str, edge_labels: Sequence[str], other: str, names: Sequence[str]) -> None:
    """Raise a ValueError if no name is in both the edges and the other table, which go by these titles."""
    if set(edge_labels) & set(names):
        return
    hint = _alike(names, edge_labels) or "write the names alike, or name the column of nodes with --node"
    examples = f"{edges} has {some(edge_labels, 3)}, {other} has {some(names, 3) or 'none'}"
    raise ValueError(f"no node has the same name in both files: {examples}; {hint}")


def isolated_note(edges: str, other: str, names: Sequence[str]) -> str:
    """What to say about names that no edge has."""
    return f"{counted(len(names), 'node')} of {other} without an edge in {edges}, kept as isolated: {some(names, 10)}"


def spelling_hint(edges: str, only_edges: Sequence[str], other: str, only_other: Sequence[str]) -> str:
    """Why names that only one of two files has may mean the same nodes; empty if there is no sign of it."""
    if alike := _alike(only_other, only_edges):
        return alike
    for here, there, first, second in ((only_other, only_edges, other, edges), (only_edges, only_other, edges, other)):
        if list(here) == ["0"] and len(there) == 1 and is_whole(there[0]):
            question = f"does {first} count nodes from 0 and {second} from 1?"
            return f"{question} Then the names are shifted: count alike in both"
    return ""


def labels_as_in(edges: EdgeList, names: Sequence[str], ordered: bool = False) -> tuple[list[str], list[str]]:
    """The labels of the edges under those of their names that another table uses, and what to say about it.

    Args:
        edges: the edges.
        names: the names in the other table.
        ordered: whether these are all nodes, in an order that positions in a matrix can follow.
    """
    known, n = set(names), len(edges.labels)
    if edges.positions:
        numbers = {int(name) for name in names if is_whole(name)}
        if len(numbers) == len(names) and 0 not in numbers and n in numbers:
            return [str(k + 1) for k in range(n)], [f"{edges.title} has no names: its nodes are counted from 1"]
        if not known & set(edges.labels) and ordered and len(names) == n:
            return list(names), [f"{edges.title} has no names: its nodes are those of the states, in the same order"]
        return edges.labels, [f"{edges.title} has no names: its nodes are counted from 0"]
    best, score, notes = edges.labels, len(known & set(edges.labels)), []
    for attribute, labels in edges.aliases.items():
        if len(known & set(labels)) > score:
            best, score = labels, len(known & set(labels))
            notes = [f"{edges.title}: nodes go by their {attribute!r}, as in the other file"]
    return best, notes


def _alike(some_names: Sequence[str], others: Sequence[str]) -> str:
    """Names that differ only in capitals, blanks or leading zeros."""
    bare = {_bare(name): name for name in others}
    alike = [(name, bare[_bare(name)]) for name in some_names if _bare(name) in bare]
    shown = ", ".join(f"{a!r} and {b!r}" for a, b in alike[:3])
    return f"{shown} may be the same node: write them alike" if alike else ""


def _bare(name: str) -> str:
    return "".join(name.casefold().split()).replace("_", "").replace("-", "").lstrip("0")
