"""``ndcn predict``: the state at any times, as a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Json, check_table_output, load_dynamics, print_json, write_table

if TYPE_CHECKING:
    import pandas as pd

    from ..trajectory import Trajectory


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, as `ndcn fit` writes it.")],
    times: Annotated[
        str | None,
        typer.Option(
            metavar="T1,T2,...",
            help="Times, separated by commas, in the unit of the data, in any order, from the first training time (or "
            "that of --data) on.",
        ),
    ] = None,
    until: Annotated[
        float | None, typer.Option(help="Instead of --times: equally spaced from that first time to here.")
    ] = None,
    count: Annotated[int, typer.Option(min=2, help="With --until: how many times.")] = 100,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder with other data: predict on its graph, from its first state at its first time. Default: where "
            "training began."
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

    Example: ndcn predict model.ndcn --times 0.5,1.25,4.9 --out prediction.csv
    """
    if (times is None) == (until is None):
        raise ValueError("say when: either --times 0.5,1.25,4.9, or --until 5 --count 100")
    asked = None if times is None else _numbers(times)
    if out is not None:
        check_table_output(out)
    import ndcn

    estimator = load_dynamics(model)
    other = None if data is None else ndcn.Trajectory.load(data)
    if asked is None and until is not None:
        asked = _spread(estimator.train_[0].t0 if other is None else other.times[0].item(), until, count)
    where: dict[str, Any] = {}
    if other is not None:
        where = {"graph": other.graph, "x0": other.first_state(), "t0": other.times[0].item()}
    spread: Trajectory | None = None
    if len(estimator.models_) == 1:
        prediction = estimator.predict(asked, **where)
    else:
        prediction, spread = estimator.predict(asked, return_std=True, **where)
    if out is None:
        _print(prediction, spread, as_json)
        return
    table = _table(prediction, spread)
    write_table(table, out)
    if as_json:
        print_json({"out": str(out), "rows": len(table), **_about(prediction)})
    else:
        typer.echo(f"{prediction!r}\nwritten to {out}")


def _numbers(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise ValueError(f"--times {text}: write numbers separated by commas, for example 0.5,1.25,4.9") from None


def _spread(begin: float, until: float, count: int) -> list[float]:
    import numpy as np

    if not (until > begin and np.isfinite(until)):
        raise ValueError(f"--until must lie after the first time {begin:.15g}, got {until:.15g}")
    spread: list[float] = np.linspace(begin, until, count).tolist()
    return spread


def _table(prediction: Trajectory, spread: Trajectory | None) -> pd.DataFrame:
    """The long table, with the standard deviation of each feature beside it if there is one."""
    table = prediction.to_pandas()
    if spread is None:
        return table
    deviations = spread.to_pandas()
    for feature in spread.features:
        if f"{feature}_std" in table:
            raise ValueError(f"the features {feature} and {feature}_std leave no name for the deviation of {feature}")
        table[f"{feature}_std"] = deviations[feature]
    return table


def _print(prediction: Trajectory, spread: Trajectory | None, as_json: bool) -> None:
    if as_json:
        deviations = {} if spread is None else {"std": spread.states.tolist()}
        print_json({**_about(prediction), "states": prediction.states.tolist(), **deviations})
    else:
        typer.echo(_table(prediction, spread).to_csv(index=False), nl=False)


def _about(prediction: Trajectory) -> dict[str, list[object]]:
    from ..trajectory_files import plain_labels

    labels = plain_labels(prediction.graph)
    return {
        "times": prediction.times.tolist(),
        "nodes": list(range(prediction.graph.num_nodes)) if labels is None else list(labels),
        "features": list(prediction.features),
    }
