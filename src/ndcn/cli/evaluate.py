"""``ndcn evaluate``: how well a model predicts snapshots that it was not trained on."""

from __future__ import annotations

from dataclasses import replace

import typer

from . import parts, reading
from .guard import data_notes, notes
from .options import Data, Json, ModelFile, States, load_dynamics, print_json


@reading.reads_files
def evaluate(
    model: ModelFile, data: Data, states: States = None, how: reading.How = reading.PLAIN, as_json: Json = False
) -> None:
    """Measure the error of a model on data, trained on and held back.

    Snapshots not trained on are "interpolation" up to the last training time and "extrapolation" after it. The
    normalised l1 error is mean |prediction - truth| / mean |truth|. A forecast (auto) is measured at the snapshots that came
    after those it was made from.

    Beside it stand the l1 error of persistence (the last value trained on) and the ratio of both, MASE (the error over that
    of persistence one snapshot ahead in the past), and for models with intervals CRPS and the shares of values inside the 50 %
    and the 90 % intervals; then the errors by steps ahead. Nodes that only the model or only the data have are named and left
    out.

    Example: ndcn evaluate model.ndcn data, or: ndcn evaluate model.ndcn edges.csv states.csv
    """
    parts.refuse(data, "evaluate")
    estimator = load_dynamics(model)
    how = how.or_as(estimator, states)
    known = how.read(data, states)
    data_notes(known, [data, states, *how.words()])
    found = estimator.evaluate(known)
    notes(found.notes)
    if as_json:
        print_json(found.to_json())
    else:
        typer.echo(str(replace(found, notes=())))
