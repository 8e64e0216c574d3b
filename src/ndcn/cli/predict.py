"""``ndcn predict``: the state at any times, as a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import automatic
from .options import Json, check_table_output, load_dynamics, print_json, write_table

if TYPE_CHECKING:
    import pandas as pd
    import torch

    from ..data import Calendar, Trajectory
    from ..regressor import Change, DynamicsRegressor


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, as `ndcn fit` writes it.")],
    times: Annotated[
        str | None,
        typer.Option(
            metavar="T1,T2,...",
            help="Times, separated by commas, in the unit of the data or as dates, in any order, from the first training "
            "time (or that of --data) on.",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Instead of --times: equally spaced from that first time to here, a number or a date; of auto all steps "
            "up to here. Default for auto: all that were forecast.",
        ),
    ] = None,
    count: Annotated[
        int | None, typer.Option(min=2, help="With --until: how many times. Default: 100.", show_default=False)
    ] = None,
    level: Annotated[
        float | None,
        typer.Option(
            help="Share of the values, in (0, 1), that should lie between the columns FEATURE_lower and FEATURE_upper. "
            "Default: 0.9 for auto, for other models no such columns; laws and ensembles have them on request.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder with other data: predict on its graph, from its first state at its first time. Default: where "
            "training began."
        ),
    ] = None,
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            "--what-if",
            metavar="CHANGE",
            help="Also predict what happens after a change: 'remove NODE', 'cut A B' (both ways), 'cut A->B', 'shock NODE "
            "+5', 'shock NODE x*0.5'. Give it again for more. Columns FEATURE_changed hold the changed course.",
            show_default=False,
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="With --what-if: when the changes happen. Default: where the prediction starts."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Table to write, .csv or .parquet: time, node, features; of auto also FEATURE_lower and FEATURE_upper, of an "
            "ensemble FEATURE_std, their standard deviations. Default: CSV to standard output."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Predict the state of every node at any times.

    Of data with dates, times are dates, here and in the table. A forecast (auto) is given for the steps after the last
    snapshot, with intervals.

    Example: ndcn predict model.ndcn --times 0.5,1.25,4.9 --out prediction.csv
    """
    if times is not None and until is not None:
        raise ValueError("say when: either --times 0.5,1.25,4.9, or --until 5 --count 100, not both")
    if level is not None and not 0 < level < 1:
        raise ValueError(f"--level must lie between 0 and 1, as 0.9; got {level}")
    if at is not None and not what_if:
        raise ValueError("--at says when the changes of --what-if happen: give --what-if too, or drop --at")
    from ..regressor import parse

    changes = [parse(text) for text in what_if or []]
    if out is not None:
        check_table_output(out)
    import ndcn

    estimator = load_dynamics(model)
    other = None if data is None else ndcn.Trajectory.load(data)
    calendar = estimator.calendar_
    begin = estimator.train_[0].t0 if other is None else other.times[0].item()
    given = None if times is None else [_time(word, calendar, "--times") for word in times.split(",")]
    end = None if until is None else _time(until, calendar, "--until")
    when = begin if at is None else _time(at, calendar, "--at")
    forecast = getattr(estimator, "forecast_", None)
    if forecast is not None:
        automatic.check_forecast(changed=bool(changes), elsewhere=other is not None, counted=count is not None)
        asked, level = automatic.steps_asked(forecast, given, end, calendar), 0.9 if level is None else level
    elif given is not None:
        _check_start(min(given), begin, estimator, "--times")
        asked = given
    elif end is not None:
        asked = _spread(begin, end, 100 if count is None else count, calendar)
    else:
        raise ValueError("say when: either --times 0.5,1.25,4.9, or --until 5 --count 100")
    _check_start(when, begin, estimator, "--at")
    prediction, spread = _predicted(estimator, asked, other)
    beside = {} if spread is None else {"std": spread.states}
    if level is not None:
        beside |= _between(estimator, asked, other, level)
    if changes:
        beside["changed"] = _changed(estimator, prediction, changes, when, other)
    table = _table(prediction, beside, calendar)
    if out is not None:
        write_table(table, out)
    if as_json:
        about = _about(prediction, calendar)
        content: dict[str, Any] = {"states": _lists(prediction.states)}
        content |= {word: _lists(states) for word, states in beside.items()}
        about |= {} if level is None else {"level": level}
        print_json({**about, **content} if out is None else {"out": str(out), "rows": len(table), **about})
    elif out is None:
        typer.echo(table.to_csv(index=False), nl=False)
    else:
        typer.echo(f"{_said(prediction, calendar)}\nwritten to {out}")


def _said(prediction: Trajectory, calendar: Calendar | None) -> str:
    if calendar is None or not calendar.dated:
        return repr(prediction)
    from .._support.wording import counted

    first, last = calendar.texts([prediction.times.min().item(), prediction.times.max().item()])
    times = f"1 time, {first}" if len(prediction) == 1 else f"{len(prediction)} times from {first} to {last}"
    return f"{times}, {counted(prediction.graph.num_nodes, 'node')}: {', '.join(prediction.features)}"


