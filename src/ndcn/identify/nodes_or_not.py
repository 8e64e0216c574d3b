"""Whether the data could tell nodes apart, in words where they could not."""

from __future__ import annotations

from collections.abc import Sequence

from .._support.wording import counted
from .node_discovery import FEWEST_NODES, FEWEST_SNAPSHOTS
from .node_search import MOST_UNKNOWNS
from .observations import Observations


def not_told_apart(data: Sequence[Observations]) -> str | None:
    """Why it was not asked whether nodes differ; None if it could be."""
    n, d = data[0].level.shape[1:]
    snapshots = sum(len(one.times) for one in data)
    if any(one.level.shape[1] != n for one in data):
        return "the trajectories are of different nodes"
    if any(one.gaps for one in data):
        return "entries are missing"
    if n < FEWEST_NODES:
        return f"{counted(n, 'node')} are fewer than {FEWEST_NODES}"
    if snapshots < FEWEST_SNAPSHOTS:
        return f"{counted(snapshots, 'snapshot')} are fewer than {FEWEST_SNAPSHOTS}"
    if n * (d + 1) > MOST_UNKNOWNS:
        return f"{counted(n, 'node')} are too many for it"
    return None
