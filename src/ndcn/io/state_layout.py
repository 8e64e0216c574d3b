"""Which column of a table of states holds what, and whether rows are observations, times or nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .._support.wording import some
from ..data import looks_like_dates
from . import column_names
from .cells import is_missing, is_whole, plain
from .table import Table

NO_ROWS = "{} holds no rows of states, only a header; expected a line for each {}"
# headings of numbers that are no values: what a row is about, or a part of its date
NO_VALUES = ("id", "node_id", "nodeid", "year", "month", "day", "week", "hour", "date", "datetime", "timestamp")


@dataclass(frozen=True)
class StateColumns:
    """What the user said of the columns, of dates, of missing values and of the decimal mark; None or "" to detect it."""

    node: str | None = None
    time: str | None = None
    values: Sequence[str] | None = None
    run: str | None = None
    date_format: str | None = None
    missing: Sequence[str] = ()
    decimal: str = ""


@dataclass(frozen=True)
class Layout:
    """What the columns are.

    Attributes:
        kind: "long" (a row for each node and time), "wide" (a row for each time, a column for each node) or "transposed"
            (a row for each node, a column for each time).
        node, time, run, variable: positions of columns; None where there is none.
        values: positions of the columns of values.
        pairs: in wide tables, the node and the variable of each of ``values``.
        notes: what was understood.
    """

    kind: str
    node: int | None
    time: int | None
    values: list[int]
    run: int | None = None
    variable: int | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


def find_layout(table: Table, known: Sequence[str], asked: StateColumns, unnamed: bool = False) -> Layout:
    """The layout of a table of states, recognised by the names of nodes in the edges, or their positions if unnamed.

    Raises:
        ValueError: no column is left for the node, the time or the values.
    """
    names = set(known)
    if not table.columns or not any(table.sample(k) for k in range(len(table.columns))):
        raise ValueError(NO_ROWS.format(table.title, "node and time"))
    if asked.node is None and asked.values is None:
        if not names and table.headed and _nothing_else(table):
            names = _headings(table, asked)
        if unnamed and (heads := _unnamed(table, asked, len(names))) is not None:
            names = names if set(heads) & names else set(heads)
        found = _wide(table, names, asked) or _transposed(table, names, asked) or _bare(table, names)
        found = found or (_wide(table, names, asked, few=True) if _nothing_else(table) else None)
        if found is not None:
            return found
    return _long(table, names, asked)


def _column(table: Table, name: str | None, role: str, taken: Collection[int | None]) -> int | None:
    """The column of a role, "time" or "run": the one that the user named, else one with a usual name."""
    if name is not None:
        return column_names.chosen(table.columns, name, table.title, f"--{role}")
    usual = column_names.TIME if role == "time" else column_names.RUN
    return column_names.find(table.columns, usual, taken=taken)


def _nothing_else(table: Table) -> bool:
    """Whether no column can name the node of a row: none is headed as such, and none but a first one of times holds text."""
    named = column_names.find(table.columns, column_names.NODE) is not None
    return not named and all(table.kind(k) != "text" for k in range(1, len(table.columns)))


def _headings(table: Table, asked: StateColumns) -> set[str]:
    """Names of nodes if there are no edges to know them by: headings of numbers, before the colon of node:variable if all have one."""
    time = _column(table, asked.time, "time", [])
    others = {0 if time is None else time, _column(table, asked.run, "run", [])}
    heads = [plain(head) for k, head in enumerate(table.columns) if k not in others and table.kind(k) == "number"]
    heads = [head for head in heads if head.lower() not in column_names.INDEX]
    return {head.split(":")[0].strip() for head in heads} if all(":" in head for head in heads) else set(heads)


def _wide(table: Table, known: set[str], asked: StateColumns, *, few: bool = False) -> Layout | None:
    """A column for each node (or node and variable), if most headings are names of nodes; or, with ``few``, some."""
    if not table.headed:
        return None
    heads = [plain(head) for head in table.columns]
    of_nodes = {k for k, head in enumerate(heads) if head in known}
    time = _column(table, asked.time, "time", of_nodes)
    run = _column(table, asked.run, "run", of_nodes)
    others = [k for k in range(len(heads)) if k not in (time, run)]
    if time is None:
        time = 0
        if heads[0] in known or heads[0].lower() in column_names.INDEX:  # the dates may stand elsewhere
            time = next((k for k in others if heads[k] not in known and table.kind(k) == "date"), 0)
        if heads[time] in known and table.kind(time) != "date":
            return None
        others = [k for k in others if k != time]
    nameless = [k for k in others if heads[k].lower() in column_names.INDEX and heads[k] not in known]
    others = [k for k in others if k not in nameless]
    if not others:
        return None
    pairs = _pairs([heads[k] for k in others], known)
    if pairs is None and few and any(heads[k] in known for k in others):
        pairs = [(heads[k], "x") for k in others]
    if pairs is None:
        return None
    values, unused, both = [], [], []
    for k, pair in zip(others, pairs, strict=True):
        if pair[0] in known or table.kind(k) != "text":
            values.append(k)
            both.append(pair)
        else:
            unused.append(table.name(k))
    if len(set(both)) < len(both):
        twice = Counter(both).most_common(1)[0][0]
        raise ValueError(f"{table.title}: two columns are called {twice[0]!r}; give each node one column")
    count = len({node for node, _ in pairs})
    notes = [f"{table.title}: a row for each time (column {table.name(time)}), a column for each of {count} nodes"]
    variables = dict.fromkeys(variable for _, variable in pairs)
    if len(variables) > 1:
        notes.append(f"{table.title}: the variables of each node are {', '.join(variables)}")
    if unused:
        notes.append(f"{table.title}: columns {', '.join(unused[:8])} hold text and are not used")
    if nameless:
        shown = ", ".join(f"{table.name(k)}" for k in nameless[:8])
        notes.append(f"{table.title}: column {shown} names no node, as an index of rows, and is not used")
    return Layout("wide", None, time, values, run, pairs=tuple(both), notes=tuple(notes))


def _unnamed(table: Table, asked: StateColumns, count: int) -> list[str] | None:
    """Headings of as many columns of numbers as there are nodes without names; None if these are not what is there."""
    time = _column(table, asked.time, "time", []) or 0
    others = [k for k in range(len(table.columns)) if k != time]
    heads = [plain(table.columns[k]) for k in others]
    if not table.headed or len(heads) != count or column_names.find(heads, column_names.NODE) is not None:
        return None
    return heads if all(table.kind(k) in ("number", "empty") for k in others) else None


def _pairs(heads: Sequence[str], known: set[str]) -> list[tuple[str, str]] | None:
    """The node and the variable of each heading, if most are, or begin (or, in one other way, end) with, names of nodes."""
    if sum(head in known for head in heads) * 2 >= len(heads):
        return [(head, "x") for head in heads]
    for sign in (":", ".", "|", "/", "_"):
        if not all(sign in head for head in heads):
            continue
        halves = [head.rsplit(sign, 1) for head in heads]
        for node, variable in ((0, 1), (1, 0)):
            if sum(half[node] in known for half in halves) * 2 >= len(halves):
                return [(half[node], half[variable]) for half in halves]
    return None


def _transposed(table: Table, known: set[str], asked: StateColumns) -> Layout | None:
    """A row for each node and a column for each time, if headings are times and a column before them names nodes."""
    if not table.headed or len(table.columns) < 3 or asked.time is not None:
        return None
    heads = [head.strip() for head in table.columns]
    dates = [k for k, head in enumerate(heads) if looks_like_dates([head])]
    numbers = [k for k, head in enumerate(heads) if head and table.number(head) is not None and not is_missing(head)]
    columns = dates if len(dates) >= len(numbers) else numbers
    if len(columns) < 2 or 2 * len(columns) < len(heads) - 6:
        return None
    distinct = (k for k in range(columns[0]) if len({plain(cell) for cell in table.sample(k)}) == len(table.sample(k)))
    node = next((k for k in distinct if table.share_of_names(k, known) >= 0.5), None)
    if node is None:
        return None
    used = {*columns, node}
    skipped = [table.name(k) for k in range(len(heads)) if k not in used]
    where = f"a row for each node (column {table.name(node)})"
    notes = [f"{table.title}: {where}, a column for each of {len(columns)} times"]
    if skipped:
        notes.append(f"{table.title}: columns {', '.join(skipped[:8])} are no times and are not used")
    return Layout("transposed", node, None, columns, notes=tuple(notes))


def _bare(table: Table, known: set[str]) -> Layout | None:
    """Numbers without a header: the time, then one column for each node in order, if there are as many."""
    count = len(table.columns) - 1
    if table.headed or count != len(known) or count < 3 or any(table.kind(k) == "text" for k in range(1, count + 1)):
        return None
    if not all(map(is_whole, known)):  # names have no order that a table could follow
        return None
    nodes = [str(name) for name in sorted(map(int, known))]
    order = f"the first column is the time, and the {count} others are the nodes in order ({some(nodes, 3)})"
    pairs = tuple((node, "x") for node in nodes)
    values = list(range(1, count + 1))
    return Layout("wide", None, 0, values, pairs=pairs, notes=(f"{table.title} has no header: {order}",))


def _long(table: Table, known: set[str], asked: StateColumns) -> Layout:
    columns = table.columns
    every = range(len(columns))
    if len(columns) < 3:
        no_node = f", and no heading is the name of a node of the edges ({some(sorted(known), 3)})" if known else ""
        raise ValueError(
            f"{table.title} has the columns {table.listed()}{no_node}; expected columns node, time and values, or time and a column for each node"
        )
    node = None if asked.node is None else column_names.chosen(columns, asked.node, table.title, "--node")
    time = _column(table, asked.time, "time", [node])
    run = _column(table, asked.run, "run", [node, time])
    if node is None:
        node = _node(table, known, [time, run])
    how = ", the time by place" if time is None else ""
    if time is None:
        free = [k for k in every if k not in (node, run)]
        time = next((k for kind in ("date", "number") for k in free if table.kind(k) == kind), None)
    if time is None:
        raise ValueError(f"{table.title} has no column of times; name it with --time, its columns are {table.listed()}")
    left = [k for k in every if k not in (node, time, run)]
    variable = None
    if asked.values is not None:
        values = [column_names.chosen(columns, name, table.title, "--values") for name in asked.values]
    else:
        values = [k for k in left if _holds_values(table, k)]
        variable = column_names.find(columns, column_names.VARIABLE, taken=[node, time, run])
        beside = [k for k in values if k != variable]
        if variable is not None and len(beside) == 1 and table.kind(variable) == "text":
            values = beside
        else:
            variable = None
    if not values:
        raise ValueError(
            f"{table.title} has no column of values beside node {table.name(node)} and time {table.name(time)}; its columns "
            f"are {table.listed()}: name one with --values"
        )
    if not table.headed:
        how = ", by place: there is no header"
    parts = [f"node {table.name(node)}", f"time {table.name(time)}", f"values {', '.join(map(table.name, values))}"]
    parts += [f"run {table.name(run)}"] if run is not None else []
    parts += [f"variable {table.name(variable)}"] if variable is not None else []
    notes = [f"{table.title}: a row for each node and time; columns are {', '.join(parts)}{how}"]
    unused = [table.name(k) for k in left if k not in values and k != variable]
    if unused:
        notes.append(f"{table.title}: columns {', '.join(unused[:8])} are not used (--values names columns of values)")
    return Layout("long", node, time, values, run, variable, notes=tuple(notes))


def _holds_values(table: Table, k: int) -> bool:
    head = table.columns[k].strip().lower()
    return table.kind(k) == "number" and not (table.headed and (head in column_names.INDEX or head in NO_VALUES))


def _node(table: Table, known: set[str], taken: Sequence[int | None]) -> int:
    """The column of nodes: by its heading, by how many of its cells are names of nodes, or the first column of text."""
    free = [k for k in range(len(table.columns)) if k not in taken]
    share = {k: table.share_of_names(k, known) for k in free}
    named = [k for k in free if table.headed and column_names.find([table.columns[k]], column_names.NODE) is not None]
    for group in (named, free):
        best = max(group, key=lambda k: share[k], default=None)
        certain = group is named or not table.headed or (best is not None and table.kind(best) == "text")
        if best is not None and share[best] >= 0.5 and certain:
            return best
    texts = [k for k in free if table.kind(k) == "text"]
    if named or texts:
        return [*named, *texts][0]
    if table.headed or not free:
        no_node = f"no heading is the name of a node of the edges ({some(sorted(known), 3)}), and " if known else ""
        raise ValueError(
            f"{table.title}: {no_node}no column is called node; its columns are {table.listed()}: name the column of nodes "
            "with --node, or head each column of values with the name of its node"
        )
    return free[0]
