"""EdgeList: what a file says of who acts on whom."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from .times import Times


@dataclass(frozen=True)
class EdgeList:
    """Who acts on whom, by name.

    Attributes:
        title: the name of the file.
        labels: the names of the nodes; of a matrix "0", "1", ....
        source, target: places in ``labels``, shape (E,).
        weight: shape (E,).
        weighted: whether the file has weights.
        directed: what the file says; None if it does not.
        time: when each edge is there, if the file says so.
        positions: whether nodes have places only and no names of their own.
        aliases: other names of the nodes, by the attribute that holds them.
        notes: what was understood.
        place: where an edge is in the file, for messages.
        heading: of source and target, if these words are not known ones and may be names of nodes themselves.
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
    notes: tuple[str, ...] = ()
    place: Callable[[int], str] = lambda edge: f"edge {edge + 1}"
    heading: tuple[str, str] | None = None

    def renamed(self, labels: list[str], note: str) -> EdgeList:
        """The same edges between nodes of other names."""
        return dataclasses.replace(self, labels=labels, positions=False, notes=(*self.notes, note))
