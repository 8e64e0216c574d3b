"""``ndcn report``: an interactive page about a fitted model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import reading
from .guard import note
from .options import Json, check_output, load_dynamics, print_json


@reading.reads_files
def report(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, as `ndcn fit` writes it.")],
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="Folder with data on the graph that the model was trained on, or, with STATES, a file of edges: then the "
            "truth and the errors are shown too. Default: the prediction alone, over the training window and half its length "
            "beyond; auto only: the steps of the forecast.",
            show_default=False,
        ),
    ] = None,
    states: Annotated[
        Path | None,
        typer.Argument(metavar="STATES", help="File of states, if DATA is a file of edges; see `ndcn inspect`."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Output file; an existing file is replaced.")] = Path("report.html"),
    how: reading.How = reading.PLAIN,
    as_json: Json = False,
) -> None:
    """Write an interactive page: observed states, prediction, errors, and what comes next.

    It is one HTML file that opens in a browser from disk, without server or network. Times are dates if the data have
    dates.

    Example: ndcn report model.ndcn data --out report.html, or: ndcn report model.ndcn edges.csv states.csv
    """
    check_output(out)
    from ..report import write_report

    estimator = load_dynamics(model)
    known = None if data is None else how.read(data, states)
    for line in () if known is None else known.notes:
        note(f"note: {line}")
    if not as_json:
        note("predicting and laying out the network ...")
    words = [str(path) for path in (data, states) if path is not None] + how.words()
    size = write_report(estimator, out, known, model_name=str(model), data_words=words)
    if as_json:
        print_json({"out": str(out), "bytes": size, "nodes": estimator.train_[0].graph.num_nodes})
    else:
        typer.echo(f"written to {out}, {size / 1e6:.2g} MB; open it in a browser: {out.absolute().as_uri()}")
