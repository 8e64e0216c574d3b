"""``ndcn report``: a page on which a learned model can be watched and questioned."""

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
            "truth and the errors are shown too. Default: what the model says, from where training began to half as far "
            "beyond; of auto the steps that were forecast.",
            show_default=False,
        ),
    ] = None,
    states: Annotated[
        Path | None,
        typer.Argument(metavar="STATES", help="File of states, if DATA is a file of edges; see `ndcn inspect`."),
    ] = None,
    out: Annotated[Path, typer.Option(help="File to write; a file that is there is replaced.")] = Path("report.html"),
    how: reading.How = reading.PLAIN,
    as_json: Json = False,
) -> None:
    """Write a page that shows what the network did, what the model says, where it is wrong and what comes next.

    It is one HTML file that opens in a browser from disk, without server or network. Of data with dates it shows dates.

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
