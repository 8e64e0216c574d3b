"""``ndcn report``: an interactive page about a fitted model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import parts, reading
from .guard import data_notes, note
from .options import PAGES, Json, ModelFile, States, check_output, option, print_json

DATA = (
    "Folder with data on the graph that the model was trained on, or, with STATES, a file of edges: then the truth and the "
    "errors are shown too. Default: the prediction alone; auto only: the steps of the forecast."
)


@reading.reads_files
def report(
    model: ModelFile,
    data: Annotated[Path | None, typer.Argument(metavar="DATA", help=DATA)] = None,
    states: States = None,
    out: Annotated[Path, option("Output file; an existing file is replaced.")] = Path("report.html"),
    how: reading.How = reading.PLAIN,
    as_json: Json = False,
) -> None:
    """Write an interactive page: observed states, prediction, errors, and what comes next; or the classes of nodes.

    It is one HTML file that opens in a browser from disk, without server or network. Times are dates if the data have
    dates.

    Of a classifier (`ndcn classify --save`) the page shows classes, their probabilities and where they came from, judged
    by its test nodes; it needs no data.

    Example: ndcn report model.ndcn data --out report.html, or: ndcn report model.ndcn edges.csv states.csv
    """
    check_output(out, PAGES)
    import ndcn

    from ..report import write_class_report, write_report

    estimator = ndcn.load(model)
    if isinstance(estimator, ndcn.NodeClassifier):
        if data is not None:
            raise ValueError(f"{model} is a classifier, which holds its graph and labels: give no data, only --out")
        if not as_json:
            note("classifying and laying out the network ...")
        _say(out, write_class_report(estimator, out, model_name=str(model)), estimator.graph_.num_nodes, as_json)
        return
    parts.refuse(data, "report")
    how = how.or_as(estimator, states)
    known = None if data is None else how.read(data, states)
    words = [str(path) for path in (data, states) if path is not None] + how.words()
    if known is not None:
        data_notes(known, words)
    if not as_json:
        note("predicting and laying out the network ...")
    size = write_report(estimator, out, known, model_name=str(model), data_words=words)
    _say(out, size, estimator.train_[0].graph.num_nodes, as_json)


def _say(out: Path, size: int, nodes: int, as_json: bool) -> None:
    if as_json:
        print_json({"out": str(out), "bytes": size, "nodes": nodes})
    else:
        typer.echo(f"written to {out}, {size / 1e6:.2g} MB; open it in a browser: {out.absolute().as_uri()}")
