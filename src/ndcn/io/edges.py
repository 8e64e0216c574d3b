"""read_edges: edges from a file of any format, or from an object."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._support.registries import GRAPH_FORMATS, TABLE_FORMATS
from . import column_names
from .cells import Names, plain
from .edge_list import EdgeList, from_matrix_table, from_object
from .files import check_file, ending, open_table
from .refusals import refuse
from .table import HeaderHint, Table, refuse_unnamed
from .time_columns import read_times, time_role

ROLES = ("source", "target", "weight", "time")
CERTAIN = ("weight", "weights")  # headings that mean weights even where the column holds text: that is refused


def read_edges(
    source: Any,
    *,
    columns: Mapping[str, str | None] | None = None,
    date_format: str | None = None,
    use_time: bool = True,
    headless: bool = False,
    decimal: str = "",
) -> EdgeList:
    """Edges from a file, a pandas table, a networkx graph, a scipy matrix or an ``ndcn.Graph``.

    Args:
        source: a file or an object.
        columns: names of the columns ``source``, ``target``, ``weight`` and ``time`` of a table; None to detect one.
        date_format: how dates are written.
        use_time: whether a column of times makes a graph for each time.
        headless: whether a text file is known to have no header.
        decimal: the decimal mark of a text file; empty to find it out.

    Raises:
        FileNotFoundError: there is no such file.
        TypeError: the source is neither a file name nor such an object.
        ValueError: it cannot be read; the message says where and what to do.
    """
    if isinstance(source, (str, Path)):
        path = check_file(source, "edges", {*TABLE_FORMATS, *GRAPH_FORMATS})
        if ending(path) in GRAPH_FORMATS:
            edges: EdgeList = GRAPH_FORMATS[ending(path)](path)
            return edges
    elif (found := from_object(source)) is not None:
        return found
    table = open_table(source, "edges", HeaderHint(column_names.EDGES, headless, decimal=decimal))
    asked = {role: name for role, name in (columns or {}).items() if name}
    chosen = {role: column_names.chosen(table.columns, name, table.title, f"--{role}") for role, name in asked.items()}
    if not chosen and (matrix := from_matrix_table(table)) is not None:
        return matrix
    return _from_table(table, chosen, date_format, use_time)


def _from_table(table: Table, chosen: dict[str, int], date_format: str | None, use_time: bool) -> EdgeList:
    notes: list[str] = []
    columns = _columns(table, chosen, use_time, notes)
    source, target = columns["source"], columns["target"]
    weight, time = columns.get("weight"), columns.get("time")
    kind = column_names.find(table.columns, column_names.KIND, taken=list(columns.values()))
    roles = {source: "name", target: "name"}
    roles |= {} if weight is None else {weight: "number"}
    roles |= {} if time is None else {time: time_role(table, time, date_format)}
    roles |= {} if kind is None else {kind: "name"}
    loaded = table.load(roles)
    rows = _complete(table, loaded, (source, target), notes)
    if rows is not None:
        loaded = {k: x[rows] for k, x in loaded.items()}
    u, v = loaded[source], loaded[target]
    position = {label: k for k, label in enumerate(u.labels)}  # one list of names for both columns
    to = np.array([position.setdefault(label, len(position)) for label in v.labels] + [-1], dtype=np.int32)
    if not len(u):
        raise ValueError(f"{table.title} holds no edges, only a header; expected lines of source, target, weight")

    def place(edge: int) -> str:
        return table.place(int(edge if rows is None else rows[edge]))

    values = np.ones(len(u)) if weight is None else loaded[weight]
    finite = np.isfinite(values)
    if weight is not None and not finite.all():
        every = np.arange(len(values)) if rows is None else rows
        bad = table.unrefused(weight, every[~finite])
        if len(bad):
            refuse(
                f"{table.title}: column {table.name(weight)} has no finite weight in {len(bad)} rows, the first at "
                f"{table.place(int(bad[0]))}; give these edges a weight, drop them, or choose another column (--weight)"
            )
        values = np.where(finite, values, 1.0)
    when = None if time is None else read_times(table, time, loaded[time], date_format, notes)
    if when is not None and time is not None and when.missing.any():
        if time not in table.faulty:
            row = int(np.flatnonzero(when.missing)[0])
            refuse(f"{place(row)}: the edge has no time in column {table.name(time)}; fill it in or drop the row")
        when = None
    heads = [table.columns[source], table.columns[target]]
    unusual = table.headed and column_names.find(heads, column_names.SOURCE | column_names.TARGET) is None
    asked = "source" in chosen or "target" in chosen
    left = [table.name(k) for k in _others(table, {*columns.values(), kind})]
    unused = f"{table.title}: columns {', '.join(left[:8])} are not used (--weight names the one of weights)"
    return EdgeList(
        table.title,
        list(position),
        u.codes,
        to[v.codes],
        values,
        weighted=weight is not None,
        directed=None if kind is None else _declares_directed(loaded[kind]),
        time=when,
        unused=unused if left else "",
        notes=(*table.notes, *notes),
        place=place,
        heading=(plain(heads[0]), plain(heads[1])) if unusual and not asked else None,
    )


def _columns(table: Table, chosen: dict[str, int], use_time: bool, notes: list[str]) -> dict[str, int]:
    """Which column has which role: as the user says, by its name, or by its position."""
    found = dict(chosen)
    lower = [column.strip().lower() for column in table.columns]
    s_and_t = table.headed and {"s", "t"} <= set(lower)
    if not chosen and s_and_t and column_names.find(table.columns, column_names.TARGET) is None:
        found = {"source": lower.index("s"), "target": lower.index("t")}  # here t is no time
    known = {"source": column_names.SOURCE, "target": column_names.TARGET}
    if use_time and len(lower) > 2:
        known["time"] = column_names.TIME
    for role, names in known.items():
        if table.headed and role not in found:
            column = column_names.find(table.columns, names, taken=list(found.values()))
            found |= {} if column is None else {role: column}
    by_position = [role for role in ("source", "target") if role not in found]
    passed_over = (*column_names.WEIGHT, *(column_names.INDEX if table.headed else ()))
    for role in by_position:
        free = [k for k in range(len(lower)) if k not in found.values() and lower[k] not in passed_over]
        if not free:
            raise ValueError(
                f"{table.title} has {len(lower)} columns, and none is left for the {role} of edges; expected source, "
                "target and perhaps weight; name them with --source and --target"
            )
        found[role] = free[0]
    if "weight" not in found and (weight := _weight(table, list(found.values()))) is not None:
        found["weight"] = weight
    roles = [f"{role} {table.name(found[role])}" for role in ROLES if role in found]
    how = "" if not by_position else f", by place{'' if table.headed else ' as there is no header'}"
    notes.append(f"{table.title}: columns of edges are {', '.join(roles)}{how}; the source acts on the target")
    return found


def _weight(table: Table, taken: list[int]) -> int | None:
    """The column of weights: one that is called so, else the only other column of numbers."""
    known = column_names.find(table.columns, column_names.WEIGHT, taken=taken)
    if known is not None and (table.kind(known) != "text" or table.columns[known].strip().lower() in CERTAIN):
        return known
    others = [k for k in _others(table, taken) if table.columns[k].lower() not in column_names.TIME]
    numeric = [k for k in others if table.kind(k) == "number"]
    return numeric[0] if len(numeric) == 1 else None


def _others(table: Table, taken: Collection[int | None]) -> list[int]:
    """Columns that are left, without those that number the rows or say the kind of edges."""
    kind = column_names.find(table.columns, column_names.KIND, taken=[k for k in taken if k is not None])
    numbering = ("id", *column_names.INDEX) if table.headed else ()
    every = range(len(table.columns))
    return [k for k in every if k not in taken and k != kind and table.columns[k].lower() not in numbering]


def _complete(table: Table, loaded: dict[int, Any], ends: tuple[int, int], notes: list[str]) -> np.ndarray | None:
    """Rows that name both nodes; None for all. Rows that name neither are left out, those that name one are refused."""
    no_source, no_target = (loaded[k].codes < 0 for k in ends)
    if not (no_source.any() or no_target.any()):
        return None
    half = np.flatnonzero(no_source ^ no_target)
    if len(half):
        refuse_unnamed(table, ends[0] if no_source[half[0]] else ends[1], half)
    else:
        notes.append(f"{table.title}: {int(no_source.sum())} empty rows are left out")
    return np.flatnonzero(~(no_source | no_target))


def _declares_directed(kind: Names) -> bool | None:
    """Whether a column "type" (Gephi's) or "directed" says that all edges are directed, or none; None if it says neither."""
    said = {label.lower() for label in kind.labels}
    if said and said <= {"undirected", "false", "0", "no"}:
        return False
    return True if said and said <= {"directed", "undirected", "true", "false", "1", "0", "yes", "no"} else None
