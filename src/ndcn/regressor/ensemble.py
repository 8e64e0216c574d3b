"""Several fits at once: one process for each core, one thread in each."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sklearn.base import clone

from .._support.progress import Progress
from .._support.threads import WORTH_TWO
from .._support.work import run_all
from ..data import Trajectory
from .named_models import width_of

if TYPE_CHECKING:
    from .estimator import DynamicsRegressor


def fit_many(estimator: DynamicsRegressor, data: Sequence[Trajectory], resume: bool) -> None:
    """Fit a member for each seed, and keep their models."""
    if not isinstance(estimator.model, str):
        raise ValueError(
            "an ensemble draws other first weights for each member, which a ready module cannot: fit it alone"
        )
    members = []
    for k in range(estimator.ensemble):
        path = None if estimator.checkpoint is None else f"{estimator.checkpoint}.{k}"
        member = clone(estimator).set_params(ensemble=1, seed=estimator.seed + k, checkpoint=path, progress=False)
        members.append(member)
    done = fit_all(members, data, jobs=estimator.jobs, resume=resume, progress=estimator.progress)
    estimator.models_, estimator.histories_ = [m.model_ for m in done], [m.history_ for m in done]
    estimator.units_, estimator.train_ = done[0].units_, done[0].train_


def fit_all(
    members: Sequence[DynamicsRegressor],
    data: Sequence[Trajectory],
    *,
    jobs: int | str | None,
    resume: bool,
    progress: bool | None,
) -> list[DynamicsRegressor]:
    """The members, each fitted to the same data.

    On networks so large that one fit keeps all cores busy, and with ``jobs=1``, they are fitted one after the other.
    Ctrl-C keeps the members that are done; if there are none, the first with its best weights so far.
    """
    if jobs is None:
        large = max(t.graph.num_nodes for t in data) * width_of(members[0].model, members[0].hidden) >= WORTH_TWO
        jobs = 1 if large else None
    done: dict[int, DynamicsRegressor] = {}
    tasks = [(member, data, resume) for member in members]
    with Progress(len(members), 0, progress, unit="members") as bar:
        try:
            for k, member in run_all(_fit, tasks, jobs=jobs, name="ensemble"):
                interrupted = member.history_.stopped == "interrupted"
                if not (interrupted and done):
                    done[k] = member
                    bar.update(len(done), member.history_.loss[-1])
                if interrupted:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            if not done:
                raise
            warnings.warn(
                f"interrupted: {len(done)} of {len(members)} members are kept",
                RuntimeWarning,
                stacklevel=3,
            )
    return [done[k] for k in sorted(done)]


def _fit(task: tuple[DynamicsRegressor, Sequence[Trajectory], bool]) -> DynamicsRegressor:
    member, data, resume = task
    member.fit(data, resume=resume)
    del member.data_  # not to be sent back
    return member
