"""A table with a row for each node: where the nodes are, and numbers of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._support.wording import counted, some
from ..graph import Graph, projected
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
        positions: shape (n, 2), x to the right and y upwards, NaN where the table has none; None without coordinates.
        attributes: other columns that hold numbers, shape (n,) each, NaN where the table has none.
        notes: what was understood.
    """

    positions: np.ndarray | None
    attributes: dict[str, np.ndarray]
    notes: list[str]

    def on(self, graph: Graph) -> Graph:
        """The graph with what is known of its nodes."""
        placed = graph if self.positions is None else graph.with_positions(self.positions)
        return placed.with_attributes(self.attributes) if self.attributes else placed


def read_nodes(source: Any, labels: Sequence[Any]) -> NodeTable:
    """Coordinates of these nodes, from columns ``lat`` and ``lon`` in degrees, or ``x`` and ``y`` in any unit; other numbers are attributes.

    Args:
        source: a file or a pandas table; ``latitude``, ``longitude`` and ``lng`` are understood too. Columns of texts and dates are
            left aside, and rows of other nodes.
        labels: of the nodes, in order.

    Raises:
        FileNotFoundError, TypeError: see ``open_table``.
        ValueError: there are no numbers, none of the nodes, a node or a column twice, or degrees out of range.
    """
    table = open_table(source, "nodes", HINT)
    names = {str(label): k for k, label in enumerate(labels)}
    place = node_column(table, names)
    where = _coordinates(table, place)
    others = [k for k in range(len(table.columns)) if k != place and k not in where[:2]]
    numeric = [k for k in others if table.columns[k] and table.kind(k) == "number"]
    if not numeric and not where:
        raise ValueError(
            f"{table.title} has neither coordinates nor other numbers of nodes: call two columns lat and lon (degrees), or x and y, or "
            f"add columns of numbers such as population; its columns are {table.listed()}"
        )
    roles: dict[int, str] = {place: "name", **dict.fromkeys((*where[:2], *numeric), "number")}
    loaded = table.load(roles)
    cells = loaded[place]
    if (cells.codes < 0).any():
        refuse_unnamed(table, place, np.flatnonzero(cells.codes < 0))
    row = node_rows(table, cells, names)
    notes = list(table.notes)
    if strange := sorted({label for label in cells.labels if plain(label) not in names}):
        said = "that is no node of the data is" if len(strange) == 1 else "that are no nodes of the data are"
        notes.append(f"{table.title}: {counted(len(strange), 'name')} {said} left out: {some(strange)}")
    positions = None
    if where:
        across, up, degrees = where
        positions = _positions(table, row, (across, up), (loaded[across], loaded[up]), degrees=degrees)
        notes.append(f"{table.title}: nodes are placed by columns {table.name(across)} and {table.name(up)}")
        if lost := [
            label for label, known in zip(labels, np.isfinite(positions).all(axis=1), strict=True) if not known
        ]:
            notes.append(
                f"{table.title}: {counted(len(lost), 'node')} without coordinates, drawn near neighbours: {some(lost)}"
            )
    attributes: dict[str, np.ndarray] = {}
    for k in numeric:
        name = table.columns[k]
        if name in attributes:
            raise ValueError(f"{table.title} has two columns {name!r}: rename or drop one of them")
        if len(bad := np.flatnonzero(np.isinf(loaded[k]))):
            raise ValueError(
                f"{table.place(int(bad[0]))}: column {table.name(k)} is infinite; leave unknown cells empty"
            )
        attributes[name] = np.where(row >= 0, loaded[k][row], np.nan)
        if lost := [label for label, value in zip(labels, attributes[name], strict=True) if np.isnan(value)]:
            notes.append(f"{table.title}: {name!r} is not known of {counted(len(lost), 'node')}: {some(lost)}")
    if attributes:
        notes.append(f"{table.title}: attributes of nodes are {', '.join(map(repr, attributes))}")
    if left := [table.name(k) for k in others if k not in numeric]:
        notes.append(f"{table.title}: columns without numbers are not used ({', '.join(left[:8])})")
    return NodeTable(positions, attributes, notes)


def _positions(
    table: Table, row: np.ndarray, columns: tuple[int, int], values: tuple[np.ndarray, np.ndarray], *, degrees: bool
) -> np.ndarray:
    """Places of nodes in the plane, (n, 2)."""
    for k, numbers, most in zip(columns, values, (360.0, 90.0), strict=True) if degrees else ():
        bad = np.flatnonzero(np.abs(numbers) > most)
        if len(bad):
            said = f"{table.place(int(bad[0]))}: column {table.name(k)} is {numbers[bad[0]]:g}"
            raise ValueError(
                f"{said}, and degrees lie between -{most:g} and {most:g}; rename columns of another unit x and y"
            )
    pairs = np.full((len(row), 2), np.nan)
    pairs[row >= 0] = np.stack(values, axis=1)[row[row >= 0]]
    pairs[~np.isfinite(pairs).all(axis=1)] = np.nan
    return projected(pairs[:, 1], pairs[:, 0]) if degrees else pairs


def node_column(table: Table, names: dict[str, int]) -> int:
    """The column that holds most names of nodes; one called so where several do."""
    named = [k for k, name in enumerate(table.columns) if column_names.find([name], column_names.NODE) is not None]
    return max((*named, *range(len(table.columns))), key=lambda k: table.share_of_names(k, names))


def _coordinates(table: Table, place: int) -> tuple[int, int, bool] | tuple[()]:
    """Columns of x and y, and whether they are degrees; nothing where there are none."""
    for x_names, y_names, degrees in ((LONGITUDE, LATITUDE, True), ({"x"}, {"y"}, False)):
        x, y = (column_names.find(table.columns, usual, taken=[place]) for usual in (x_names, y_names))
        if x is not None and y is not None:
            return x, y, degrees
    return ()


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
