"""``ndcn evaluate``: how well a model predicts snapshots that it was not trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import reading
from .guard import notes
from .options import Data, Json, ModelFile, States, load_dynamics, print_columns, print_json

if TYPE_CHECKING:
    from ..data import Dataset, Trajectory
    from ..regressor import DynamicsRegressor, Scores


@reading.reads_files
def evaluate(
    model: ModelFile, data: Data, states: States = None, how: reading.How = reading.PLAIN, as_json: Json = False
) -> None:
    """Measure the error of a model on data, trained on and held back.

    Snapshots not trained on are "interpolation" up to the last training time and "extrapolation" after it. The
    normalised l1 error is mean |prediction - truth| / mean |truth|. A forecast (auto) is measured at the snapshots that came
    after those it was made from.

    Example: ndcn evaluate model.ndcn data, or: ndcn evaluate model.ndcn edges.csv states.csv
    """
    estimator = load_dynamics(model)
    known = how.or_as(estimator, states).read(data, states)
    notes(known.notes)
    from ..regressor import score_parts

    scores, remarks = score_parts(estimator, _truth(estimator, known))
    notes(remarks)
    if as_json:
        print_json(scores)
    else:
        rows = ([name, *_cells(score)] for name, score in scores.items())
        print_columns(("snapshots", "normalised l1, %", "l1", "rmse"), rows)


def _truth(estimator: DynamicsRegressor, known: Dataset) -> Trajectory:
    """The run, with times counted as those of the model."""
    from ..regressor import in_time_of, longest_run

    run, graphs = longest_run(known)
    if graphs is not None and estimator.fitted_.can.any_graph:
        raise ValueError("the graph changes, and the errors of a model are measured on one graph: give --one-graph")
    if known.calendar is not None and estimator.calendar_ is None:
        raise ValueError(f"the data have dates ({known.calendar}), but the model was trained on times that are numbers")
    return in_time_of(estimator, known, run)


def _cells(score: Scores | None) -> list[str]:
    if score is None:
        return ["0", "-", "-", "-"]
    share = score["normalized_l1"]
    percent = "-" if share is None else f"{100 * share:.2f}"
    return [str(score["snapshots"]), percent, f"{score['l1']:.4g}", f"{score['rmse']:.4g}"]
