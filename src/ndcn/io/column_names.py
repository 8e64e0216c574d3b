"""What columns are usually called (source, target, time, node, label, ...), and finding one by its name."""

from __future__ import annotations

from collections.abc import Collection, Sequence

# fmt: off
SOURCE = frozenset({"source", "from", "src", "node1", "node_1", "u", "sender", "origin", "source_id", "from_id",
    "from_node", "source_node", "i", "start"})
TARGET = frozenset({"target", "to", "dst", "dest", "destination", "node2", "node_2", "v", "receiver", "target_id",
    "to_id", "to_node", "target_node", "j", "end"})
WEIGHT = frozenset({"weight", "weights", "w", "strength", "flow", "flux", "count", "value", "trips", "volume",
    "capacity"})
TIME = frozenset({"time", "t", "times", "date", "dates", "datetime", "day", "week", "month", "year", "hour",
    "timestamp", "unix", "unixtime", "unix_time", "epoch", "timestamp_ms", "period", "step", "when", "zeit", "datum"})
NODE = frozenset({"node", "nodes", "name", "names", "id", "label", "node_id", "nodeid", "node_name", "vertex",
    "region", "country", "city", "county", "state", "station", "site", "location", "place", "area", "species", "gene",
    "sensor", "unit", "agent", "person", "knoten"})
RUN = frozenset({"run", "runs", "trial", "experiment", "replicate", "simulation", "scenario", "episode",
    "realization", "realisation", "run_id"})
VARIABLE = frozenset({"variable", "feature", "measure", "indicator", "quantity", "metric"})
VALUE = frozenset({"value", "values", "x", "state", "amount", "level", "cases"})
# fmt: on
LABEL = frozenset({"label", "labels", "class", "classes", "category"})
SPLIT = frozenset({"split"})
KIND = frozenset({"type", "directed"})  # Gephi writes the first: Directed or Undirected
INDEX = ("", "unnamed: 0", "index", "level_0", "rowid", "__index_level_0__")  # columns that only number the rows

# nodes that are the sum of all others, and rows below a table that add it up
TOTAL = frozenset({"total", "totals", "sum", "all", "world", "overall", "grand total", "gesamt", "summe", "insgesamt",
    "subtotal"})  # fmt: skip

EDGES = SOURCE | TARGET | WEIGHT | TIME | KIND
STATES = TIME | NODE | RUN | VARIABLE | VALUE
FEATURES = NODE
LABELS = NODE | LABEL | SPLIT


def is_total(name: str) -> bool:
    """Whether a name means a sum, as "Total" or "World"."""
    return " ".join(name.casefold().split()) in TOTAL


def find(columns: Sequence[str], names: Collection[str], *, taken: Collection[int | None] = ()) -> int | None:
    """The position of the first column with one of these names; capitals, blanks and hyphens do not matter."""
    for k, column in enumerate(columns):
        if k not in taken and column.strip().lower().replace(" ", "_").replace("-", "_") in names:
            return k
    return None


def chosen(columns: Sequence[str], name: str | int, title: str, option: str) -> int:
    """The position of the column that the user named: by its name, or by its number from 1.

    Raises:
        ValueError: there is no such column.
    """
    text = str(name)
    for same in (lambda column: column == text, lambda column: column.strip().lower() == text.strip().lower()):
        for k, column in enumerate(columns):
            if same(column):
                return k
    if text.isdigit() and 1 <= int(text) <= len(columns):
        return int(text) - 1
    known = ", ".join(repr(column) for column in columns[:20]) if any(columns) else f"numbered 1 to {len(columns)}"
    raise ValueError(f"{title} has no column {text!r} ({option}); its columns are {known}")
