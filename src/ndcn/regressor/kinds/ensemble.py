"""Several fits at once: one process for each core, one thread in each."""

from __future__ import annotations

import torch
from joblib import Parallel, delayed

from ..._support.callers import warn_user as warn
from ..._support.progress import Progress
from ..._support.threads import WORTH_TWO, cores
from ...data import Trajectory
from ...training import TrainingError
from ..kind import TrainingData
from ..settings import Settings
from .training import TrainedModel


def fit_many(data: TrainingData, settings: Settings) -> TrainedModel:
    """A member for each seed, each fitted to the same data, as one model.

    On networks so large that one fit keeps all cores busy, and with ``jobs=1``, they are fitted one after the other.
    Ctrl-C keeps the members that are done; if there are none, the first with its best weights so far.
    """
    members = [_member(settings, k) for k in range(settings["ensemble"])]
    jobs = settings["jobs"]
    if jobs is None:
        large = max(t.graph.num_nodes for t in data.trajectories) * settings.width >= WORTH_TWO
        jobs = 1 if large else min(len(members), cores())
    done: list[TrainedModel] = []
    with Progress(len(members), 0, settings["progress"], unit="members") as bar:
        try:
            for member in Parallel(n_jobs=jobs, return_as="generator")(
                delayed(_fit)(member, data.trajectories, alone=jobs == 1) for member in members
            ):
                interrupted = member.histories[0].stopped == "interrupted"
                if not (interrupted and done):
                    done.append(member)
                    bar.update(len(done), member.histories[0].loss[-1])
                if interrupted:
                    raise KeyboardInterrupt
        except TrainingError as error:
            error.fitted = None  # one member is no ensemble
            raise
        except KeyboardInterrupt:
            if not done:
                raise
            warn(f"interrupted: {len(done)} of {len(members)} members are kept", RuntimeWarning)
    modules = [member.modules[0] for member in done]
    histories = [member.histories[0] for member in done]
    return TrainedModel(settings, modules, histories, done[0].units, done[0].initial)


def _member(settings: Settings, k: int) -> Settings:
    path = None if settings["checkpoint"] is None else f"{settings['checkpoint']}.{k}"
    return settings.but(ensemble=1, seed=settings["seed"] + k, checkpoint=path, progress=False)


def _fit(settings: Settings, trajectories: list[Trajectory], alone: bool) -> TrainedModel:
    if not alone:
        torch.set_num_threads(1)
    fitted = settings.kind.fit(TrainingData(trajectories, trajectories), settings)
    assert isinstance(fitted, TrainedModel)
    return fitted
