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

# headings of numbers that are no values: what a row is about, or a part of its date
NO_VALUES = frozenset(
    {"id", "node_id", "nodeid", "year", "month", "day", "week", "hour", "date", "datetime", "timestamp"}
)


@dataclass(frozen=True)
class StateColumns:
    """The columns that the user named, and how dates are written; None for what is to be detected."""

    node: str | None = None
    time: str | None = None
    values: Sequence[str] | None = None
    run: str | None = None
    date_format: str | None = None


@dataclass(frozen=True)
class Layout:
    """What the columns are.

    Attributes:
        kind: "long" (a row for each node and time), "wide" (a row for each time, a column for each node) or "transposed"
            (a row for each node, a column for each time).
        node, time, run, variable: positions of columns; None where there is none.
        values: positions of the columns of values.
        nodes, variables: in wide tables, the node and the variable of each of ``values``.
        notes: what was understood.
    """

    kind: str
    node: int | None
    time: int | None
    values: list[int]
    run: int | None = None
    variable: int | None = None
    nodes: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def find_layout(table: Table, known: Sequence[str], asked: StateColumns, unnamed: bool = False) -> Layout:
    """The layout of a table of states, recognised by the names of nodes in the edges, or their positions if unnamed.

    Raises:
        ValueError: no column is left for the node, the time or the values.
    """
    names = set(known)
    if not table.columns or not any(table.sample(k) for k in range(len(table.columns))):
        raise ValueError(
            f"{table.title} holds no rows of states, only a header; expected a line for each node and time"
        )
    if asked.node is None and asked.values is None:
        if unnamed and (heads := _unnamed(table, asked, len(names))) is not None:
            names = names if set(heads) & names else set(heads)
        for attempt in (_wide, _transposed, _bare):
            found = attempt(table, names, asked)
            if found is not None:
                return found
    return _long(table, names, asked)


def _time(table: Table, asked: StateColumns, taken: Collection[int]) -> int | None:
    if asked.time is not None:
        return column_names.chosen(table.columns, asked.time, table.title, "--time")
    return column_names.find(table.columns, column_names.TIME, taken=taken) if table.headed else None


def _run(table: Table, asked: StateColumns, taken: Collection[int]) -> int | None:
    if asked.run is not None:
        return column_names.chosen(table.columns, asked.run, table.title, "--run")
    return column_names.find(table.columns, column_names.RUN, taken=taken) if table.headed else None


def _wide(table: Table, known: set[str], asked: StateColumns) -> Layout | None:
    """A column for each node (or node and variable), if most headings are names of nodes."""
    if not table.headed:
        return None
    heads = [plain(head) for head in table.columns]
    time = _time(table, asked, {k for k, head in enumerate(heads) if head in known})
    run = _run(table, asked, {k for k, head in enumerate(heads) if head in known})
    others = [k for k in range(len(heads)) if k not in (time, run)]
    if time is None:
        if heads[0] in known and table.kind(0) != "date":
            return None
        time, others = 0, [k for k in others if k != 0]
    if not others:
        return None
    hits = sum(heads[k] in known for k in others)
    if hits * 2 >= len(others):
        nodes, variables = [heads[k] for k in others], ["x"] * len(others)
    else:
        pairs = _pairs([heads[k] for k in others], known)
        if pairs is None:
            return None
        nodes, variables = pairs
    used = [j for j, k in enumerate(others) if nodes[j] in known or table.kind(k) != "text"]
    chosen = set(used)
    unused = [table.name(k) for j, k in enumerate(others) if j not in chosen]
    both = [(nodes[j], variables[j]) for j in used]
    if len(set(both)) < len(both):
        twice = Counter(both).most_common(1)[0][0]
        raise ValueError(f"{table.title}: two columns are called {twice[0]!r}; give each node one column")
    notes = [
        f"{table.title}: a row for each time (column {table.name(time)}), a column for each of {len(set(nodes))} nodes"
    ]
    if len(set(variables)) > 1:
        notes.append(f"{table.title}: the variables of each node are {', '.join(dict.fromkeys(variables))}")
    if unused:
        notes.append(f"{table.title}: columns {', '.join(unused[:8])} hold text and are not used")
    return Layout(
        "wide",
        None,
        time,
        [others[j] for j in used],
        run,
        nodes=tuple(nodes[j] for j in used),
        variables=tuple(variables[j] for j in used),
        notes=tuple(notes),
    )


def _unnamed(table: Table, asked: StateColumns, count: int) -> list[str] | None:
    """Headings of as many columns of numbers as there are nodes without names; None if these are not what is there."""
    time = _time(table, asked, [])
    heads = [plain(head) for k, head in enumerate(table.columns) if k != (0 if time is None else time)]
    if not table.headed or len(heads) != count or column_names.find(heads, column_names.NODE) is not None:
        return None
    numeric = all(table.kind(k) in ("number", "empty") for k in range(len(table.columns)) if k != (time or 0))
    return heads if numeric else None


