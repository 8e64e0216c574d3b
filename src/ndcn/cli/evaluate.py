"""``ndcn evaluate``: how well a model predicts snapshots that it was not trained on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .guard import note
from .options import Json, load_dynamics, print_json

if TYPE_CHECKING:
    import torch

    from ..estimators import DynamicsRegressor
    from ..trajectory import Trajectory

Scores = dict[str, "float | int | None"]


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, as `ndcn fit` writes it.")],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Folder with data on the graph that the model was trained on.")
    ],
    as_json: Json = False,
) -> None:
    """Measure the error of a model on data, trained on and held back.

    Snapshots not trained on are "interpolation" up to the last training time and "extrapolation" after it. The
    normalised l1 error is mean |prediction - truth| / mean |truth|.

    Example: ndcn evaluate model.ndcn data
    """
    import ndcn

    estimator, truth = load_dynamics(model), ndcn.Trajectory.load(data)
    scores = score_parts(estimator, truth)
    if as_json:
        print_json(scores)
    else:
        _print_table(scores)


def score_parts(estimator: DynamicsRegressor, truth: Trajectory) -> dict[str, Scores | None]:
    """Errors on the training, interpolation and extrapolation times; None for a part without snapshots.

    Raises:
        ValueError: the data live on another graph, or have other features.
    """
    import torch

    start = estimator.train_[0]
    if truth.features != start.features:
        raise ValueError(
            f"the data have the features {', '.join(truth.features)}, the model was trained on {', '.join(start.features)}"
        )
    if truth.graph != start.graph:
        raise ValueError(
            f"the data live on another graph ({truth.graph!r}) than the model was trained on ({start.graph!r}); "
            "`ndcn predict --data` predicts on another graph"
        )
    gaps = torch.cat([start.times.diff(), truth.times.diff()])
    near = 1e-6 * gaps.min().item()  # far less than what lies between any two snapshots
    trained = ((truth.times[:, None] - start.times[None, :]).abs() <= near).any(dim=1)
    after = truth.times > start.times[-1]
    scored = torch.ones(len(truth), dtype=torch.bool)
    x0 = None
    if abs(truth.times[0].item() - start.t0) <= near and _starts_elsewhere(truth, start.x0):
        note("note: the data start from another state than the training data: no snapshot counts as trained on")
        x0, scored[0], trained = truth.first_state(), False, torch.zeros_like(trained)
    prediction = estimator.predict(truth.times, x0=x0)
    parts = {"train": trained, "interpolation": ~trained & ~after, "extrapolation": ~trained & after}
    return {name: _scores(prediction, truth, inside & scored) for name, inside in parts.items()}


def _starts_elsewhere(truth: Trajectory, x0: torch.Tensor) -> bool:
    """Whether the first state of the data is another than that in which training began."""
    import torch

    seen = truth.states[0]
    same = torch.isclose(seen.double(), x0.double(), rtol=1e-5, atol=1e-6) | seen.isnan()
    return not bool(same.all())


def _scores(prediction: Trajectory, truth: Trajectory, inside: torch.Tensor) -> Scores | None:
    from .. import metrics

    seen = inside if truth.mask is None else inside & truth.mask.any(dim=2).any(dim=1)
    if not seen.any():
        return None
    guess, real = prediction[seen], truth[seen]
    nonzero = bool((real.states.nan_to_num(0.0) != 0).any())
    return {
        "normalized_l1": metrics.normalized_l1(guess, real) if nonzero else None,
        "l1": metrics.l1(guess, real),
        "rmse": metrics.rmse(guess, real),
        "snapshots": len(real),
    }


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
