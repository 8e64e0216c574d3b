"""Tables with a row for each node: which column names the nodes, and the other columns."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..._support.wording import some
from ...io import HeaderHint, Names, Table, column_names, is_missing, open_table, plain, refuse_unnamed


@dataclass(frozen=True)
class NodeRows:
    """Rows about nodes, N of them."""

    table: Table  # where they come from
    names: list[str]  # the node of each row
    columns: dict[int, Any]  # the other columns that were loaded, by position: Names or float64, shape (N,)
    rows: np.ndarray  # which rows of the table these are, shape (N,); those without any content are left out
    notes: tuple[str, ...]  # what was understood

    @property
    def title(self) -> str:
        """What messages call the table."""
        return self.table.title

    @property
    def headings(self) -> list[str]:
        """The names of all columns of the table; none where it has no header."""
        return [plain(heading) for heading in self.table.columns] if self.table.headed else []

    def texts(self, k: int) -> list[str | None]:
        """A column of text: None where a cell is missing."""
        column: Names = self.columns[k]
        return [None if code < 0 else column.labels[code] for code in column.codes.tolist()]


def read_node_rows(
    source: Any,
    what: str,
    usual: Collection[str],
    known: Collection[str],
    node: str | None,
    roles: Callable[[Table, int], dict[int, str]],
) -> NodeRows:
    """Rows about nodes from a file or a pandas table.

    Args:
        source: a file or a pandas table.
        what: what it holds, for messages: "features" or "labels".
        usual: usual names of its columns, by which a header is known.
        known: names of the nodes of the edges, by which the column of nodes is known.
        node: that column, as the user says; None to detect it.
        roles: given the table and the column of nodes, which other columns to load, and as what: "name" or "number".

    Raises:
        FileNotFoundError, TypeError: see ``open_table``.
        ValueError: it cannot be read, or a row names no node; the message says where and what to do.
    """
    table = open_table(source, what, HeaderHint(usual))
    place = _node_column(table, known, node)
    heading = plain(table.columns[place]) if table.headed and isinstance(source, (str, Path)) else ""
    if heading in known and heading.lower() not in usual:
        table = open_table(source, what, HeaderHint(usual, absent=True))  # what looked like a header names a node
        place = _node_column(table, known, node)
    loaded = table.load({place: "name", **roles(table, place)})
    names: Names = loaded.pop(place)
    if not len(names):
        raise ValueError(f"{table.title} has no rows, only a header; expected a line for each node")
    notes = [*table.notes, f"{table.title}: nodes are in column {table.name(place)}"]
    columns = {k: _without_missing(table, k, x, notes) if isinstance(x, Names) else x for k, x in loaded.items()}
    unnamed = names.codes < 0
    filled = np.zeros(len(names), dtype=bool)
    for column in columns.values() if unnamed.any() else ():
        filled |= column.codes >= 0 if isinstance(column, Names) else ~np.isnan(column)
    if (unnamed & filled).any() or unnamed.all():
        refuse_unnamed(table, place, np.flatnonzero(unnamed & filled if filled.any() else unnamed))
    rows = np.flatnonzero(~unnamed)
    if len(rows) < len(names):
        notes.append(f"{table.title}: {len(names) - len(rows)} empty rows are left out")
    kept = {k: column[rows] for k, column in columns.items()}
    return NodeRows(table, names.texts(rows), kept, rows, tuple(notes))


def _node_column(table: Table, known: Collection[str], node: str | None) -> int:
    """The column of nodes: as the user says, or the one called so, or the first, whichever holds most names, each once."""
    if node is not None:
        return column_names.chosen(table.columns, node, table.title, "--node")
    if not table.columns:
        raise ValueError(f"{table.title} has no column that names nodes; add one called node, or make it a named index")

    def score(k: int) -> float:
        cells = table.sample(k)
        return table.share_of_names(k, known) * len(set(cells)) / max(1, len(cells))

    usual = column_names.NODE - column_names.LABEL
    named = [k for k, name in enumerate(table.columns) if column_names.find([name], usual) is not None]
    exact = [k for k in named if table.columns[k].strip().lower() == "node"]
    return max((*exact, *named, 0), key=score)


def _without_missing(table: Table, k: int, column: Names, notes: list[str]) -> Names:
    """A column of text in which words such as NA mean that a cell is missing."""
    gone = np.array([is_missing(label) for label in column.labels] + [True])
    words = [label for label, is_gone in zip(column.labels, gone[:-1], strict=True) if is_gone]
    if words:
        notes.append(f"{table.title}: {some(words)} in column {table.name(k)}: taken as missing")
    return Names(np.where(gone[column.codes], -1, column.codes).astype(np.int32), column.labels)