def _pairs(heads: Sequence[str], known: set[str]) -> tuple[list[str], list[str]] | None:
    """Headings node:variable or node.variable, if most begin (or, in one other way, end) with the name of a node."""
    for sign in (":", ".", "|", "/", "_"):
        if not all(sign in head for head in heads):
            continue
        halves = [head.rsplit(sign, 1) for head in heads]
        for node, variable in ((0, 1), (1, 0)):
            if sum(half[node] in known for half in halves) * 2 >= len(halves):
                return [half[node] for half in halves], [half[variable] for half in halves]
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
    node = None
    for k in range(columns[0]):
        cells = table.sample(k)
        if table.share_of_names(k, known) >= 0.5 and len({plain(cell) for cell in cells}) == len(cells):
            node = k
            break
    if node is None:
        return None
    times = {*columns, node}
    skipped = [table.name(k) for k in range(len(heads)) if k not in times]
    notes = [
        f"{table.title}: a row for each node (column {table.name(node)}), a column for each of {len(columns)} times"
    ]
    if skipped:
        notes.append(f"{table.title}: columns {', '.join(skipped[:8])} are no times and are not used")
    return Layout("transposed", node, None, columns, notes=tuple(notes))


def _bare(table: Table, known: set[str], asked: StateColumns) -> Layout | None:
    """Numbers without a header: the time, then one column for each node in order, if there are as many."""
    count = len(table.columns) - 1
    if table.headed or count != len(known) or count < 3 or any(table.kind(k) == "text" for k in range(1, count + 1)):
        return None
    if not all(map(is_whole, known)):
        return None  # names have no order that a table could follow
    nodes = [str(name) for name in sorted(map(int, known))]
    notes = (
        f"{table.title} has no header: the first column is the time, and the {count} others are the nodes in order "
        f"({some(nodes, 3)})",
    )
    return Layout("wide", None, 0, list(range(1, count + 1)), nodes=tuple(nodes), variables=("x",) * count, notes=notes)


def _long(table: Table, known: set[str], asked: StateColumns) -> Layout:
    columns = table.columns
    every = range(len(columns))
    if len(columns) < 3:
        raise ValueError(
            f"{table.title} has the columns {table.listed()}, and no heading is the name of a node of the "
            f"edges ({some(sorted(known), 3)}); expected columns node, time and values, or time and a column for each node"
        )
    node = None if asked.node is None else column_names.chosen(columns, asked.node, table.title, "--node")
    time = _time(table, asked, [] if node is None else [node])
    run = _run(table, asked, [k for k in (node, time) if k is not None])
    if node is None:
        node = _node(table, known, [k for k in (time, run) if k is not None])
    taken = [k for k in (node, time, run) if k is not None]
    by_place = time is None
    if time is None:
        free = [k for k in every if k not in taken and table.kind(k) in ("date", "number")]
        free.sort(key=lambda k: table.kind(k) != "date")
        if not free:
            raise ValueError(
                f"{table.title} has no column of times; name it with --time, its columns are {table.listed()}"
            )
        time = free[0]
        taken.append(time)
    left = [k for k in every if k not in taken]
    notes: list[str] = []
    variable = (
        column_names.find(columns, column_names.VARIABLE, taken=taken)
        if table.headed and asked.values is None
        else None
    )
    if asked.values is not None:
        values = [column_names.chosen(columns, name, table.title, "--values") for name in asked.values]
    else:
        values = [k for k in left if k != variable and _holds_values(table, k)]
    if variable is not None and (len(values) != 1 or table.kind(variable) != "text"):
        variable, values = None, [k for k in left if _holds_values(table, k)]
    if not values:
        raise ValueError(
            f"{table.title} has no column of values beside node {table.name(node)} and time {table.name(time)}; its columns "
            f"are {table.listed()}: name one with --values"
        )
    how = (
        ""
        if table.headed and not by_place
        else ", the time by place"
        if table.headed
        else ", by place: there is no header"
    )
    parts = [f"node {table.name(node)}", f"time {table.name(time)}", f"values {', '.join(map(table.name, values))}"]
    parts += [f"run {table.name(run)}"] if run is not None else []
    parts += [f"variable {table.name(variable)}"] if variable is not None else []
    notes.append(f"{table.title}: a row for each node and time; columns are {', '.join(parts)}{how}")
    unused = [table.name(k) for k in left if k not in values and k != variable]
    if unused:
        notes.append(f"{table.title}: columns {', '.join(unused[:8])} are not used (--values names columns of values)")
    return Layout("long", node, time, values, run, variable, notes=tuple(notes))


def _holds_values(table: Table, k: int) -> bool:
    head = table.columns[k].strip().lower()
    return table.kind(k) == "number" and not (table.headed and (head in column_names.INDEX or head in NO_VALUES))


def _node(table: Table, known: set[str], taken: Sequence[int]) -> int:
    """The column of nodes: by its heading, by how many of its cells are names of nodes, or the first column of text."""
    free = [k for k in range(len(table.columns)) if k not in taken]
    share = {k: table.share_of_names(k, known) for k in free}
    named = [k for k in free if table.headed and column_names.find([table.columns[k]], column_names.NODE) is not None]
    for group in (named, free):
        best = max(group, key=lambda k: share[k], default=None)
        if (
            best is not None
            and share[best] >= 0.5
            and (group is named or not table.headed or table.kind(best) == "text")
        ):
            return best
    if named:
        return named[0]
    texts = [k for k in free if table.kind(k) == "text"]
    if texts:
        return texts[0]
    if table.headed or not free:
        raise ValueError(
            f"{table.title}: no heading is the name of a node of the edges ({some(sorted(known), 3)}), and no column is called "
            f"node; its columns are {table.listed()}: name the column of nodes "
            "with --node, or head each column of values with the name of its node"
        )
    return free[0]
