"""Options that say how files of edges and states are to be understood, shared by the commands that read them."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..tables import Dataset

PANEL = "How the files are understood"


class Repeats(str, Enum):
    """What to do with several values for one node and time."""

    error = "error"
    mean = "mean"
    first = "first"
    last = "last"


class Infinite(str, Enum):
    """What to do with infinite values."""

    auto = "auto"
    missing = "missing"


class Unit(str, Enum):
    """Units of time for dates."""

    second = "second"
    minute = "minute"
    hour = "hour"
    day = "day"
    week = "week"
    month = "month"
    year = "year"


def _option(*names: str, text: str, metavar: str | None = None) -> object:
    return typer.Option(*names, help=text, metavar=metavar, show_default=False, rich_help_panel=PANEL)


Directed = Annotated[
    bool | None, _option("--directed/--undirected", text="Whether edges act one way only. Default: as the file says.")
]
Source = Annotated[str | None, _option("--source", text="Column of edges: who acts.", metavar="COLUMN")]
Target = Annotated[str | None, _option("--target", text="Column of edges: who is acted on.", metavar="COLUMN")]
Weight = Annotated[str | None, _option("--weight", text="Column of edges: how strongly.", metavar="COLUMN")]
EdgeTime = Annotated[
    str | None, _option("--edge-time", text="Column of edges: from when on; a graph for each time.", metavar="COLUMN")
]
OneGraph = Annotated[bool, _option("--one-graph", text="Take all edges as one graph, whatever their times.")]
Node = Annotated[str | None, _option("--node", text="Column of states: the node.", metavar="COLUMN")]
Time = Annotated[str | None, _option("--time", text="Column of states: the time.", metavar="COLUMN")]
Values = Annotated[
    list[str] | None, _option("--values", text="Column of states: a value; give it again for more.", metavar="COLUMN")
]
Run = Annotated[str | None, _option("--run", text="Column of states: which run.", metavar="COLUMN")]
DateFormat = Annotated[str | None, _option("--date-format", text="How dates are written.", metavar="%d.%m.%Y")]
TimeUnit = Annotated[Unit | None, _option("--unit", text="Unit of time for dates. Default: chosen to suit them.")]
Step = Annotated[
    float | None, _option("--step", text="Round times to multiples of this and average what shares a time.")
]
Duplicates = Annotated[
    Repeats, _option("--duplicates", text="Several different values for one node and time. Default: error.")
]
InfiniteValues = Annotated[
    Infinite, _option("--infinite", text="auto: a few infinite values are missing, more are an error.")
]
SameNames = Annotated[bool, _option("--same-names", text="Refuse names of nodes that are not in both files.")]


def read_files(
    edges: Path,
    states: Path | None,
    *,
    directed: bool | None,
    source: str | None,
    target: str | None,
    weight: str | None,
    edge_time: str | None,
    one_graph: bool,
    node: str | None,
    time: str | None,
    values: list[str] | None,
    run: str | None,
    date_format: str | None,
    unit: Unit | None,
    step: float | None,
    duplicates: Repeats,
    infinite: Infinite,
    same_names: bool,
) -> Dataset:
    """``ndcn.read`` with what was said on the command line; without states, the folder of data that ``edges`` names."""
    import ndcn

    if states is None:
        if edges.is_file():
            raise ValueError(f"{edges} is a file: give a file of states too, as in: {edges.name} states.csv")
        return ndcn.Dataset((ndcn.Trajectory.load(edges),))
    if one_graph and edge_time is not None:
        raise ValueError("--one-graph leaves the times of edges aside, and --edge-time uses them: give one of them")
    return ndcn.read(
        edges,
        states,
        directed=directed,
        source=source,
        target=target,
        weight=weight,
        edge_time=False if one_graph else edge_time,
        node=node,
        time=time,
        values=values or None,
        run=run,
        date_format=date_format,
        unit=None if unit is None else unit.value,
        step=step,
        duplicates=duplicates.value,
        infinite=infinite.value,
        unknown="error" if same_names else "drop",
    )
