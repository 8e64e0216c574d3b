"""``ndcn network-test``: whether the network matters for forecasts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from . import parts, reading
from .guard import data_notes
from .options import (
    PICTURES,
    Data,
    Horizon,
    Json,
    Kind,
    Period,
    States,
    check_output,
    option,
    print_json,
    write_picture,
)


@reading.reads_files
def network_test(
    data: Data,
    states: States = None,
    shuffles: Annotated[int, option("Graphs with shuffled nodes; p is at least 1 / (1 + SHUFFLES).", min=19)] = 99,
    horizon: Horizon = None,
    feature: Annotated[str | None, option("Which variable. Default: the first.")] = None,
    seed: Annotated[int, option("Seed of the shuffles.", min=0)] = 0,
    kind_of_data: Kind = None,
    period: Period = None,
    out: Annotated[
        Path | None, option("Picture to write, .png, .pdf or .svg: errors by graph, real and shuffled.")
    ] = None,
    how: reading.How = reading.PLAIN,
    as_json: Json = False,
) -> None:
    """Test whether the network matters: do a node's neighbours improve its forecasts, and more than other nodes would?

    Forecasts from a node's own past and the common mean are compared with forecasts that also use its neighbours, and
    with the same on graphs whose nodes are shuffled. The p-value is for one step ahead.

    Example: ndcn network-test edges.csv states.csv --out picture.png
    """
    check_output(out, PICTURES)
    parts.refuse(data, "network-test")
    known = how.read(data, states)
    data_notes(known, [data, states, *how.words()])
    from .. import forecast
    from ..regressor import longest_run

    trajectory, graphs = longest_run(known)
    if feature is not None and feature not in trajectory.features:
        raise ValueError(f"--feature {feature}: the data have {', '.join(trajectory.features)}")
    which = 0 if feature is None else trajectory.features.index(feature)
    settings: dict[str, Any] = {"feature": which, "horizon": horizon, "shuffles": shuffles, "seed": seed}
    settings |= {"kind": kind_of_data and kind_of_data.value, "period": period}
    answer = forecast.network_test(trajectory, graphs=graphs, **settings)
    if out is not None:
        from .. import plot

        write_picture(plot.network_test(answer).figure, out)
    if as_json:
        print_json({**answer.to_json(), **({} if out is None else {"out": str(out)})})
    else:
        typer.echo(f"{answer}" + ("" if out is None else f"\npicture written to {out}"))
