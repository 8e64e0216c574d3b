"""A table of groups: which region, country or other group each node belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .._support.wording import counted, some
from . import column_names
from .cells import Names, plain
from .files import open_table
from .node_matching import spelling_hint
from .node_table import LATITUDE, LONGITUDE, node_column, node_rows
from .table import HeaderHint, Table, refuse_unnamed

HINT = HeaderHint(column_names.NODE | {"group", "groups", "cluster", "province", "district", "continent"})
PLACES = LATITUDE | LONGITUDE | {"x", "y"}
TAKEN = ("node", "total")  # levels of the nodes themselves, and of the sum over all


class GroupTable(NamedTuple):
    """Groups of nodes.

    Attributes:
        columns: for each level its name, the names of its groups, and of each node the position of its group, -1 without one.
        notes: what was understood, and which nodes have no group.
    """

    columns: list[tuple[str, list[str], np.ndarray]]
    notes: list[str]


def read_groups(source: Any, labels: Sequence[Any], by: Sequence[str] = ()) -> GroupTable:
    """Groups of these nodes: a column of nodes, and a column of groups for each level.

    Args:
        source: a file, a pandas table or Series (nodes are its index), or {node: group}.
        labels: of the nodes, in order.
        by: names of the columns of groups. By default all with text in which a name occurs twice; without such columns, those of
            whole numbers. Coordinates are left aside.

    Raises:
        FileNotFoundError, TypeError: see ``open_table``.
        ValueError: there are no groups, none of the nodes, or a node twice.

    Example:
        >>> from ndcn.io import read_groups
        >>> found = read_groups({"a": "north", "b": "south", "c": "north"}, ["a", "b", "c"])
        >>> [(level, names, where.tolist()) for level, names, where in found.columns]
        [('group', ['north', 'south'], [0, 1, 0])]
    """
    table = open_table(_frame(source), "groups", HINT)
    names = {str(label): k for k, label in enumerate(labels)}
    place = node_column(table, names)
    loaded: dict[int, Names] = table.load(dict.fromkeys(range(len(table.columns)), "name"))
    cells = loaded[place]
    if (cells.codes < 0).any():
        refuse_unnamed(table, place, np.flatnonzero(cells.codes < 0))
    row = node_rows(table, cells, names)
    chosen, notes = _levels(table, place, loaded, ["group"] if isinstance(source, (Mapping, pd.Series)) else by)
    strangers = [label for label in dict.fromkeys(cells.texts(np.arange(len(cells)))) if plain(label) not in names]
    lost = [label for label, k in zip(labels, row.tolist(), strict=True) if k < 0]
    if strangers:
        hint = spelling_hint(table.title, strangers, "the model", [str(one) for one in lost])
        said = f"{table.title}: {counted(len(strangers), 'name')} that the model does not have, left out: {some(strangers)}"
        notes.append(said + (f"; {hint}" if hint else ""))
    columns: list[tuple[str, list[str], np.ndarray]] = []
    for k in chosen:
        level = table.columns[k] or "group"
        if level in TAKEN or level in [one[0] for one in columns]:
            raise ValueError(
                f"{table.title}: no column of groups can be called {level!r}, which means something else; rename it"
            )
        codes = np.where(row >= 0, loaded[k].codes[row], -1)
        used = list(dict.fromkeys(codes[codes >= 0].tolist()))
        where = np.array([used.index(code) if code >= 0 else -1 for code in codes.tolist()], dtype=np.int64)
        columns.append((level, [loaded[k].labels[code] for code in used], where))
        without = [label for label, group in zip(labels, where.tolist(), strict=True) if group < 0]
        if without:
            notes.append(
                f"{table.title}: {counted(len(without), 'node')} without a {level}, in the total alone: {some(without)}"
            )
    return GroupTable(columns, [*table.notes, *notes])


def _frame(source: Any) -> Any:
    """A mapping or Series as a table of two columns."""
    if not isinstance(source, (Mapping, pd.Series)):
        return source
    if not len(source):
        raise ValueError(
            "groups: there are none; give {node: group}, or a table with a column of nodes and one of groups"
        )
    pairs = [(str(node), plain(group) or None) for node, group in source.items()]
    return pd.DataFrame(pairs, columns=["node", "group"], dtype=object)


def _levels(table: Table, place: int, loaded: Mapping[int, Names], by: Sequence[str]) -> tuple[list[int], list[str]]:
    """Which columns hold groups, and what is said of the others."""
    others = [k for k in range(len(table.columns)) if k != place]
    if by:
        found = [column_names.chosen(table.columns, name, table.title, "--by") for name in by]
        if place in found:
            raise ValueError(f"{table.title}: column {table.name(place)} holds the nodes, and cannot hold groups too")
        return found, []
    where = {k for k in others if table.columns[k].strip().lower() in PLACES or loaded[k].codes.max(initial=-1) < 0}
    repeats = [k for k in others if k not in where and _repeats(loaded[k])]
    texts = [k for k in repeats if table.kind(k) in ("text", "date")]
    whole = [k for k in repeats if all(label.lstrip("-").isdigit() for label in loaded[k].labels)]
    found = texts or whole
    if not found:
        raise ValueError(
            f"{table.title} has no column of groups beside {table.name(place)}, the nodes: give one in which the names of groups "
            f"repeat, or name it with --by; its columns are {table.listed()}"
        )
    left = [table.name(k) for k in others if k not in found]
    return found, [f"{table.title}: columns that hold no groups are not used ({', '.join(left[:8])})"] if left else []


def _repeats(cells: Names) -> bool:
    """Whether a name occurs twice: groups of one node each are no groups."""
    codes = cells.codes[cells.codes >= 0]
    return len(np.unique(codes)) < len(codes)
