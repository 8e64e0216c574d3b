"""States of nodes from a file: long (a row for each node and time) or wide (a row for each time, or for each node)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support.wording import short
from ..data import read_dates
from . import column_names
from .cells import Names
from .files import open_table
from .refusals import refuse
from .state_layout import NO_ROWS, Layout, StateColumns, find_layout
from .table import HeaderHint, Table, refuse_unnamed
from .time_columns import Times, read_times, time_role, times_of

MOST_VARIABLES = 1000  # above this, a column that should name variables is rather that of the nodes


@dataclass(frozen=True)
class Observations:
    """N rows: a node, a time, a run and d values.

    Attributes:
        title: the name of the file.
        nodes: names of nodes, each once.
        node: positions in ``nodes``, shape (N,).
        time: shape (N,).
        runs, run: names of runs, and positions among them, shape (N,); one run called "" where the file has none.
        features: names of the values.
        values: shape (N, d), NaN where missing.
        notes: what was understood.
        place: where a row is in the file, for messages.
        whole: whether these are all nodes in an order that means something (the columns of a wide table).
    """

    title: str
    nodes: list[str]
    node: np.ndarray
    time: Times
    runs: list[str]
    run: np.ndarray
    features: list[str]
    values: np.ndarray
    notes: tuple[str, ...]
    place: Callable[[int], str]
    whole: bool = False


def read_states(source: Any, known: Sequence[str], asked: StateColumns, unnamed: bool = False) -> Observations:
    """Observations from a file or a pandas table.

    Args:
        source: see ``open_table``, which says what this raises.
        known: names of the nodes of the edges, by which columns of names are recognised.
        asked: columns that the user named.
        unnamed: whether these names are only places in a matrix.
    """
    table = open_table(source, "states", HeaderHint(column_names.STATES, missing=asked.missing, decimal=asked.decimal))
    layout = find_layout(table, known, asked, unnamed)
    read = {"long": _long, "wide": _wide, "transposed": _transposed}[layout.kind]
    return read(table, layout, asked)


def _long(table: Table, layout: Layout, asked: StateColumns) -> Observations:
    node, time, notes = layout.node, layout.time, [*layout.notes]
    assert node is not None
    assert time is not None
    loaded, when = _load(table, layout, time, asked, notes)
    rows = _complete(table, loaded[node], when, (node, time), notes)
    if rows is not None:
        when = Times(when.values[rows], when.tz)
        loaded = {k: column[rows] for k, column in loaded.items()}

    def place(row: int) -> str:
        return table.place(int(row if rows is None else rows[row]))

    names: Names = loaded[node]
    runs, run = _runs(loaded, layout, len(names))
    values = np.stack([loaded[k] for k in layout.values], axis=1)
    only = len(layout.values) == 1
    heads = [table.columns[k].strip() for k in layout.values]
    features = [head or ("x" if only else f"x{j}") for j, head in enumerate(heads, start=1)]
    if layout.variable is not None:
        values, features = _spread(table, layout.variable, loaded[layout.variable], values)
    if not len(values):
        raise ValueError(NO_ROWS.format(table.title, "node and time"))
    notes = [*table.notes, *notes]
    return Observations(table.title, names.labels, names.codes, when, runs, run, features, values, tuple(notes), place)


def _load(
    table: Table, layout: Layout, time: int, asked: StateColumns, notes: list[str]
) -> tuple[dict[int, Any], Times]:
    """All columns of the layout, and the times."""
    roles = {time: time_role(table, time, asked.date_format), **dict.fromkeys(layout.values, "number")}
    roles |= {k: "name" for k in (layout.node, layout.run, layout.variable) if k is not None}
    loaded = table.load(roles)
    if isinstance(loaded[time], Names):
        _empty_totals(table, loaded, time, notes)
    return loaded, read_times(table, time, loaded[time], asked.date_format, notes)


def _empty_totals(table: Table, loaded: dict[int, Any], time: int, notes: list[str]) -> None:
    """Empty the rows that are called "Total" where others have a time: they are not observations."""
    names: Names = loaded[time]
    codes = [code for code, label in enumerate(names.labels) if column_names.is_total(label)]
    rows = np.flatnonzero(np.isin(names.codes, codes))
    if not len(rows):
        return
    where = ", ".join(table.places(rows[:3].tolist()))
    notes.append(f"{table.title}: {names.labels[codes[0]]!r} is no time ({where}); what adds up the others is left out")
    for k, column in loaded.items():
        if isinstance(column, Names):
            emptied = column.codes.copy()
            emptied[rows] = -1
            labels = ["" if k == time and code in codes else label for code, label in enumerate(column.labels)]
            loaded[k] = Names(emptied, labels)
        else:
            column[rows] = np.nan


def _runs(loaded: dict[int, Any], layout: Layout, count: int) -> tuple[list[str], np.ndarray]:
    """The names of runs, and which one each of ``count`` rows belongs to; rows without one are a run of their own."""
    if layout.run is None:
        return [""], np.zeros(count, dtype=np.int32)
    column: Names = loaded[layout.run]
    return [*column.labels, ""], np.where(column.codes < 0, len(column.labels), column.codes)


def _spread(table: Table, k: int, variable: Names, values: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """A column for each variable, where a column says which one a row is about."""
    codes = variable.codes
    if (codes < 0).any():
        row = int(np.flatnonzero(codes < 0)[0])
        raise ValueError(f"{table.place(row)}: column {table.name(k)} must name a variable and is empty")
    if len(variable.labels) > MOST_VARIABLES:
        many = f"{table.title}: column {table.name(k)} names {len(variable.labels)} variables"
        raise ValueError(f"{many}; is it the column of nodes? Name that with --node")
    out = np.full((len(values), len(variable.labels)), np.nan)
    out[np.arange(len(values)), codes] = values[:, 0]
    return out, list(variable.labels)


def _complete(table: Table, names: Names, when: Times, places: tuple[int, int], notes: list[str]) -> np.ndarray | None:
    """Rows that have node and time; None for all. Rows that have neither are left out, others refused."""
    no_node, no_time = names.codes < 0, when.missing
    if not (no_node.any() or no_time.any()):
        return None
    half = table.unrefused(places[1], np.flatnonzero(no_node ^ no_time))
    if len(half):
        word, k = ("node", places[0]) if no_node[half[0]] else ("time", places[1])
        where = f"{table.place(int(half[0]))}: the {word} is missing in column {table.name(k)}"
        refuse(f"{where} ({len(half)} such rows in all); fill it in or drop the row")
    else:
        notes.append(f"{table.title}: {int(no_node.sum())} empty rows are left out")
    return np.flatnonzero(~(no_node | no_time))


def _wide(table: Table, layout: Layout, asked: StateColumns) -> Observations:
    time, notes = layout.time, [*layout.notes]
    assert time is not None
    loaded, when = _load(table, layout, time, asked, notes)
    blank = when.missing
    rows = np.flatnonzero(~blank)
    if blank.any():
        filled = np.isfinite(np.stack([loaded[k][blank] for k in layout.values])).any(axis=0)
        half = table.unrefused(time, np.flatnonzero(blank)[filled])
        if len(half):
            where = table.place(int(half[0]))
            refuse(f"{where}: the time is missing in column {table.name(time)}; fill it in or drop the row")
        notes.append(f"{table.title}: {int(blank.sum())} empty rows are left out")
    if not len(rows):
        raise ValueError(NO_ROWS.format(table.title, "time"))
    loaded = {k: column[rows] for k, column in loaded.items()}
    nodes, features = (list(dict.fromkeys(names)) for names in zip(*layout.pairs, strict=True))
    T, n, d = len(rows), len(nodes), len(features)
    cube, index = np.full((T, n, d), np.nan), {name: k for k, name in enumerate(nodes)}
    for k, (name, variable) in zip(layout.values, layout.pairs, strict=True):
        cube[:, index[name], features.index(variable)] = loaded[k]
    runs, run = _runs(loaded, layout, T)
    return Observations(
        table.title,
        nodes,
        np.tile(np.arange(n, dtype=np.int32), T),
        Times(np.repeat(when.values[rows], n), when.tz),
        runs,
        np.repeat(run, n),
        features,
        cube.reshape(T * n, d),
        (*table.notes, *notes),
        lambda cell: f"{table.place(int(rows[cell // n]))}, column {short(nodes[cell % n])}",
        whole=True,
    )


def _transposed(table: Table, layout: Layout, asked: StateColumns) -> Observations:
    node, notes = layout.node, [*layout.notes]
    assert node is not None
    loaded = table.load({node: "name", **dict.fromkeys(layout.values, "number")})
    names: Names = loaded[node]
    if (names.codes < 0).any():
        refuse_unnamed(table, node, np.flatnonzero(names.codes < 0))
    kept = np.flatnonzero(names.codes >= 0)
    names, loaded = names[kept], {k: loaded[k][kept] for k in layout.values}
    heads = [table.columns[k] for k in layout.values]
    numbers = [table.number(head) for head in heads]
    if None not in numbers:
        when = times_of(np.array(numbers, dtype=np.float64), f"{table.title}: the header", notes)
    else:
        dates = read_dates(heads, f"{table.title}: the header", form=asked.date_format)
        notes += dates.notes
        when = Times(dates.when, dates.tz)
    N, T = len(names), len(heads)
    if not N:
        raise ValueError(NO_ROWS.format(table.title, "node"))
    return Observations(
        table.title,
        names.labels,
        np.repeat(names.codes, T),
        Times(np.tile(when.values, N), when.tz),
        [""],
        np.zeros(N * T, dtype=np.int32),
        ["x"],
        np.stack([loaded[k] for k in layout.values], axis=1).reshape(N * T, 1),
        (*table.notes, *notes),
        lambda cell: f"{table.place(int(kept[cell // T]))}, column {short(heads[cell % T])}",
    )
