"""A table of inputs u(t): a column for each, with a row for each time, or for each time and node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from .._support.wording import counted, some
from ..data import BETWEEN, Calendar, Driver, Inputs
from . import column_names
from .cells import Names, plain
from .files import open_table
from .node_table import node_column
from .table import HeaderHint, Table, refuse_unnamed
from .time_columns import Times, read_times, time_role

HINT = HeaderHint(column_names.TIME | column_names.NODE)
# A column of at most so many different values is a switch, which holds them; a measured quantity has more in the rows that a fit needs.
LEVELS_OF_A_SWITCH = 3


class InputTable(NamedTuple):
    """Inputs of a file, and what was understood."""

    inputs: Inputs
    notes: list[str]


def read_inputs(
    source: Any,
    labels: Sequence[Any],
    calendar: Calendar | None,
    *,
    between: str | Mapping[str, str] | None = None,
    date_format: str | None = None,
    decimal: str = "",
) -> InputTable:
    """Inputs from a file or a pandas table, on the clock of the states.

    Args:
        source: wide, a column of times and one for each input that all nodes have in common; or long, with a column of
            nodes too, for inputs that each node has for itself.
        labels: of the nodes, in order.
        calendar: that of the states; None where their times are numbers.
        between: "held", "linear", or one of them for each name; by default held for columns with at most three different
            values, linear for others.
        date_format: how dates are written, as in ``"%d.%m.%Y"``; found out by default.
        decimal: the decimal mark; found out by default.

    Raises:
        FileNotFoundError, TypeError: see ``open_table``.
        ValueError: no times, no numbers, a time twice, nodes that are not in the data or are missing.
    """
    if isinstance(between, str) and between not in BETWEEN:
        raise ValueError(f'between must be "held" or "linear", got {between!r}')
    table = open_table(source, "inputs", HeaderHint(HINT.names, decimal=decimal))
    clock = column_names.find(table.columns, column_names.TIME)
    clock = 0 if clock is None else clock
    names = {str(label): k for k, label in enumerate(labels)}
    node = _node_column(table, clock, names)
    columns = [k for k in range(len(table.columns)) if k not in (clock, node) and table.kind(k) in ("number", "empty")]
    notes = [*table.notes]
    if not columns:
        raise ValueError(
            f"{table.title} has no column of numbers besides the times ({table.listed()}): give a column for each input"
        )
    others = [table.name(k) for k in range(len(table.columns)) if k not in (clock, node, *columns)]
    notes += [f"{table.title}: columns that hold no numbers are not used ({', '.join(others[:8])})"] if others else []
    if node is None and (alike := [table.columns[k].strip() for k in columns if table.columns[k].strip() in names]):
        notes.append(
            f"{table.title}: columns are called like nodes ({some(alike)}), and each is taken as an input that acts on all nodes; for an input of each "
            "node write a row for each time and node, with a column of nodes"
        )
    roles = {clock: time_role(table, clock, date_format)} | dict.fromkeys(columns, "number")
    loaded = table.load(roles if node is None else roles | {node: "name"})
    when = _times(table, read_times(table, clock, loaded[clock], date_format, notes), clock, calendar)
    drivers = []
    for k in columns:
        if node is None:
            times, values = _common(table, k, when, loaded[k], notes)
        else:
            times, values = _of_each(table, k, (when, loaded[node], node), loaded[k], names, notes)
        name = table.columns[k].strip() or f"u{columns.index(k) + 1}"
        asked = between.get(name) if isinstance(between, Mapping) else between
        how = asked or ("held" if len(np.unique(values)) <= LEVELS_OF_A_SWITCH else "linear")
        if np.ptp(values, axis=0).max() == 0:
            notes.append(
                f"{table.title}: the input {name!r} is constant, so its effect cannot be told from that of a constant"
            )
        kept = {name: torch.from_numpy(values if node is not None else values[:, 0])}
        drivers.append(Inputs(torch.from_numpy(times), kept, between=how).drivers[0])
    notes.append(f"{table.title}: {_described(drivers, node is not None)}")
    return InputTable(Inputs.of(drivers), notes)


def _described(drivers: Sequence[Driver], each: bool) -> str:
    ways = {"held": "held until the next time", "linear": "linear between times"}
    listed = "; ".join(f"{one.name}, {ways[one.between]}" for one in drivers)
    return f"{counted(len(drivers), 'input')}{' of each node' if each else ' for all nodes in common'}: {listed}"


def _node_column(table: Table, clock: int, names: dict[str, int]) -> int | None:
    """The column of nodes; None where there is none.

    Raises:
        ValueError: one is called so, and holds other names.
    """
    named = column_names.find(table.columns, column_names.NODE, taken=[clock])
    best = node_column(table, names)
    if best != clock and 2 * table.share_of_names(best, names) > 1 and table.kind(best) != "number":
        return best
    if named is None or not table.share_of_names(named, names):
        if named is not None and table.kind(named) == "text":
            raise ValueError(
                f"{table.title}: column {table.name(named)} holds {some(table.sample(named))}, and none of them is a node of the "
                f"data, which has {some(list(names))}"
            )
        return None
    return named


def _times(table: Table, times: Times, clock: int, calendar: Calendar | None) -> np.ndarray:
    """On the clock of the states."""
    dated = calendar is not None and calendar.dated
    if times.missing.any():
        row = int(np.flatnonzero(times.missing)[0])
        raise ValueError(f"{table.place(row)}: there is no time in column {table.name(clock)}")
    if times.dated != dated:
        kinds = ["dates" if one else "numbers" for one in (times.dated, dated)]
        raise ValueError(f"{table.title} has {kinds[0]} as times and the states have {kinds[1]}: write both in one way")
    return np.asarray(times.values if calendar is None else calendar.numbers(times.values), dtype=np.float64)


def _common(
    table: Table, k: int, when: np.ndarray, values: np.ndarray, notes: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Times and values (K, 1) of an input that all nodes have in common."""
    order = np.argsort(when, kind="stable")
    twice = np.flatnonzero(np.diff(when[order]) == 0)
    if len(twice):
        raise ValueError(
            f"{table.place(int(order[twice[0] + 1]))}: this time has a row already ({table.place(int(order[twice[0]]))}); keep one "
            "row for each time, or add a column with the node"
        )
    known = np.isfinite(values[order])
    _tell_gaps(table, k, int((~known).sum()), len(known), notes)
    return when[order][known], values[order][known][:, None]


