"""Whether a file of edges and a file of states were given in the wrong order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._support.registries import GRAPH_FORMATS
from . import column_names
from .cells import plain
from .files import ending, open_table
from .table import HeaderHint, Table

MOST_COLUMNS = 4  # of edges without a usual heading: who, whom, how strongly, when


class SwappedFiles(ValueError):
    """The states look like edges and the edges do not."""


@contextmanager
def asking_whether_swapped(edges: Any, states: Any) -> Iterator[None]:
    """Add that question to an error, where the states look like edges and the edges do not."""
    try:
        yield
    except ValueError as error:
        if _named_as_edges(edges) or not (_named_as_edges(states) or _pairs_of_nodes(states, edges)):
            raise
        title = Path(states).name if isinstance(states, (str, Path)) else "the table of states"
        question = f"are the two files swapped? {title} looks like edges, and edges come first, then states"
        raise SwappedFiles(f"{question}; as given: {error}") from None


def _named_as_edges(source: Any) -> bool:
    """Whether it is a graph, or has columns for who acts and who is acted on."""
    if ending(Path(source)) in GRAPH_FORMATS if isinstance(source, (str, Path)) else not hasattr(source, "columns"):
        return True
    table = _opened(source, "edges", column_names.EDGES)
    if table is None:
        return False
    first = column_names.find(table.columns, column_names.SOURCE)
    return first is not None and column_names.find(table.columns, column_names.TARGET, taken=[first]) is not None


def _pairs_of_nodes(given_as_states: Any, given_as_edges: Any) -> bool:
    """Whether the one lists pairs of the nodes that are headings, or in a column, of the other, which has times."""
    pairs = _opened(given_as_states, "edges", column_names.EDGES)
    course = _opened(given_as_edges, "states", column_names.STATES)
    if pairs is None or course is None or not 2 <= len(pairs.columns) <= MOST_COLUMNS:
        return False
    columns = range(len(course.columns))
    if column_names.find(course.columns, column_names.TIME) is None and all(course.kind(k) != "date" for k in columns):
        return False
    texts = [k for k in columns if course.kind(k) == "text"]
    names = {plain(name) for name in course.columns} | {plain(cell) for k in texts for cell in course.sample(k)}
    return all(pairs.kind(k) != "date" and pairs.share_of_names(k, names) > 0.5 for k in range(2))


def _opened(source: Any, what: str, names: frozenset[str]) -> Table | None:
    try:
        return open_table(source, what, HeaderHint(names))
    except (ValueError, TypeError, OSError, ModuleNotFoundError):
        return None
