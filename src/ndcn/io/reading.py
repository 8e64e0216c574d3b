"""read: from a file of edges and a file of states to a Dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .._support.wording import Urgent, counted, some
from ..data import Calendar, Dataset, Inputs
from ..graph import Graph, GraphSequence
from .edge_list import EdgeList, no_edges
from .edges import read_edges
from .graph_building import build_graph
from .input_table import InputTable, read_inputs
from .missing_values import Missing, suspected
from .node_matching import match
from .node_table import read_nodes
from .snapshots import Gridding, trajectories
from .state_layout import StateColumns
from .states import Observations, read_states
from .swapped import asking_whether_swapped
from .totals import without_totals


def read(
    edges: Any,
    states: Any = None,
    *,
    nodes: Any = None,
    inputs: Any = None,
    between: str | None = None,
    directed: bool | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    edge_time: str | bool | None = None,
    node: str | None = None,
    time: str | None = None,
    values: Sequence[str] | str | None = None,
    run: str | None = None,
    date_format: str | None = None,
    unit: str | None = None,
    step: float | None = None,
    duplicates: str = "error",
    infinite: str = "auto",
    unknown: str = "drop",
    missing: Sequence[str | float] | str | float | None = None,
    decimal: str | None = None,
) -> Dataset:
    """Read your own network: who acts on whom, and what was observed of each node, in the form the files are in.

    Columns are found by their names, by what they hold, or by their place; ``Dataset.notes`` says how everything was
    understood, and the arguments overrule it.

    Args:
        edges: CSV, TSV, Parquet, GraphML, GML, JSON (node-link), npz (scipy.sparse), Matrix Market; or a pandas table, a
            networkx graph, a scipy.sparse matrix, an ``ndcn.Graph``. The source acts on the target. If the network is not known, give
            the states alone: ``ndcn.read("states.csv")``; the graph then has no edges, and ``ndcn.reconstruct`` finds them.
        states: CSV, TSV, Parquet, NetCDF or a pandas table: long, with a row for each node and time, or wide, with a row for
            each time and a column for each node (``node:variable`` for several variables), or with a row for each node.
        nodes: CSV, TSV, Parquet or a pandas table with a row for each node. Columns ``lat`` and ``lon`` in degrees, or ``x`` and
            ``y``, are where pictures and the page draw the nodes; other columns of numbers are attributes (``Graph.attributes``), of
            which coefficients of a law may turn out to be functions.
        inputs: CSV, TSV, Parquet or a pandas table of what acts from outside: a column of times and one for each input that all
            nodes have in common; or with a column of nodes too, for inputs that each node has for itself. Or ``ndcn.Inputs``.
        between: "held" keeps the value of an input until the next time, "linear" draws straight lines; by default held for
            columns of at most three different values, linear for others.
        directed: whether edges act one way only; by default as the file says, else undirected if no edge is listed both
            ways, or all are with equal weights.
        source, target, weight, edge_time: columns of the edges. Edges with times make a graph for each time; with
            ``edge_time=False`` they are one graph.
        node, time, values, run: columns of the states; ``values`` is one name or several.
        date_format: how dates are written, as in ``"%d.%m.%Y"``; found out by default.
        unit: of time, for dates: "second", "minute", "hour", "day", "week", "month" or "year"; chosen by default.
        step: round times to multiples of this, in that unit, and average values that then share a time.
        duplicates: several different values for one node and time: "error", or take the "mean", "first" or "last".
        infinite: "auto" takes a few infinite values (up to 5 %) as missing and refuses more; "missing" takes all so.
        unknown: "drop" leaves out nodes without states and lists them, "error" refuses names that are not in both files.

        missing: numbers and words in the states that mean "not observed", as ``[-999, "unknown"]``, besides empty cells,
            NA, - and the like.
        decimal: "." or ",", where both 1.5 and 1,234 could be meant; found out by default.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a file cannot be understood; the message names file, line or column, and what to do.

    Example:
        >>> import ndcn, pandas
        >>> edges = pandas.DataFrame({"source": ["ann", "bob"], "target": ["bob", "cid"]})
        >>> states = pandas.DataFrame({"date": ["2021-03-01", "2021-03-08"], "ann": [1, 2], "bob": [3, 4], "cid": [5, 6]})
        >>> data = ndcn.read(edges, states)
        >>> data.trajectory
        Trajectory(2 snapshots of 3 nodes, 1 feature, 2021-03-01 .. 2021-03-08)
        >>> print(data.calendar)
        t in weeks from 2021-03-01
    """
    asked = _asked(locals())
    if unknown not in ("drop", "error"):
        raise ValueError(f'unknown must be "drop" or "error", got {unknown!r}')
    if decimal not in (None, ".", ","):
        raise ValueError(f'decimal must be "." or ",", got {decimal!r}')
    how, absent, mark = Gridding(duplicates, infinite, step), Missing.of(missing), decimal or ""
    columns = {"source": source, "target": target, "weight": weight}
    if isinstance(edge_time, str):
        columns["time"] = edge_time

    def read_graph(headless: bool = False) -> EdgeList:
        timed = edge_time is not False
        return read_edges(
            edges, columns=columns, date_format=date_format, use_time=timed, headless=headless, decimal=mark
        )

    if states is None:
        edges, states = None, edges
    with asking_whether_swapped(edges, states):
        graph_file = no_edges([]) if edges is None else read_graph()
        wanted = [values] if isinstance(values, str) else values
        known = [*graph_file.labels, *(name for names in graph_file.aliases.values() for name in names)]
        columns_of_states = StateColumns(node, time, wanted, run, date_format, absent.words, mark)
        rows = absent.hidden(read_states(states, known, columns_of_states, graph_file.positions))
        rows = rows if graph_file.positions else without_totals(rows, known)
        graph_file = no_edges(rows.nodes) if edges is None else graph_file
        heading = graph_file.heading if isinstance(edges, (str, Path)) else None
        if heading is not None and set(heading) <= set(rows.nodes):
            graph_file = read_graph(headless=True)  # what looked like a header names two nodes
        found = match(graph_file, rows, unknown)
    calendar, when, notes = _calendar(rows, unit)
    edge_when = _edge_times(graph_file, rows, calendar)
    graph, graphs, built = build_graph(graph_file, found.edge_node, found.labels, directed, edge_when)
    built = [] if edges is None else built
    if graphs is not None and len(graphs) == 1:
        graphs = None
    where = None if nodes is None else read_nodes(nodes, found.labels)
    if where is not None:
        graph = where.on(graph)
        if graphs is not None:
            graphs = GraphSequence(graphs.times, [where.on(one) for one in graphs.graphs])
    driven = None if inputs is None else _inputs(inputs, graph, calendar, between, date_format, mark)
    if driven is None and between is not None:
        raise ValueError("between says what inputs do between their times, and there are none: give inputs=")
    runs, names, gridded = trajectories(rows, found.state_node[rows.node], when, graph, how, calendar)
    unused = [graph_file.unused] if graph_file.unused else []
    from_states = [
        *rows.notes,
        *notes,
        *gridded,
        *found.notes,
        *_missing(runs),
        *(() if where is None else where.notes),
        *(() if driven is None else driven.notes),
    ]
    if driven is not None:
        runs = [run.replaced(inputs=driven.inputs, calendar=calendar) for run in runs]
    notes = [*graph_file.notes, *unused, *built, *from_states]
    data = Dataset(tuple(runs), tuple(names), calendar, graphs, tuple(notes), asked)
    return replace(data, notes=(*data.notes, *suspected(data)))


def _inputs(
    source: Any, graph: Graph, calendar: Calendar | None, between: str | None, form: str | None, decimal: str
) -> InputTable:
    if isinstance(source, Inputs):
        return InputTable(source, [])
    return read_inputs(source, graph.nodes, calendar, between=between, date_format=form, decimal=decimal)


def _asked(given: dict[str, Any]) -> dict[str, Any]:
    """Arguments of ``read`` besides the files that are not the defaults, as JSON can hold them."""
    files = ("nodes", "inputs")
    own = [one for one in signature(read).parameters.values() if one.kind is one.KEYWORD_ONLY and one.name not in files]
    plain = {one.name: list(v) if isinstance(v := given[one.name], tuple) else v for one in own}
    return {one.name: plain[one.name] for one in own if plain[one.name] != one.default}


def _calendar(rows: Observations, unit: str | None) -> tuple[Calendar | None, np.ndarray, list[str]]:
    """What the times mean, the times as numbers, and what to say about them."""
    if rows.time.dated:
        calendar = Calendar.of(rows.time.values, rows.time.tz, unit)
        distinct, inverse = np.unique(rows.time.values, return_inverse=True)
        zone = "" if calendar.tz is None else f", in the time zone {calendar.tz}"
        counted_from = f"time is counted in {calendar.unit}s from {calendar.texts([0.0])[0]}"
        return calendar, calendar.numbers(distinct)[inverse], [f"{rows.title}: times are dates{zone}; {counted_from}"]
    if unit is not None:
        raise ValueError(f"{rows.title}: unit={unit!r} is for dates, and the times here are numbers")
    times = rows.time.values
    first = float(times.min())
    if first >= 0:
        return None, times, []
    shifted = Calendar(first, "number")
    return shifted, shifted.numbers(times), [f"{rows.title}: times begin at {first:g}; they are counted from there"]


def _edge_times(edges: EdgeList, rows: Observations, calendar: Calendar | None) -> np.ndarray | None:
    if edges.time is None:
        return None
    if edges.time.dated != rows.time.dated:
        kinds = ["dates" if dated else "numbers" for dated in (edges.time.dated, rows.time.dated)]
        raise ValueError(
            f"{edges.title} has {kinds[0]} as times and {rows.title} has {kinds[1]}; write both in the same way, or take all "
            "edges as one graph with edge_time=False (--one-graph)"
        )
    return edges.time.values if calendar is None else calendar.numbers(edges.time.values)


def _missing(runs: Sequence[Any]) -> list[str]:
    """What to say about entries that were not observed."""
    hidden = sum(0 if run.mask is None else int((~run.mask).sum()) for run in runs)
    if not hidden:
        return []
    total = sum(run.states.numel() for run in runs)
    notes = [f"{100 * hidden / total:.3g} % of the entries are missing; they are masked as the data are read"]
    if all(run.mask is not None for run in runs):
        seen = torch.stack([run.mask.any(dim=2).any(dim=0) for run in runs]).any(dim=0)
        never = [node for node, observed in zip(runs[0].graph.nodes, seen.tolist(), strict=True) if not observed]
        notes += [Urgent(f"{counted(len(never), 'node')} never observed: {some(never)}")] if never else []
    return notes
