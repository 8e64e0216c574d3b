"""problems: all that is wrong with two files, in one go."""

from __future__ import annotations

from typing import Any

from . import column_names
from .cells import plain
from .edges import read_edges
from .files import open_table
from .missing_values import Missing
from .reading import read
from .refusals import collecting
from .state_layout import StateColumns
from .states import read_states
from .swapped import SwappedFiles
from .table import HeaderHint

FAILURES = (ValueError, OSError, ModuleNotFoundError)


def problems(edges: Any, states: Any, **options: Any) -> tuple[str, ...]:
    """Everything that keeps two files from being read, a sentence each; empty if ``ndcn.read`` reads them.

    ``ndcn.read`` stops at the first of them. Here, cells and rows in question are passed over, to see what comes after.

    Args:
        edges, states: see ``ndcn.read``.
        options: those of ``ndcn.read``.

    Example:
        >>> import ndcn, pandas
        >>> edges = pandas.DataFrame({"source": ["a", "b"], "target": ["b", None]})
        >>> states = pandas.DataFrame({"time": [0, 1], "a": ["1", "x"], "b": ["2", "y"]})
        >>> for problem in ndcn.tables.problems(edges, states): print(problem[:72])
        the table of edges row 2: column 'target' must name a node and is empty
        the table of states: column 'a' must hold numbers, but 1 cell does not (
        the table of states: column 'b' must hold numbers, but 1 cell does not (
    """
    with collecting() as found:
        try:
            when = options.get("edge_time")
            columns = {role: options.get(role) for role in ("source", "target", "weight")}
            columns |= {"time": when} if isinstance(when, str) else {}
            form, mark = options.get("date_format"), options.get("decimal") or ""
            read_edges(edges, columns=columns, date_format=form, use_time=when is not False, decimal=mark)
        except FAILURES as error:
            found.append(_text(error))
            _check_alone(states, options, found)
            return tuple(dict.fromkeys(found))
        try:
            read(edges, states, **options)
        except SwappedFiles as error:
            return (str(error),)
        except FAILURES as error:
            found.append(_text(error))
    return tuple(dict.fromkeys(found))


def _check_alone(states: Any, options: dict[str, Any], found: list[str]) -> None:
    """Look for problems of the states where the nodes of the edges are not known: headings may name them."""
    try:
        heads = [plain(head) for head in open_table(states, "states", HeaderHint(column_names.STATES)).columns]
        long = column_names.find(heads, column_names.NODE) is not None
        known = [] if long else [head for head in heads if head.lower() not in column_names.STATES]
        values = options.get("values")
        asked: dict[str, Any] = {name: options.get(name) for name in ("node", "time", "run", "date_format")}
        asked |= {"missing": Missing.of(options.get("missing")).words, "decimal": options.get("decimal") or ""}
        read_states(states, known, StateColumns(values=[values] if isinstance(values, str) else values, **asked))
    except FAILURES as error:
        found.append(_text(error))


def _text(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return str(error)
