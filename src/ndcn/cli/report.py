"""``ndcn report``: a page on which a learned model can be watched and questioned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .guard import note
from .options import Json, check_output, load_dynamics, print_json


def report(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, as `ndcn fit` writes it.")],
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="Folder with data on the graph that the model was trained on: then the truth and the errors are shown "
            "too. Default: what the model says, from where training began to half as far beyond.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="File to write; a file that is there is replaced.")] = Path("report.html"),
    as_json: Json = False,
) -> None:
    """Write a page that shows what the network did, what the model says, where it is wrong and what comes next.

    It is one HTML file that opens in a browser from disk, without server or network.

    Example: ndcn report model.ndcn data --out report.html
    """
    check_output(out)
    import ndcn

    from ..report import write_report

    estimator = load_dynamics(model)
    truth = None if data is None else ndcn.Trajectory.load(data)
    if not as_json:
        note("predicting and laying out the network ...")
    data_name = None if data is None else str(data)
    size = write_report(estimator, out, truth, model_name=str(model), data_name=data_name)
    if as_json:
        print_json({"out": str(out), "bytes": size, "nodes": estimator.train_[0].graph.num_nodes})
    else:
        typer.echo(f"written to {out}, {size / 1e6:.2g} MB; open it in a browser: {out.absolute().as_uri()}")
