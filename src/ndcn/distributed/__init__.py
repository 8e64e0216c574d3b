"""One network over several processes: parts in a folder, a process for each, and what they gather or write together."""

from __future__ import annotations

from .._support.world import LostRank as LostRank, World as World, restarts as restarts, start_processes
from .answers import read_answers, write_answers
from .gathering import whole_graph, whole_states as whole_states, whole_trajectory
from .parts_folder import is_parts_folder, read_part, write_parts

__all__ = [
    "is_parts_folder",
    "read_answers",
    "read_part",
    "start_processes",
    "whole_graph",
    "whole_trajectory",
    "write_answers",
    "write_parts",
]
