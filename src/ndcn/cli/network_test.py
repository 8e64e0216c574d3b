"""``ndcn network-test``: whether the network matters for forecasts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import reading
from .guard import note
from .options import Json, check_picture, print_json


@reading.reads_files
def network_test(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="File of edges, with STATES; or a folder with data, as `ndcn simulate` or Trajectory.save write it.",
        ),
    ],
    states: Annotated[
        Path | None,
        typer.Argument(metavar="STATES", help="File of states, if DATA is a file of edges; see `ndcn inspect`."),
    ] = None,
    shuffles: Annotated[
        int, typer.Option(min=19, help="Graphs with shuffled nodes to compare with; p is at least 1 / (1 + SHUFFLES).")
    ] = 99,
    horizon: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Forecast horizon in steps. Default: 14, or a quarter of the snapshots if that is less.",
            show_default=False,
        ),
    ] = None,
    feature: Annotated[str | None, typer.Option(help="Which variable. Default: the first.", show_default=False)] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the shuffles.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="Picture to write, .png, .pdf or .svg: errors with shuffled graphs and with the real one."),
    ] = None,
    how: reading.How = reading.PLAIN,
    as_json: Json = False,
) -> None:
    """Test whether the network matters: do a node's neighbours improve its forecasts, and more than other nodes would?

    Forecasts from a node's own past and the common mean are compared with forecasts that also use its neighbours, and
    with the same on graphs whose nodes are shuffled. The p-value is for one step ahead.

    Example: ndcn network-test edges.csv states.csv --out picture.png
    """
    if out is not None:
        check_picture(out)
    known = how.read(data, states)
    for line in known.notes:
        note(f"note: {line}")
    from .. import forecast
    from ..regressor import longest_run

    trajectory, graphs = longest_run(known)
    if feature is not None and feature not in trajectory.features:
        raise ValueError(f"--feature {feature}: the data have {', '.join(trajectory.features)}")
    which = 0 if feature is None else trajectory.features.index(feature)
    answer = forecast.network_test(
        trajectory, graphs=graphs, feature=which, horizon=horizon, shuffles=shuffles, seed=seed
    )
    if out is not None:
        from matplotlib.figure import Figure

        from .. import plot
        from .._support.files import write

        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        plot.network_test(answer, ax=figure.add_subplot())
        write(out, lambda new: figure.savefig(new, dpi=150))
    if as_json:
        print_json({**answer.to_json(), **({} if out is None else {"out": str(out)})})
    else:
        typer.echo(f"{answer}" + ("" if out is None else f"\npicture written to {out}"))
