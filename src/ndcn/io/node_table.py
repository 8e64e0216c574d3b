"""A table with a row for each node: where the nodes are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._support.wording import counted, some
from ..graph import projected
from . import column_names
from .cells import Names, plain
from .files import open_table
from .table import HeaderHint, Table, refuse_unnamed

LATITUDE = frozenset({"lat", "latitude"})
LONGITUDE = frozenset({"lon", "lng", "long", "longitude"})
HINT = HeaderHint(column_names.NODE | LATITUDE | LONGITUDE | {"x", "y"})


class NodeTable(NamedTuple):
    """What a table says about the nodes of a dataset.

    Attributes:
        positions: shape (n, 2), x to the right and y upwards; NaN where the table has none.
        notes: what was understood.
    """

    positions: np.ndarray
    notes: list[str]


def read_nodes(source: Any, labels: Sequence[Any]) -> NodeTable:
    """Coordinates of these nodes, from columns ``lat`` and ``lon`` in degrees, or ``x`` and ``y`` in any unit.

    Args:
        source: a file or a pandas table; ``latitude``, ``longitude`` and ``lng`` are understood too. Other columns are left
            aside, and rows of other nodes.
        labels: of the nodes, in order.

    Raises:
        FileNotFoundError, TypeError: see ``open_table``.
        ValueError: there are no coordinates, none of the nodes, a node twice, or degrees out of range.
    """
    table = open_table(source, "nodes", HINT)
    names = {str(label): k for k, label in enumerate(labels)}
    place = node_column(table, names)
    across, up, degrees = _coordinates(table, place)
    loaded = table.load({place: "name", across: "number", up: "number"})
    x, y, cells = loaded[across], loaded[up], loaded[place]
    if (cells.codes < 0).any():
        refuse_unnamed(table, place, np.flatnonzero(cells.codes < 0))
    row = node_rows(table, cells, names)
    for k, values, most in ((up, y, 90.0), (across, x, 360.0)) if degrees else ():
        bad = np.flatnonzero(np.abs(values) > most)
        if len(bad):
            said = f"{table.place(int(bad[0]))}: column {table.name(k)} is {values[bad[0]]:g}"
            raise ValueError(
                f"{said}, and degrees lie between -{most:g} and {most:g}; rename columns of another unit x and y"
            )
    pairs = np.full((len(labels), 2), np.nan)
    pairs[row >= 0] = np.stack([x, y], axis=1)[row[row >= 0]]
    pairs[~np.isfinite(pairs).all(axis=1)] = np.nan
    where = projected(pairs[:, 1], pairs[:, 0]) if degrees else pairs
    notes = [*table.notes, f"{table.title}: nodes are placed by columns {table.name(across)} and {table.name(up)}"]
    lost = [label for label, known in zip(labels, np.isfinite(where).all(axis=1), strict=True) if not known]
    if lost:
        notes.append(
            f"{table.title}: {counted(len(lost), 'node')} without coordinates, drawn near neighbours: {some(lost)}"
        )
    others = [table.name(k) for k in range(len(table.columns)) if k not in (place, across, up)]
    notes += [f"{table.title}: other columns are not used ({', '.join(others[:8])})"] if others else []
    return NodeTable(where, notes)


def node_column(table: Table, names: dict[str, int]) -> int:
    """The column that holds most names of nodes; one called so where several do."""
    named = [k for k, name in enumerate(table.columns) if column_names.find([name], column_names.NODE) is not None]
    return max((*named, *range(len(table.columns))), key=lambda k: table.share_of_names(k, names))


def _coordinates(table: Table, place: int) -> tuple[int, int, bool]:
    """Columns of x and y, and whether they are degrees."""
    for x_names, y_names, degrees in ((LONGITUDE, LATITUDE, True), ({"x"}, {"y"}, False)):
        x, y = (column_names.find(table.columns, usual, taken=[place]) for usual in (x_names, y_names))
        if x is not None and y is not None:
            return x, y, degrees
    raise ValueError(
        f"{table.title} has no coordinates: call two columns lat and lon (degrees), or x and y; its columns are {table.listed()}"
    )


def node_rows(table: Table, cells: Names, names: dict[str, int]) -> np.ndarray:
    """The row of each node, -1 where there is none."""
    row = np.full(len(names), -1)
    for k, code in enumerate(cells.codes.tolist()):
        node = names.get(plain(cells.labels[code]))
        if node is None:
            continue
        if row[node] >= 0:
            raise ValueError(
                f"{table.place(k)}: {cells.labels[code]!r} has a row already ({table.place(int(row[node]))}); keep one"
            )
        row[node] = k
    if (row < 0).all():
        raise ValueError(
            f"{table.title}: none of its names is a node of the data; they are {some(cells.labels)}, and the nodes {some(list(names))}"
        )
    return row
