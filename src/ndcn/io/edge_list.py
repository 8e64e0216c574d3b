"""EdgeList: who acts on whom, as a file says it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from .time_columns import Times


@dataclass(frozen=True)
class EdgeList:
    """Who acts on whom, by name.

    Attributes:
        title: the name of the file.
        labels: the names of the nodes; "0", "1", ... for a matrix.
        source, target: positions in ``labels``, shape (E,).
        weight: shape (E,).
        weighted: whether the file has weights.
        directed: what the file says; None if it does not.
        time: when each edge is there, if the file says so.
        positions: whether nodes have no names, only positions in a matrix.
        aliases: other names of the nodes, by the attribute that holds them.
        unused: a sentence on the columns that are not read; empty if all are.
        notes: what was understood.
        place: where an edge is in the file, for messages.
        heading: the headings of source and target, if they are unusual and may be names of nodes: a file without header.
    """

    title: str
    labels: list[str]
    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    weighted: bool = False
    directed: bool | None = None
    time: Times | None = None
    positions: bool = False
    aliases: Mapping[str, list[str]] = field(default_factory=dict)
    unused: str = ""
    notes: tuple[str, ...] = ()
    place: Callable[[int], str] = lambda edge: f"edge {edge + 1}"
    heading: tuple[str, str] | None = None
