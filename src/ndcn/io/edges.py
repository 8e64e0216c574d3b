"""Edges from a file of any common format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from . import graph_files, words
from .columns import Names, plain
from .edge_list import EdgeList
from .opening import open_table
from .table import PARQUET, TEXTS, Table, check_file, ending
from .times import read_times, time_role

GRAPHS = (".graphml", ".gml", ".json", ".npz", ".mtx")
FORMATS = (*TEXTS, *PARQUET, *GRAPHS)


def read_edges(
    source: Any,
    *,
    columns: Mapping[str, str | None] | None = None,
    date_format: str | None = None,
    use_time: bool = True,
    headless: bool = False,
) -> EdgeList:
    """Edges from a file, a pandas table, a networkx graph, a scipy matrix or an ``ndcn.Graph``.

    Args:
        source: CSV, TSV and other text, Parquet, GraphML, GML, JSON (node-link), npz (scipy), Matrix Market; or an object.
        columns: of tables, the names of the columns ``source``, ``target``, ``weight`` and ``time``, where they are not
            to be found out.
        date_format: how dates are written.
        use_time: whether a column of times makes a graph for each time.
        headless: that a text file has no header, where it is known.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it cannot be read; the message says where and what to do.
    """
    if not isinstance(source, (str, Path)):
        found = graph_files.from_object(source)
        if found is not None:
            return found
        table = open_table(source, words.EDGES, "edges")
    else:
        path = check_file(source, "edges", FORMATS)
        if ending(path) in GRAPHS:
            return graph_files.read(path)
        table = open_table(path, words.EDGES, "edges", headless=headless)
    return _from_table(table, dict(columns or {}), date_format, use_time)


def _from_table(table: Table, asked: dict[str, str | None], date_format: str | None, use_time: bool) -> EdgeList:
    notes: list[str] = []
    chosen = {role: words.named(table.columns, name, table.title, f"--{role}") for role, name in asked.items() if name}
    if not chosen and (matrix := graph_files.from_matrix_table(table)) is not None:
        return matrix
    places = _places(table, chosen, use_time, notes)
    source, target, weight, time = (places.get(role) for role in ("source", "target", "weight", "time"))
    assert source is not None
    assert target is not None
    kind = words.find(table.columns, words.KIND, taken=[k for k in places.values() if k is not None])
    roles = {source: "name", target: "name"}
    if weight is not None:
        roles[weight] = "number"
    if time is not None:
        roles[time] = time_role(table, time, date_format)
    if kind is not None:
        roles[kind] = "name"
    loaded = table.load(roles)
    u, v = loaded[source], loaded[target]
    rows = _complete(table, u, v, (source, target), notes)
    labels, a, b = _joined(u, v)
    if rows is not None:
        a, b = a[rows], b[rows]
        loaded = {k: Names(x.codes[rows], x.labels) if isinstance(x, Names) else x[rows] for k, x in loaded.items()}

    def place(edge: int) -> str:
        return table.place(int(edge if rows is None else rows[edge]))

    if not len(a):
        raise ValueError(
            f"{table.title} holds no edges, only a header; expected a line for each edge: source, target, weight"
        )
    values = np.ones(len(a)) if weight is None else loaded[weight]
    if weight is not None:
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise ValueError(
                f"{table.title}: column {table.name(weight)} has no finite weight in {len(bad)} rows, the first at "
                f"{place(int(bad[0]))}; give these edges a weight, drop them, or choose another column (--weight)"
            )
    when = None
    if time is not None:
        when = read_times(table, time, loaded[time], date_format, notes)
        if when.missing.any():
            row = int(np.flatnonzero(when.missing)[0])
            raise ValueError(
                f"{place(row)}: the edge has no time in column {table.name(time)}; fill it in or drop the row"
            )
    return EdgeList(
        title=table.title,
        labels=labels,
        source=a,
        target=b,
        weight=values,
        weighted=weight is not None,
        directed=None if kind is None else _says_directed(loaded[kind]),
        time=when,
        notes=(*table.notes, *notes),
        place=place,
        heading=_heading(table, source, target) if not asked.get("source") and not asked.get("target") else None,
    )


def _heading(table: Table, source: int, target: int) -> tuple[str, str] | None:
    heads = [table.columns[k] for k in (source, target)]
    odd = words.find(heads, words.SOURCE | words.TARGET) is None
    return (plain(heads[0]), plain(heads[1])) if table.headed and odd else None


def _places(table: Table, chosen: dict[str, int], use_time: bool, notes: list[str]) -> dict[str, int | None]:
    """Which column is what: as asked, by name, or by place."""
    columns = table.columns
    found: dict[str, int | None] = {role: chosen.get(role) for role in ("source", "target", "weight", "time")}
    lower = [column.strip().lower() for column in columns]
    if not chosen and table.headed and "s" in lower and "t" in lower and words.find(columns, words.TARGET) is None:
        found["source"], found["target"] = lower.index("s"), lower.index("t")  # and not a time
    taken = [k for k in found.values() if k is not None]
    for role, known in (("source", words.SOURCE), ("target", words.TARGET), ("time", words.TIME)):
        if found[role] is None and (role != "time" or (use_time and len(columns) > 2)) and table.headed:
            found[role] = column = words.find(columns, known, taken=taken)
            taken += [] if column is None else [column]
    by_place = [role for role in ("source", "target") if found[role] is None]
    for role in by_place:
        heads = [column.strip().lower() for column in columns]
        free = [k for k in range(len(columns)) if k not in taken and heads[k] not in words.WEIGHT]
        if table.headed:
            free = [k for k in free if heads[k] not in words.INDEX]
        if not free:
            raise ValueError(
                f"{table.title} has {len(columns)} columns, and no one is left for the {role} of edges; expected source, "
                "target and perhaps weight; name them with --source and --target"
            )
        found[role] = free[0]
        taken.append(free[0])
    if found["weight"] is None:
        found["weight"] = _weight(table, taken, notes)
    said = [f"{role} {table.name(k)}" for role, k in found.items() if k is not None]
    how = "" if not by_place else f", by place{'' if table.headed else ' as there is no header'}"
    notes.append(f"{table.title}: columns of edges are {', '.join(said)}{how}; the source acts on the target")
    return found


def _weight(table: Table, taken: list[int], notes: list[str]) -> int | None:
    known = words.find(table.columns, words.WEIGHT, taken=taken)
    if known is not None and table.kind(known) != "text":
        return known
    kinds = words.find(table.columns, words.KIND, taken=taken)
    count = ("id", *words.INDEX) if table.headed else ()
    left = [
        k for k in range(len(table.columns)) if k not in taken and k != kinds and table.columns[k].lower() not in count
    ]
    numeric = [k for k in left if table.kind(k) == "number" and table.columns[k].lower() not in words.TIME]
    ignored = [table.name(k) for k in left if k not in numeric[:1] or len(numeric) > 1]
    if ignored:
        notes.append(
            f"{table.title}: columns {', '.join(ignored[:8])} are not used (--weight names the one of weights)"
        )
    return numeric[0] if len(numeric) == 1 else None


def _complete(table: Table, u: Names, v: Names, places: tuple[int, int], notes: list[str]) -> np.ndarray | None:
    """Rows that name both nodes; None for all. Rows that name neither are left out, those that name one are refused."""
    no_u, no_v = u.codes < 0, v.codes < 0
    if not (no_u.any() or no_v.any()):
        return None
    half = np.flatnonzero(no_u ^ no_v)
    if len(half):
        column = places[0] if no_u[half[0]] else places[1]
        raise ValueError(
            f"{table.place(int(half[0]))}: column {table.name(column)} must name a node and is empty ({len(half)} such rows in "
            "all); fill it in or drop the row"
        )
    notes.append(f"{table.title}: {int(no_u.sum())} empty rows are left out")
    return np.flatnonzero(~no_u)


def _joined(u: Names, v: Names) -> tuple[list[str], np.ndarray, np.ndarray]:
    """One list of names for both columns."""
    place = {label: k for k, label in enumerate(u.labels)}
    to = np.array([place.setdefault(label, len(place)) for label in v.labels] + [-1], dtype=np.int32)
    return list(place), u.codes, to[v.codes]


def _says_directed(kind: Names) -> bool | None:
    """What a column "type" (Gephi's) or "directed" says."""
    said = {label.lower() for label in kind.labels}
    if said and said <= {"undirected", "false", "0", "no"}:
        return False
    return True if said and said <= {"directed", "undirected", "true", "false", "1", "0", "yes", "no"} else None