def _predicted(
    estimator: DynamicsRegressor, asked: list[float], other: Trajectory | None
) -> tuple[Trajectory, Trajectory | None]:
    """The prediction, and the spread of an ensemble."""
    if (
        other is None
        and estimator.graphs_ is not None
        and _changes_graph(estimator)
        and not hasattr(estimator, "forecast_")
    ):
        from ..regressor import predict_piecewise

        return predict_piecewise(estimator, asked, estimator.graphs_), None
    where = _where(other)
    if len(estimator.models_) == 1:
        return estimator.predict(asked, **where), None
    return estimator.predict(asked, return_std=True, **where)


def _where(other: Trajectory | None) -> dict[str, Any]:
    """Graph and start of other data than those trained on."""
    return {} if other is None else {"graph": other.graph, "x0": other.first_state(), "t0": other.times[0].item()}


def _between(
    estimator: DynamicsRegressor, asked: list[float], other: Trajectory | None, level: float
) -> dict[str, torch.Tensor]:
    """Ends of intervals."""
    if other is None and _changes_graph(estimator) and not hasattr(estimator, "forecast_"):
        raise ValueError("there are no intervals for predictions that go from graph to graph: drop --level")
    if len(estimator.models_) == 1 and not hasattr(estimator, "learned_") and not hasattr(estimator, "forecast_"):
        raise ValueError(
            "--level: one model has no spread. Fit several of them with `ndcn fit --ensemble 5`, a law with --model "
            "interaction, or a forecast without --model; or drop --level"
        )
    lower, upper = estimator.intervals(asked, level, **_where(other))
    return {"lower": lower.states, "upper": upper.states}


def _changes_graph(estimator: DynamicsRegressor) -> bool:
    return estimator.graphs_ is not None and len(estimator.graphs_) > 1


def _changed(
    estimator: DynamicsRegressor, base: Trajectory, changes: list[Change], at: float, other: Trajectory | None
) -> torch.Tensor:
    from ..regressor import changed_course

    start, _ = _predicted(estimator, [at], other)
    return changed_course(estimator, base, changes, at=at, start=start.states[0])


def _time(text: str, calendar: Calendar | None, option: str) -> float:
    try:
        return float(text) if calendar is None else calendar.number(text)
    except ValueError:
        like = "2021-03-01" if calendar is not None and calendar.dated else "0.5,1.25,4.9"
        raise ValueError(f"{option} {text}: write numbers separated by commas, for example {like}") from None


def _check_start(t: float, begin: float, estimator: DynamicsRegressor, option: str) -> None:
    """Refuse times before the model starts, in the words of the data."""
    if t < begin - estimator.train_[0].tolerance:
        first, asked = (automatic.time_text(x, estimator.calendar_) for x in (begin, t))
        raise ValueError(f"{option}: the prediction starts at {first} and only goes forward, but {asked} was asked for")


def _spread(begin: float, until: float, count: int, calendar: Calendar | None) -> list[float]:
    import numpy as np

    if not (until > begin and np.isfinite(until)):
        first, last = (automatic.time_text(t, calendar) for t in (begin, until))
        raise ValueError(f"--until must lie after the first time {first}, got {last}")
    spread: list[float] = np.linspace(begin, until, count).tolist()
    return spread


def _table(prediction: Trajectory, beside: dict[str, torch.Tensor], calendar: Calendar | None) -> pd.DataFrame:
    """The long table, with what is beside each feature: its standard deviation, ends of intervals, changed course."""
    table = prediction.to_pandas()
    for word, states in beside.items():
        for k, feature in enumerate(prediction.features):
            if f"{feature}_{word}" in table:
                raise ValueError(
                    f"the features {feature} and {feature}_{word} leave no name for the column {feature}_{word}"
                )
            table[f"{feature}_{word}"] = states[:, :, k].reshape(-1).numpy()
    if calendar is not None:
        distinct = prediction.times.unique().numpy()
        table["time"] = table["time"].map(dict(zip(distinct.tolist(), calendar.texts(distinct), strict=True)))
    return table


def _lists(states: torch.Tensor) -> list[Any]:
    """Nested lists with None for NaN, which JSON does not know."""
    return [[[None if x != x else x for x in node] for node in snapshot] for snapshot in states.tolist()]


def _about(prediction: Trajectory, calendar: Calendar | None) -> dict[str, Any]:
    from ..data import plain_labels

    labels = plain_labels(prediction.graph)
    return {
        "times": prediction.times.tolist(),
        **({} if calendar is None else {"dates": list(calendar.texts(prediction.times.numpy()))}),
        "nodes": list(range(prediction.graph.num_nodes)) if labels is None else list(labels),
        "features": list(prediction.features),
    }
