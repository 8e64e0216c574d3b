"""``ndcn backtest``: how a model would have forecast in the past."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from . import parts, reading
from .guard import data_notes
from .options import (
    EPOCHS,
    KEEP_OUTLIERS,
    KIND,
    LAW,
    PERIOD,
    TABLES,
    Data,
    Horizon,
    Json,
    KindOfData,
    ModelName,
    States,
    check_output,
    option,
    print_json,
    write_table,
)

ORIGINS = "How many past moments to forecast from, evenly spaced over the second half of the snapshots."


@reading.reads_files
def backtest(
    data: Data,
    states: States = None,
    model: Annotated[ModelName, option("What to fit at each origin; see `ndcn fit`.")] = ModelName.auto,
    horizon: Horizon = None,
    origins: Annotated[int, option(ORIGINS, min=1)] = 5,
    kind_of_data: Annotated[KindOfData | None, option(f"auto only. {KIND}", "--kind")] = None,
    period: Annotated[int | None, option(f"auto only. {PERIOD}", min=2)] = None,
    keep_outliers: Annotated[bool, option(f"auto only. {KEEP_OUTLIERS}", "--keep-outliers")] = False,
    law: Annotated[bool, option(f"auto only. {LAW}", "--law/--no-law")] = True,
    epochs: Annotated[int | None, option(EPOCHS, min=1)] = None,
    seed: Annotated[int, option("Seed of the initial weights.", min=0)] = 0,
    jobs: Annotated[int, option("Processes, an origin in each.", min=1)] = 1,
    ray: Annotated[
        str, option("Fit origins on a Ray cluster: auto or its address.", metavar="ADDRESS", show_default="none")
    ] = "",
    out: Annotated[Path | None, option("Table to write, .csv or .parquet: a row for each origin and step.")] = None,
    how: reading.How = reading.PLAIN,
    as_json: Json = False,
) -> None:
    """Fit a model at past moments and measure its errors on what came next, beside persistence.

    At each origin the model learns from the snapshots so far and predicts the next ones. The error is mean |prediction -
    truth| over nodes; a ratio below 1 is more accurate than persistence.

    Example: ndcn backtest edges.csv states.csv --model interaction --horizon 7 --origins 5
    """
    check_output(out, TABLES)
    parts.refuse(data, "backtest")
    known = how.read(data, states)
    data_notes(known, [data, states, *how.words()])
    import ndcn

    from ..regressor import kind_for

    options = {"kind": kind_of_data and kind_of_data.value, "period": period, "keep_outliers": keep_outliers or None}
    options |= {"law": law and None}
    asked = kind_for(model.value).configured({name: value for name, value in options.items() if value is not None})
    settings: dict[str, Any] = {"seed": seed, **({} if epochs is None else {"epochs": epochs})}
    found = ndcn.backtest(known, asked, origins=origins, horizon=horizon, processes=ray or jobs, **settings)
    if out is not None:
        write_table(found.to_pandas(), out)
    if as_json:
        print_json({**found.to_json(), **({} if out is None else {"out": str(out)})})
    else:
        typer.echo(f"{found}" + ("" if out is None else f"\nwritten to {out}"))
