"""``ndcn evaluate``: how well a model predicts snapshots that it was not trained on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import reading
from .guard import note
from .options import Json, load_dynamics, print_json

if TYPE_CHECKING:
    from ..data import Dataset, Trajectory
    from ..regressor import DynamicsRegressor, Scores


@reading.reads_files
def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, as `ndcn fit` writes it.")],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Folder with data on the graph that the model was trained on; or, with STATES, a file of edges.",
        ),
    ],
    states: Annotated[
        Path | None,
        typer.Argument(metavar="STATES", help="File of states, if DATA is a file of edges; see `ndcn inspect`."),
    ] = None,
    how: reading.How = reading.PLAIN,
    as_json: Json = False,
) -> None:
    """Measure the error of a model on data, trained on and held back.

    Snapshots not trained on are "interpolation" up to the last training time and "extrapolation" after it. The
    normalised l1 error is mean |prediction - truth| / mean |truth|. A forecast (auto) is measured at the snapshots that came
    after those it was made from.

    Example: ndcn evaluate model.ndcn data, or: ndcn evaluate model.ndcn edges.csv states.csv
    """
    estimator = load_dynamics(model)
    known = how.read(data, states)
    for line in known.notes:
        note(f"note: {line}")
    from ..regressor import score_parts

    scores, notes = score_parts(estimator, _truth(estimator, known))
    for line in notes:
        note(f"note: {line}")
    if as_json:
        print_json(scores)
    else:
        _print_table(scores)


def _truth(estimator: DynamicsRegressor, known: Dataset) -> Trajectory:
    """The run, with times counted as those of the model."""
    from ..regressor import in_time_of, longest_run

    run, graphs = longest_run(known)
    if graphs is not None and estimator.fitted_.can.any_graph:
        raise ValueError("the graph changes, and the errors of a model are measured on one graph: give --one-graph")
    if known.calendar is not None and estimator.calendar_ is None:
        raise ValueError(f"the data have dates ({known.calendar}), but the model was trained on times that are numbers")
    return in_time_of(estimator, known, run)


def _print_table(scores: dict[str, Scores | None]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("", box=None, pad_edge=False, header_style="bold")
    for heading in ("snapshots", "normalised l1, %", "l1", "rmse"):
        table.add_column(heading, justify="right")
    for name, score in scores.items():
        if score is None:
            table.add_row(name, "0", "-", "-", "-")
            continue
        share = score["normalized_l1"]
        percent = "-" if share is None else f"{100 * share:.2f}"
        table.add_row(name, str(score["snapshots"]), percent, f"{score['l1']:.4g}", f"{score['rmse']:.4g}")
    Console().print(table)
