"""Options that say how to read files of edges, states, features and labels, shared by the commands that read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import Enum
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from .._support.registries import GRAPH_FORMATS, TABLE_FORMATS

if TYPE_CHECKING:
    from ..data import Dataset

PANEL = "How the files are understood"
TABLE_ENDINGS = ", ".join(TABLE_FORMATS)
EDGE_ENDINGS = ", ".join((*TABLE_FORMATS, *GRAPH_FORMATS))


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
Node = Annotated[
    str | None, _option("--node", text="Column of states, features or labels: the node.", metavar="COLUMN")
]
Label = Annotated[str | None, _option("--label", text="Column of labels: the class.", metavar="COLUMN")]
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


@dataclass(frozen=True)
class EdgeOptions:
    """How to read edges; each field is an option."""

    directed: Directed = None
    source: Source = None
    target: Target = None
    weight: Weight = None

    def words(self) -> list[str]:
        """The options that are not as by default, as they are typed."""
        out = []
        for one in fields(self):
            value, option = getattr(self, one.name), f"--{one.name.replace('_', '-')}"
            if value == one.default:
                continue
            if isinstance(value, bool):
                out.append(option if value else "--undirected")
                continue
            for each in value if isinstance(value, list) else [value]:
                out += [option, str(each.value if isinstance(each, Enum) else each)]
        return out


@dataclass(frozen=True)
class NodeTableOptions(EdgeOptions):
    """How to read edges, features and labels of nodes; each field is an option."""

    node: Node = None
    label: Label = None


@dataclass(frozen=True)
class How(EdgeOptions):
    """How to read edges and states; each field is an option."""

    edge_time: EdgeTime = None
    one_graph: OneGraph = False
    node: Node = None
    time: Time = None
    values: Values = None
    run: Run = None
    date_format: DateFormat = None
    unit: TimeUnit = None
    step: Step = None
    duplicates: Duplicates = Repeats.error
    infinite: InfiniteValues = Infinite.auto
    same_names: SameNames = False

    def read(self, edges: Path, states: Path | None) -> Dataset:
        """``ndcn.read`` in this way; without states, the folder of data that ``edges`` names."""
        import ndcn

        if states is None:
            if edges.is_file():
                raise ValueError(f"{edges} is a file: give a file of states too, as in: {edges.name} states.csv")
            return ndcn.Dataset((ndcn.Trajectory.load(edges),))
        if self.one_graph and self.edge_time is not None:
            raise ValueError("--one-graph leaves the times of edges aside, and --edge-time uses them: give one of them")
        return ndcn.read(
            edges,
            states,
            directed=self.directed,
            source=self.source,
            target=self.target,
            weight=self.weight,
            edge_time=False if self.one_graph else self.edge_time,
            node=self.node,
            time=self.time,
            values=self.values or None,
            run=self.run,
            date_format=self.date_format,
            unit=None if self.unit is None else self.unit.value,
            step=self.step,
            duplicates=self.duplicates.value,
            infinite=self.infinite.value,
            unknown="error" if self.same_names else "drop",
        )


PLAIN = How()
NODE_TABLES = NodeTableOptions()


def reads_files(command: Callable[..., None]) -> Callable[..., None]:
    """The command with one option for each field of its argument ``how``, a dataclass, in the place of that argument."""
    types = get_type_hints(command, include_extras=True)
    kind = types["how"]
    own = get_type_hints(kind, include_extras=True)
    parameters = []
    for parameter in signature(command).parameters.values():
        if parameter.name != "how":
            parameters.append(parameter.replace(annotation=types[parameter.name]))
            continue
        for one in fields(kind):
            option = Parameter(one.name, Parameter.POSITIONAL_OR_KEYWORD, default=one.default, annotation=own[one.name])
            parameters.append(option)

    @wraps(command)
    def with_options(**given: Any) -> None:
        how = kind(**{one.name: given.pop(one.name) for one in fields(kind)})
        command(**given, how=how)

    with_options.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # where typer looks
    with_options.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_options