def _of_each(
    table: Table,
    k: int,
    rows: tuple[np.ndarray, Names, int],
    values: np.ndarray,
    names: dict[str, int],
    notes: list[str],
) -> tuple[np.ndarray, np.ndarray]:
    """Times and values (K, n) of an input of each node."""
    when, cells, column = rows
    if (cells.codes < 0).any():
        refuse_unnamed(table, column, np.flatnonzero(cells.codes < 0))
    place = np.array([names.get(plain(label), -1) for label in cells.labels])[cells.codes]
    strange = sorted({cells.labels[c] for c in cells.codes[place < 0]})
    if strange:
        note = f"{table.title}: {counted(len(strange), 'name')} that are no nodes of the data are left out: {some(strange)}"
        notes += [note] if note not in notes else []
    times = np.unique(when)
    grid = np.full((len(times), len(names)), np.nan)
    used = (place >= 0) & np.isfinite(values)
    cell = np.searchsorted(times, when[used]) * len(names) + place[used]
    if len(np.unique(cell)) < len(cell):
        raise ValueError(f"{table.title}: a node has two values of {table.name(k)} at one time; keep one row each")
    grid.reshape(-1)[cell] = values[used]
    absent = [label for label, seen in zip(names, np.isfinite(grid).any(axis=0), strict=True) if not seen]
    if absent:
        raise ValueError(
            f"{table.title}: {counted(len(absent), 'node')} without any value of {table.name(k)}: {some(absent)}; an input of each node is "
            "needed for all of them"
        )
    missing = int((~np.isfinite(grid)).sum())
    _tell_gaps(table, k, missing, grid.size, notes)
    if missing:
        for i in range(len(names)):
            seen = np.isfinite(grid[:, i])
            grid[:, i] = np.interp(times, times[seen], grid[seen, i])
    return times, grid


def _tell_gaps(table: Table, k: int, missing: int, count: int, notes: list[str]) -> None:
    if missing == count:
        raise ValueError(f"{table.title}: column {table.name(k)} has no numbers; remove it, or fill it in")
    if missing:
        notes.append(
            f"{table.title}: {counted(missing, 'cell')} of {table.name(k)} ({100 * missing / count:.2g} %) are empty and bridged from "
            "the values around them"
        )
