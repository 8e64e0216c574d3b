"""Options that say how to read files of edges, states, features and labels, shared by the commands that read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from .._support.registries import GRAPH_FORMATS, TABLE_FORMATS
from . import parts
from .guard import note
from .options import Choice, option

if TYPE_CHECKING:
    from ..data import Dataset, Trajectory
    from ..regressor import DynamicsRegressor

PANEL = "How the files are understood"
TABLE_ENDINGS = ", ".join(TABLE_FORMATS)
EDGE_ENDINGS = ", ".join((*TABLE_FORMATS, *GRAPH_FORMATS))


class Repeats(Choice, names=("error", "mean", "first", "last")):
    """What to do with several values for one node and time."""


class Infinite(Choice, names=("auto", "missing")):
    """What to do with infinite values."""


class Decimal(Choice, names=(".", ",")):
    """Decimal marks."""


class Between(Choice, names=("held", "linear")):
    """What inputs do between their times."""


class Unit(Choice, names=("second", "minute", "hour", "day", "week", "month", "year")):
    """Units of time for dates."""


def _option(text: str, *names: str, metavar: str | None = None) -> Any:
    return option(text, *names, metavar=metavar, show_default=False, rich_help_panel=PANEL)


def _column(text: str) -> Any:
    return _option(text, metavar="COLUMN")


NEGATED = {"directed": "--undirected", "one_graph": "--changing-graph", "same_names": "--any-names"}
Node = Annotated[str | None, _column("Column of states, features or labels: the node.")]


@dataclass(frozen=True)
class EdgeOptions:
    """How to read edges; each field is an option."""

    directed: Annotated[
        bool | None, _option("Whether edges act one way only. Default: as the file says.", "--directed/--undirected")
    ] = None
    source: Annotated[str | None, _column("Column of edges: who acts.")] = None
    target: Annotated[str | None, _column("Column of edges: who is acted on.")] = None
    weight: Annotated[str | None, _column("Column of edges: how strongly.")] = None

    def words(self) -> list[str]:
        """The options that are not as by default, as they are typed."""
        out = []
        for one in fields(self):
            value = getattr(self, one.name)
            option = f"--{one.name.replace('_', '-')}"
            if value == one.default:
                continue
            if isinstance(value, bool):
                out.append(option if value else NEGATED[one.name])
                continue
            for each in value if isinstance(value, list) else [value]:
                out += [option, str(each.value if isinstance(each, Enum) else each)]
        return out


@dataclass(frozen=True)
class NodeTableOptions(EdgeOptions):
    """How to read edges, features and labels of nodes; each field is an option."""

    node: Node = None
    label: Annotated[str | None, _column("Column of labels: the class.")] = None


@dataclass(frozen=True)
class How(EdgeOptions):
    """How to read edges and states; each field is an option."""

    nodes: Annotated[
        Path | None,
        _option(
            "Table of nodes: lat and lon, or x and y, are where they are drawn; other numbers are attributes.",
            metavar="FILE",
        ),
    ] = None
    inputs: Annotated[
        Path | None,
        _option("Table of inputs: a column of times, perhaps one of nodes, and one for each input.", metavar="FILE"),
    ] = None
    between: Annotated[
        Between | None, _option("What inputs do between their times. Default: held if they have three values at most.")
    ] = None
    edge_time: Annotated[str | None, _column("Column of edges: from when on; a graph for each time.")] = None
    one_graph: Annotated[
        bool | None, _option("Take all edges as one graph, whatever their times.", "--one-graph/--changing-graph")
    ] = None
    node: Node = None
    time: Annotated[str | None, _column("Column of states: the time.")] = None
    values: Annotated[list[str] | None, _column("Column of states: a value; give it again for more.")] = None
    run: Annotated[str | None, _column("Column of states: which run.")] = None
    date_format: Annotated[str | None, _option("How dates are written.", metavar="%d.%m.%Y")] = None
    unit: Annotated[Unit | None, _option("Unit of time for dates. Default: chosen to suit them.")] = None
    step: Annotated[float | None, _option("Round times to multiples of this; average what shares a time.")] = None
    duplicates: Annotated[Repeats | None, _option("Several values for one node and time. Default: error.")] = None
    infinite: Annotated[
        Infinite | None, _option("auto, the default: a few infinite values are missing, more an error.")
    ] = None
    missing: Annotated[
        list[str] | None,
        _option("A number or word in the states that means: not observed. Repeatable.", metavar="VALUE"),
    ] = None
    decimal: Annotated[Decimal | None, _option("Decimal mark. Default: found out.")] = None
    same_names: Annotated[
        bool | None, _option("Refuse names of nodes that are not in both files.", "--same-names/--any-names")
    ] = None

    def read(self, edges: Path, states: Path | None) -> Dataset:
        """``ndcn.read`` in this way; without states, the folder of data that ``edges`` names."""
        import ndcn

        if states is None:
            if edges.is_file():
                raise ValueError(
                    f"{edges} is a file: give a file of states too, edges first, as in: edges.csv states.csv. If nobody knows the edges: ndcn "
                    "find-network states.csv --out edges.csv"
                )
            return self._with_tables(parts.read(edges) if parts.is_parts(edges) else ndcn.Trajectory.load(edges))
        return ndcn.read(edges, states, **self.settings())

    def _with_tables(self, run: Trajectory) -> Dataset:
        """The run of a folder, with nodes and inputs from tables if they are given."""
        import ndcn

        from ..io import read_inputs, read_nodes

        told: list[str] = []
        if self.nodes is not None:
            table = read_nodes(self.nodes, run.graph.nodes)
            run, told = run.replaced(graph=table.on(run.graph)), table.notes
        if self.inputs is None:
            return ndcn.Dataset((run,), notes=tuple(told))
        how = None if self.between is None else self.between.value
        found = read_inputs(self.inputs, run.graph.nodes, run.calendar, between=how, date_format=self.date_format)
        return ndcn.Dataset((run.replaced(inputs=found.inputs),), notes=(*told, *found.notes))

    def read_states(self, states: Path) -> Dataset:
        """``ndcn.read`` of states alone, whose network is not known; a folder of data is read as such."""
        import ndcn

        return (
            ndcn.Dataset((ndcn.Trajectory.load(states),)) if states.is_dir() else ndcn.read(states, **self.settings())
        )

    def settings(self) -> dict[str, Any]:
        """The arguments of ``ndcn.read``."""
        if self.one_graph and self.edge_time is not None:
            raise ValueError("--one-graph leaves the times of edges aside, and --edge-time uses them: give one of them")
        given = {name: value for name, value in vars(self).items() if value is not None and value != []}
        settings = {name: value.value if isinstance(value, Enum) else value for name, value in given.items()}
        if settings.pop("one_graph", False):
            settings["edge_time"] = False
        settings["unknown"] = "error" if settings.pop("same_names", False) else "drop"
        return settings

    def or_as(self, model: DynamicsRegressor, states: Path | None) -> How:
        """These options, and for those that are not given what the files of a model were read with; a note says so."""
        kept = dict(model.reading_) if states is not None else {}
        if kept.get("edge_time") is False:
            kept["edge_time"], kept["one_graph"] = None, True
        if kept.get("unknown") == "error":
            kept["same_names"] = True
        if self.edge_time is not None or self.one_graph is not None:
            kept |= {"edge_time": None, "one_graph": None}
        if isinstance(kept.get("values"), str):
            kept["values"] = [kept["values"]]
        own = {one.name for one in fields(self) if getattr(self, one.name) in (None, [])}
        used = {name: value for name, value in kept.items() if name in own and value is not None}
        if used:
            note(f"note: read as for the fit: {' '.join(How(**used).words())}")
        return replace(self, **used)


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
        either = Parameter.POSITIONAL_OR_KEYWORD
        parameters += [Parameter(f.name, either, default=f.default, annotation=own[f.name]) for f in fields(kind)]

    @wraps(command)
    def with_options(**given: Any) -> None:
        how = kind(**{one.name: given.pop(one.name) for one in fields(kind)})
        command(**given, how=how)

    with_options.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # where typer looks
    with_options.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_options
