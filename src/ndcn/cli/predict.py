"""``ndcn predict``: the state at any times, as a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import parts
from .guard import note
from .options import (
    PICTURES,
    TABLES,
    Json,
    ModelFile,
    check_output,
    check_place,
    csv_of,
    load_dynamics,
    option,
    print_json,
    time_text,
    write_picture,
    write_table,
)

if TYPE_CHECKING:
    from ..data import Calendar, Trajectory
    from ..graph import Graph
    from ..regressor import Ahead, Answered, DynamicsRegressor, Fitted, Grouped

TIMES = (
    "Times, separated by commas, in the unit of the data or as dates, in any order, from the first training time (or that "
    "of --data) on."
)
UNTIL = (
    "Instead of --times: equally spaced from that first time to here, a number or a date; auto: all steps up to here. "
    "Default for auto: all that were forecast."
)
LEVEL = (
    "Share of the values, in (0, 1), that should lie between the columns FEATURE_lower and FEATURE_upper; several, as "
    "0.5,0.9, give FEATURE_lower_50, FEATURE_upper_50, FEATURE_lower_90, ... Default: 0.9 for auto, for other models no such "
    "columns; laws and ensembles have them on request, of the states themselves: noise of observations comes on top, but for "
    "laws that auto took."
)
DATA = "Folder with other data, whose graph and first state to predict from. Default: where training began."
WHAT_IF = (
    "Also predict what happens after a change: 'remove NODE', 'cut A B' (both ways), 'cut A->B', 'shock NODE +5', 'shock "
    "NODE x*0.5'. Give it again for more. Columns FEATURE_changed hold the changed trajectory."
)
OUT = (
    "Table to write, .csv or .parquet: time, node, features; of auto also FEATURE_lower and FEATURE_upper, of an ensemble "
    "FEATURE_std. Default: CSV to standard output."
)
GROUPS = (
    "auto only. Table of groups: a column of nodes, and a column of groups for each level, as region, country. Adds rows for the "
    "groups and for all nodes, with intervals of the sums by their past errors. Values are expected values then, which add up."
)
BY = "With --groups: the column of groups; give it again for more. Default: all columns of text in which names repeat."

INPUTS = (
    "Table of the later values of the inputs that the model was fitted with, as for `ndcn fit --inputs`; from their first time on they "
    "take the place of those of training."
)
MEAN = (
    "auto only: also FEATURE_mean, the expected value. FEATURE itself is a median: as often too high as too low; sums over nodes of "
    "means are the means of the sums."
)
NODE_TABLE = (
    "Of a law whose nodes differ. Table of nodes where to predict: attributes that its numbers follow, as `ndcn fit --nodes` reads them, or "
    "values of the numbers themselves, in columns named as in the equation (b_i)."
)
NODES = "Names of the only nodes to write, separated by commas. Default: all."
PLOT = (
    "Fan chart to write, .png, .pdf or .svg: the past, the prediction and intervals of --level and 50 %, of the six nodes with "
    "the largest change."
)


def predict(
    model: ModelFile,
    times: Annotated[str | None, option(TIMES, metavar="T1,T2,...")] = None,
    until: Annotated[str | None, option(UNTIL, metavar="TIME")] = None,
    count: Annotated[int | None, option("With --until: how many times. Default: 100.", min=2)] = None,
    level: Annotated[str | None, option(LEVEL, metavar="LEVEL")] = None,
    mean: Annotated[bool, option(MEAN, "--mean")] = False,
    data: Annotated[Path | None, option(DATA)] = None,
    what_if: Annotated[list[str] | None, option(WHAT_IF, "--what-if", metavar="CHANGE")] = None,
    at: Annotated[
        str | None, option("With --what-if: when. Default: where the prediction starts.", metavar="TIME")
    ] = None,
    out: Annotated[Path | None, option(OUT)] = None,
    plot: Annotated[Path | None, option(PLOT)] = None,
    groups: Annotated[Path | None, option(GROUPS, metavar="FILE")] = None,
    by: Annotated[list[str] | None, option(BY, metavar="COLUMN")] = None,
    nodes: Annotated[str | None, option(NODES, metavar="A,B,...")] = None,
    inputs: Annotated[Path | None, option(INPUTS, metavar="FILE")] = None,
    node_table: Annotated[Path | None, option(NODE_TABLE, metavar="FILE")] = None,
    as_json: Json = False,
) -> None:
    """Predict the state of every node at any times.

    Of data with dates, times are dates, here and in the table. A forecast (auto) is given for the steps after the last
    snapshot, with intervals.

    Example: ndcn predict model.ndcn --times 0.5,1.25,4.9 --out prediction.csv
    """
    _check_together(times, until, at, what_if, plot, data, groups, by, mean)
    levels = None if level is None else _levels(level)
    shared = parts.is_parts(data)
    check_place(out) if shared else check_output(out, TABLES)
    check_output(plot, PICTURES)
    import ndcn

    from ..regressor import parse

    changes = [parse(text) for text in what_if or []]
    estimator = load_dynamics(model)
    fitted, calendar = estimator.fitted_, estimator.calendar_
    _check_options(fitted, what_if=bool(changes), data=data is not None, count=count is not None, mean=mean)
    other = None if data is None else parts.read(data) if shared else ndcn.Trajectory.load(data)
    where: dict[str, Any] = (
        {} if other is None else {"graph": other.graph, "x0": other.first_state(), "t0": other.times[0].item()}
    )
    if node_table is not None:
        where["graph"] = _described(where.get("graph", estimator.train_[0].graph), node_table)
        estimator = _with_values(estimator, where["graph"])
    if inputs is not None:
        where["inputs"] = inputs
    elif other is not None and other.inputs is not None and fitted.takes:
        where["inputs"] = other.inputs
    begin = where.get("t0", estimator.train_[0].t0)
    when = begin if at is None else _time(at, calendar, "--at")
    asked = _asked(estimator, times, until, count, begin, other is None)
    _check_start(when, begin, estimator, "--at")
    wanted = None if nodes is None else nodes.split(",")
    if wanted is not None and as_json and out is None:
        raise ValueError("--nodes chooses rows of a table: give --out too, or drop --json")
    if shared and other is not None:
        parts.predicted(estimator, other, asked, wanted, out, plain=level is None and not changes and not as_json)
        return
    levels = fitted.level if levels is None else levels
    answer = _answer(estimator, asked, levels, where) if groups is None else _sums(estimator, asked, levels, groups, by)
    changed = estimator.what_if(changes, asked, at=when, **where) if changes else None
    if mean:
        answer = replace(answer, beside={"mean": estimator.forecast_.mean(asked).states, **answer.beside})
    if changed is not None:
        answer.beside["changed"] = changed.states
    table = _some(answer.table(texts=True), wanted)
    if out is not None:
        write_table(table, out)
    if plot is not None:
        _draw(estimator, asked, levels, plot)
    if as_json:
        about = answer.about() | ({} if levels is None else {"level": levels})
        about |= {} if changed is None else {"notes": list(changed.notes)}
        print_json({**about, **answer.to_json()} if out is None else {"out": str(out), "rows": len(table), **about})
    elif out is None:
        if fitted.caption is not None and groups is None:
            note(f"note: {fitted.caption}")
        typer.echo(csv_of(table), nl=False)
    else:
        said = "" if fitted.caption is None or groups is not None else f"\n{fitted.caption}"
        also = "" if groups is None else ", and groups"
        typer.echo(f"{_said(answer.mean, calendar)}{also}{said}\nwritten to {out}")


def _check_together(
    times: str | None,
    until: str | None,
    at: str | None,
    what_if: list[str] | None,
    plot: Path | None,
    data: Path | None,
    groups: Path | None,
    by: list[str] | None,
    mean: bool,
) -> None:
    """Refuse options that do not go together, before anything is read."""
    if times is not None and until is not None:
        raise ValueError("say when: either --times 0.5,1.25,4.9, or --until 5 --count 100, not both")
    if at is not None and not what_if:
        raise ValueError("--at says when the changes of --what-if happen: give --what-if too, or drop --at")
    if plot is not None and (data is not None or what_if):
        raise ValueError("--plot draws the prediction from the model's own data: drop --data and --what-if, or --plot")
    if groups is not None and plot is not None:
        raise ValueError("--plot draws nodes, not groups: drop --groups or --plot")
    if groups is not None and mean:
        raise ValueError("values with --groups are expected values already: drop --mean")
    if by and groups is None:
        raise ValueError("--by names columns of the table of --groups: give --groups too, or drop --by")


def _described(graph: Graph, table: Path) -> Graph:
    """The graph with attributes of its nodes from a table."""
    from ..io import read_nodes

    found = read_nodes(table, graph.nodes)
    for line in found.notes:
        note(f"note: {line}")
    return found.on(graph)


def _with_values(estimator: DynamicsRegressor, graph: Graph) -> DynamicsRegressor:
    """The model with values of nodes that are among the attributes.

    Raises:
        ValueError: the law is the same at every node.
    """
    import pandas as pd

    table = estimator.node_values_ if estimator.fitted_.can.law else None
    if table is None:
        raise ValueError("--node-table: this model has no numbers that vary among nodes; drop it")
    own = [name for name in graph.attributes if name in table.columns and f"{name} error" in table.columns]
    given = pd.DataFrame({name: graph.attributes[name] for name in own}, index=list(graph.nodes)).dropna()
    return estimator.with_node_values(given) if own else estimator


def _asked(
    estimator: DynamicsRegressor, times: str | None, until: str | None, count: int | None, begin: float, own: bool
) -> list[float]:
    """The times to predict; ``own`` says that the prediction starts from the model's own data.

    Raises:
        ValueError: none were named, or some that cannot be predicted.
    """
    fitted, calendar = estimator.fitted_, estimator.calendar_
    given = None if times is None else [_time(word, calendar, "--times") for word in times.split(",")]
    end = None if until is None else _time(until, calendar, "--until")
    if fitted.ahead is not None:
        return _steps(fitted.ahead, given, end, calendar)
    if given is None and own and count is None and fitted.steps is not None:
        return _further(fitted.steps, end, calendar)
    if given is not None:
        _check_start(min(given), begin, estimator, "--times")
        return given
    if end is not None:
        return _between(begin, end, 100 if count is None else count, calendar)
    raise ValueError("say when: either --times 0.5,1.25,4.9, or --until 5 --count 100")


def _some(table: Any, nodes: list[str] | None) -> Any:
    """The rows of some nodes.

    Raises:
        ValueError: there is no such node.
    """
    if nodes is None:
        return table
    names = table["node"].astype(str)
    if unknown := sorted(set(nodes) - set(names)):
        raise ValueError(f"--nodes: there is no node {unknown[0]!r}; nodes are named as in the data")
    return table[names.isin(nodes)]


def _draw(estimator: DynamicsRegressor, asked: list[float], levels: Any, path: Path) -> None:
    """Write the fan chart."""
    from ..plot import forecast

    given = [0.9] if levels is None else [levels] if isinstance(levels, float) else list(levels)
    axes = forecast(estimator, times=asked, levels=tuple(sorted({0.5, *given} if len(given) == 1 else set(given))))
    write_picture(axes.figure, path)


def _check_options(fitted: Fitted, **given: bool) -> None:
    """Refuse what only a model that starts anywhere, at any time, can be asked."""
    dynamics = "fit a model of dynamics, as --model interaction or --model ndcn"
    if given["what_if"] and not (fitted.can.any_start and fitted.can.any_graph):
        raise ValueError(f"--what-if: this model cannot start from another state; {dynamics}")
    if given["data"] and not (fitted.can.any_start and fitted.can.any_graph):
        raise ValueError(f"--data: this model continues from its own data only; {dynamics}")
    if given["mean"] and fitted.forecast is None:
        raise ValueError("--mean: only the median and the mean of a forecast (auto) differ; drop it")
    if given["count"] and fitted.ahead is not None:
        raise ValueError("--count: forecasts are made at the steps of the data; drop it")


def _levels(text: str) -> float | list[float]:
    """One level, or several separated by commas.

    Raises:
        ValueError: they are no numbers between 0 and 1.
    """
    try:
        levels = [float(word) for word in text.split(",")]
    except ValueError:
        levels = []
    if not levels or not all(0 < one < 1 for one in levels) or len(set(levels)) != len(levels):
        raise ValueError(f"--level must lie between 0 and 1, as 0.9 or 0.5,0.9; got {text}")
    return levels if len(levels) > 1 else levels[0]


def _answer(
    estimator: DynamicsRegressor, asked: list[float], level: float | list[float] | None, where: dict[str, Any]
) -> Answered:
    """The prediction; beside it the standard deviation of an ensemble, and ends of intervals."""
    from ..regressor import answered, changes_graph

    if level is not None and changes_graph(estimator, where):
        raise ValueError("there are no intervals for predictions that go from graph to graph: drop --level")
    if level is not None and not estimator.fitted_.can.spread:
        raise ValueError(
            "--level: one model has no spread. Fit several of them with `ndcn fit --ensemble 5`, a law with --model "
            "interaction, or a forecast without --model; or drop --level"
        )
    return answered(estimator, asked, level, where)


def _sums(
    estimator: DynamicsRegressor,
    asked: list[float],
    level: float | list[float] | None,
    groups: Path,
    by: list[str] | None,
) -> Grouped:
    """The forecast of nodes and groups; notes say what the groups do not hold."""
    from ..regressor import grouped
    from .guard import notes

    found = grouped(estimator, asked, level, groups, by or ())
    notes(found.groups.notes)
    return found


def _steps(ahead: Ahead, asked: list[float] | None, until: float | None, calendar: Calendar | None) -> list[float]:
    """The times to forecast: those asked for, or all steps up to ``until``, or up to the horizon.

    Raises:
        ValueError: a time that the forecast does not reach.
    """
    near, every = 1e-6 * ahead.step, ahead.times
    wanted = asked if asked is not None else [t for t in every if until is None or t <= until + near]
    named = [until] if asked is None and until is not None else wanted
    outside = [t for t in named if not ahead.start + near < t <= every[-1] + near]
    if outside:
        first, last, bad = (time_text(t, calendar) for t in (every[0], every[-1], outside[0]))
        what = (
            "fit with a larger --horizon to go further"
            if outside[0] > ahead.start
            else "it says nothing about the times of the data themselves, a model that is trained does, as --model ndcn"
        )
        raise ValueError(f"the forecast goes from {first} to {last}, and {bad} was asked for: {what}")
    return wanted


def _further(steps: Ahead, until: float | None, calendar: Calendar | None) -> list[float]:
    """The steps of a law after the last snapshot: those to forecast, or all up to ``until``, however far.

    Raises:
        ValueError: that is before the first step.
    """
    if until is None:
        return steps.times
    count = int((until - steps.start) / steps.step + 1e-6)
    if count < 1:
        first, bad = (time_text(t, calendar) for t in (steps.times[0], until))
        raise ValueError(
            f"--until: the steps after the last snapshot begin at {first}, and {bad} was asked for; name times before it with --times, or give --count"
        )
    return replace(steps, steps=count).times


def _said(prediction: Trajectory, calendar: Calendar | None) -> str:
    if calendar is None or not calendar.dated:
        return repr(prediction)
    from .._support.wording import counted

    first, last = calendar.texts([prediction.times.min().item(), prediction.times.max().item()])
    times = f"1 time, {first}" if len(prediction) == 1 else f"{len(prediction)} times from {first} to {last}"
    return f"{times}, {counted(prediction.graph.num_nodes, 'node')}: {', '.join(prediction.features)}"


def _time(text: str, calendar: Calendar | None, option: str) -> float:
    try:
        return float(text) if calendar is None else calendar.number(text)
    except ValueError as error:
        dated = calendar is not None and calendar.dated
        wrong = str(error) if dated else "write numbers separated by commas, for example 0.5,1.25,4.9"
        raise ValueError(f"{option} {text}: {wrong}") from None


def _check_start(t: float, begin: float, estimator: DynamicsRegressor, option: str) -> None:
    """Refuse times before the model starts, in the words of the data."""
    if t < begin - estimator.train_[0].tolerance:
        first, asked = (time_text(x, estimator.calendar_) for x in (begin, t))
        raise ValueError(f"{option}: the prediction starts at {first} and only goes forward, but {asked} was asked for")


def _between(begin: float, until: float, count: int, calendar: Calendar | None) -> list[float]:
    import numpy as np

    if not (until > begin and np.isfinite(until)):
        first, last = (time_text(t, calendar) for t in (begin, until))
        raise ValueError(f"--until must lie after the first time {first}, got {last}")
    spread: list[float] = np.linspace(begin, until, count).tolist()
    return spread
