"""``ndcn predict``: the state at any times, as a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Json, check_table_output, load_dynamics, print_json, write_table

if TYPE_CHECKING:
    import pandas as pd
    import torch

    from ..estimators import DynamicsRegressor
    from ..tables import Calendar
    from ..trajectory import Trajectory
    from ..what_if import Change


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
            metavar="TIME", help="Instead of --times: equally spaced from that first time to here, a number or a date."
        ),
    ] = None,
    count: Annotated[int, typer.Option(min=2, help="With --until: how many times.")] = 100,
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
            help="Table to write, .csv or .parquet: time, node, features; of an ensemble also their standard deviations, "
            "FEATURE_std. Default: CSV to standard output."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Predict the state of every node at any times.

    Of data with dates, times are dates, here and in the table.

    Example: ndcn predict model.ndcn --times 0.5,1.25,4.9 --out prediction.csv
    """
    if (times is None) == (until is None):
        raise ValueError("say when: either --times 0.5,1.25,4.9, or --until 5 --count 100")
    if at is not None and not what_if:
        raise ValueError("--at says when the changes of --what-if happen: give --what-if too, or drop --at")
    from ..what_if import parse

    changes = [parse(text) for text in what_if or []]
    if out is not None:
        check_table_output(out)
    import ndcn

    estimator = load_dynamics(model)
    other = None if data is None else ndcn.Trajectory.load(data)
    calendar = estimator.calendar_
    begin = estimator.train_[0].t0 if other is None else other.times[0].item()
    asked = (
        _spread(begin, _time(until, calendar, "--until"), count)
        if until is not None
        else [_time(word, calendar, "--times") for word in (times or "").split(",")]
    )
    prediction, spread = _predicted(estimator, asked, other)
    changed = None
    if changes:
        changed = _changed(estimator, prediction, changes, begin if at is None else _time(at, calendar, "--at"), other)
    table = _table(prediction, spread, changed, calendar)
    if out is not None:
        write_table(table, out)
    if as_json:
        about = _about(prediction, calendar)
        content: dict[str, Any] = {"states": _lists(prediction.states)}
        content |= {} if spread is None else {"std": _lists(spread.states)}
        content |= {} if changed is None else {"changed": _lists(changed)}
        print_json({**about, **content} if out is None else {"out": str(out), "rows": len(table), **about})
    elif out is None:
        typer.echo(table.to_csv(index=False), nl=False)
    else:
        typer.echo(f"{prediction!r}\nwritten to {out}")


def _predicted(
    estimator: DynamicsRegressor, asked: list[float], other: Trajectory | None
) -> tuple[Trajectory, Trajectory | None]:
    """The prediction, and the spread of an ensemble."""
    if other is None and estimator.graphs_ is not None and len(estimator.graphs_) > 1:
        from ..piecewise import predict_piecewise

        return predict_piecewise(estimator, asked, estimator.graphs_), None
    where: dict[str, Any] = {}
    if other is not None:
        where = {"graph": other.graph, "x0": other.first_state(), "t0": other.times[0].item()}
    if len(estimator.models_) == 1:
        return estimator.predict(asked, **where), None
    return estimator.predict(asked, return_std=True, **where)


def _changed(
    estimator: DynamicsRegressor, base: Trajectory, changes: list[Change], at: float, other: Trajectory | None
) -> torch.Tensor:
    from ..course import changed_course

    start, _ = _predicted(estimator, [at], other)
    return changed_course(estimator, base, changes, at=at, start=start.states[0])


def _time(text: str, calendar: Calendar | None, option: str) -> float:
    try:
        return float(text) if calendar is None else calendar.number(text)
    except ValueError:
        like = "2021-03-01" if calendar is not None and calendar.dated else "0.5,1.25,4.9"
        raise ValueError(f"{option} {text}: write numbers separated by commas, for example {like}") from None


def _spread(begin: float, until: float, count: int) -> list[float]:
    import numpy as np

    if not (until > begin and np.isfinite(until)):
        raise ValueError(f"--until must lie after the first time {begin:.15g}, got {until:.15g}")
    spread: list[float] = np.linspace(begin, until, count).tolist()
    return spread


def _table(
    prediction: Trajectory, spread: Trajectory | None, changed: torch.Tensor | None, calendar: Calendar | None
) -> pd.DataFrame:
    """The long table, with the standard deviation of each feature and its changed course beside it, if there are any."""
    table = prediction.to_pandas()
    beside = {} if spread is None else {"std": spread.states}
    beside |= {} if changed is None else {"changed": changed}
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


def _about(prediction: Trajectory, calendar: Calendar | None) -> dict[str, list[object]]:
    from ..trajectory_files import plain_labels

    labels = plain_labels(prediction.graph)
    return {
        "times": prediction.times.tolist(),
        **({} if calendar is None else {"dates": list(calendar.texts(prediction.times.numpy()))}),
        "nodes": list(range(prediction.graph.num_nodes)) if labels is None else list(labels),
        "features": list(prediction.features),
    }
