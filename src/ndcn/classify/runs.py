"""Independent fits of node estimators to one data set, several at a time."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch

from .._support.progress import Progress
from .._support.work import run_all
from ..training import InterruptedWarning
from .choice import FieldChoice
from .datasets.nodes import NodeDataset


@dataclass
class NodeRun:
    """What a run came to; the first that finished also keeps its estimator."""

    estimator: Any
    accuracy: float | None
    validation: float | None
    recall: dict[str, float]  # of each class, on the test nodes
    ece: float | None  # expected calibration error on the test nodes
    temperature: float | None  # of the probabilities
    choice: FieldChoice | None = None  # of the field, and whether the graph helps


class RunsInterrupted(KeyboardInterrupt):
    """Ctrl-C ended some of several runs; ``finished`` are the others, in their order, at least one."""

    def __init__(self, finished: list[NodeRun]) -> None:
        super().__init__(f"{len(finished)} runs finished")
        self.finished = finished


def repeat(
    estimators: list[Any], data: NodeDataset, validated: bool, jobs: int | str | None, *, resume: bool = False
) -> list[NodeRun]:
    """Fit each estimator to the data, in several processes if there are several; in their order.

    With ``resume`` each continues from its checkpoint.

    Raises:
        OSError: a process died.
        RunsInterrupted: Ctrl-C, after some had finished.
        KeyboardInterrupt: Ctrl-C, before any had.
    """
    tasks = [(estimator, data, validated, resume) for estimator in estimators]
    done: dict[int, NodeRun] = {}
    alone = len(estimators) == 1  # it shows its epochs itself
    try:
        with (
            Progress(len(estimators), 0, False if alone else None, unit="runs", name="classifying") as bar,
            warnings.catch_warnings(),
        ):
            warnings.simplefilter(
                "ignore", InterruptedWarning
            )  # the weights of a run that was interrupted are not kept
            for k, run in run_all(_run, tasks, jobs=jobs, name="runs"):
                done[k] = run
                for other in done.keys() - {min(done)}:
                    done[other].estimator = None
                bar.update(len(done))
    except KeyboardInterrupt as error:
        if done:
            raise RunsInterrupted([done[k] for k in sorted(done)]) from error
        raise
    return [done[k] for k in sorted(done)]


def _run(task: tuple[Any, NodeDataset, bool, bool]) -> NodeRun:
    estimator, data, validated, resume = task
    named = pd.Categorical.from_codes(data.labels.numpy(), categories=data.classes)
    validation = data.val_mask if validated else None
    estimator.fit(data.graph, data.features, named, data.train_mask, validation, resume=resume)
    if estimator.history_.stopped == "interrupted":
        raise KeyboardInterrupt
    test = estimator.score(data.test_mask) if data.test_mask.any() else None
    validation = estimator.score(data.val_mask) if data.val_mask.any() else None
    codes = data.labels
    right = torch.from_numpy(estimator.predict() == np.asarray(named))
    recall = {
        name: right[nodes].double().mean().item()
        for place, name in enumerate(data.classes)
        if (nodes := data.test_mask & (codes == place)).any()
    }
    ece = estimator.calibration(data.test_mask).ece if data.test_mask.any() else None
    return NodeRun(estimator, test, validation, recall, ece, estimator.probability_temperature_, estimator.choice_)
