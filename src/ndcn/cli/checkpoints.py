"""Node estimators with checkpoints beside the model that is to be saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .guard import note

if TYPE_CHECKING:
    from ..classify import NodeBaseline, NodeClassifier, NodeDataset, NodeRun


def fit_nodes(
    estimators: list[NodeClassifier | NodeBaseline],
    data: NodeDataset,
    validated: bool,
    jobs: int | None,
    save: Path | None,
    resume: bool,
) -> list[NodeRun]:
    """Fit all; checkpoints lie beside the model to be saved until all are done."""
    from ..classify import repeat

    checkpoints = [] if save is None else [save.with_name(f"{save.name}.checkpoint")]
    if save is not None and len(estimators) > 1:
        checkpoints = [Path(f"{checkpoints[0]}.{k}") for k in range(len(estimators))]
    for estimator, path in zip(estimators, checkpoints, strict=False):
        estimator.set_params(checkpoint=path)
    if not resume and (found := [path for path in checkpoints if path.exists()]):
        note(f"note: {found[0]} is from an earlier run and will be overwritten; --resume would go on from it")
    try:
        done = repeat(estimators, data, validated, jobs, resume=resume)
    except KeyboardInterrupt:
        if kept := [path for path in checkpoints if path.exists()]:
            note(f"{save} was not written; {kept[0]} is kept: go on with --resume")
        raise
    for path in checkpoints:
        path.unlink(missing_ok=True)
    return done
