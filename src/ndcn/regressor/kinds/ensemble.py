"""Several fits at once: one process for each core, one thread in each."""

from __future__ import annotations

from dataclasses import replace

from ..._support.progress import Progress
from ..._support.threads import WORTH_TWO
from ..._support.warn import warn
from ..._support.work import run_all
from ...data import Trajectory
from ...training import TrainingError
from ..kind import TrainingData
from ..settings import Settings
from .trained_module import TrainedModel


def fit_many(data: TrainingData, settings: Settings) -> TrainedModel:
    """A member for each seed, each fitted to the same data, as one model.

    On networks so large that one fit keeps all cores busy, and with ``jobs=1``, they are fitted one after the other.
    Ctrl-C keeps the members that are done; if there are none, the first with its best weights so far.
    """
    count = settings["ensemble"] if settings.start is None else len(settings.start[1])
    members = [_member(settings, k) for k in range(count)]
    large = max(t.graph.num_nodes for t in data.trajectories) * settings.width >= WORTH_TWO
    jobs = 1 if settings["jobs"] is None and large else settings["jobs"]
    done: dict[int, TrainedModel] = {}
    with Progress(len(members), 0, settings["progress"], unit="members") as bar:
        try:
            tasks = [(member, data.trajectories) for member in members]
            for k, member in run_all(_fit, tasks, jobs=jobs, name="ensemble"):
                interrupted = member.histories[0].stopped == "interrupted"
                if not (interrupted and done):
                    done[k] = member
                    bar.update(len(done), member.histories[0].loss[-1])
                if interrupted:
                    raise KeyboardInterrupt
        except TrainingError as error:
            error.fitted = None  # one member is no ensemble
            raise
        except KeyboardInterrupt:
            if not done:
                raise KeyboardInterrupt from None  # without what the first member has learned
            warn(f"interrupted: {len(done)} of {len(members)} members are kept", RuntimeWarning)
    kept = [done[k] for k in sorted(done)]
    modules = [member.modules[0] for member in kept]
    histories = [member.histories[0] for member in kept]
    return TrainedModel(settings, modules, histories, kept[0].units, kept[0].initial)


def _member(settings: Settings, k: int) -> Settings:
    path = None if settings["checkpoint"] is None else f"{settings['checkpoint']}.{k}"
    start = None if settings.start is None else (settings.start[0], [settings.start[1][k]])
    return replace(settings.but(ensemble=1, seed=settings["seed"] + k, checkpoint=path, progress=False), start=start)


def _fit(task: tuple[Settings, list[Trajectory]]) -> TrainedModel:
    settings, trajectories = task
    fitted = settings.kind.fit(TrainingData(trajectories, trajectories), settings)
    assert isinstance(fitted, TrainedModel)
    return fitted
