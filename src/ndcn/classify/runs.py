"""Independent fits of node estimators to one data set, several at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .._support.processes import Lost, Processes
from .._support.progress import Progress
from .._support.threads import cores
from .datasets.nodes import NodeDataset


@dataclass
class NodeRun:
    """What a run came to; the first also keeps its estimator."""

    estimator: Any
    accuracy: float | None
    validation: float | None
    recall: dict[str, float]  # of each class, on the test nodes


def repeat(estimators: list[Any], data: NodeDataset, validated: bool, jobs: int | None) -> list[NodeRun]:
    """Fit each estimator to the data, in several processes if there are several; in their order.

    Raises:
        OSError: a process died.
    """
    jobs = min(len(estimators), jobs or cores())
    tasks = [(k, estimator, data, validated) for k, estimator in enumerate(estimators)]
    done: dict[int, NodeRun] = {}
    alone = len(estimators) == 1  # it shows its epochs itself
    with Progress(len(estimators), 0, False if alone else None, unit="runs", name="classifying") as bar:
        for k, run in (_run(*task) for task in tasks) if jobs == 1 else _in_processes(tasks, jobs):
            done[k] = run
            bar.update(len(done))
    return [done[k] for k in range(len(estimators))]


def _in_processes(tasks: list[tuple[Any, ...]], jobs: int) -> Iterator[tuple[int, NodeRun]]:
    """Each run as it ends, and which it was."""
    with Processes(_answer, jobs) as workers:
        for task in tasks[:jobs]:
            workers.start(task)
        left = tasks[jobs:]
        running = min(jobs, len(tasks))
        while running:
            for _, answer in workers.wait(None):
                if isinstance(answer, Lost):
                    raise OSError("a process of the runs died, perhaps for want of memory; try --jobs 1")
                if isinstance(answer, Exception):
                    raise answer
                if left:
                    workers.start(left.pop(0))
                else:
                    running -= 1
                yield answer


def _answer(task: tuple[Any, ...]) -> tuple[int, NodeRun] | Exception:
    """What a worker sends back: a run that has ended, or what went wrong."""
    try:
        return _run(*task)
    except Exception as error:
        return error


def _run(k: int, estimator: Any, data: NodeDataset, validated: bool) -> tuple[int, NodeRun]:
    codes = data.labels
    estimator.fit(data.graph, data.features, codes, data.train_mask, data.val_mask if validated else None)
    if estimator.history_.stopped == "interrupted":
        raise KeyboardInterrupt
    test = estimator.score(data.test_mask) if data.test_mask.any() else None
    validation = estimator.score(data.val_mask) if data.val_mask.any() else None
    right = estimator.predict() == codes
    recall = {
        name: right[nodes].double().mean().item()
        for place, name in enumerate(data.classes)
        if (nodes := data.test_mask & (codes == place)).any()
    }
    return k, NodeRun(estimator if k == 0 else None, test, validation, recall)
