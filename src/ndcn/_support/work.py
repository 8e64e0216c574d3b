"""Independent tasks, several at a time: in processes of this machine, or on a Ray cluster."""

from __future__ import annotations

import multiprocessing
import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from .cluster import Ray
from .processes import Failed, Lost, Processes
from .threads import cores
from .worker import numbered

Workers = Processes | Ray
TRIES = (
    4  # of a task on a cluster: machines are lost for reasons of their own, a task that loses four is to blame itself
)


def workers_for(work: Callable[[Any], Any], jobs: int | str | None) -> Workers:
    """A number of processes (one for each core by default), or the Ray cluster at an address, "auto" or "ray" for the one here."""
    if isinstance(jobs, str):
        return Ray(work, "auto" if jobs == "ray" else jobs)
    return Processes(work, jobs)


def run_all(
    work: Callable[[Any], Any], tasks: Sequence[Any], *, jobs: int | str | None = None, name: str = "tasks"
) -> Iterator[tuple[int, Any]]:
    """Carry out ``work(task)`` for every task; yield the index and the answer of each as it ends.

    Everything runs in this process, in order, with ``jobs=1``, in a worker, and where a task cannot be sent to another
    process: a lambda, say, or a function of the main module.

    Args:
        work: a function of a task, at the top level of a module.
        jobs: how many at a time, one for each core by default; or the address of a Ray cluster, or "ray" for the one that runs here.
            A task whose machine is lost is started again on another, ``TRIES`` times in all.
        name: of the tasks, in messages.

    Raises:
        Exception: what ``work`` raised.
        OSError: a process died.

    Example:
        >>> dict(run_all(abs, [-1, 2], jobs=1))
        {0: 1, 1: 2}
    """
    if not isinstance(jobs, str):
        jobs = min(len(tasks), jobs or cores())
        if jobs <= 1 or multiprocessing.current_process().daemon or not _can_be_sent(tasks[0]):
            yield from ((k, work(task)) for k, task in enumerate(tasks))
            return
    waiting = deque(enumerate(tasks))
    running, tries = 0, dict.fromkeys(range(len(tasks)), TRIES if isinstance(jobs, str) else 1)
    with workers_for(partial(numbered, work), jobs) as workers:
        while waiting or running:
            while waiting and running < workers.capacity:
                workers.start(waiting.popleft())
                running += 1
            for (k, _), answer in workers.wait(None):
                running -= 1
                if isinstance(answer, Lost) and tries[k] > 1:
                    tries[k] -= 1
                    waiting.append((k, tasks[k]))
                    continue
                if isinstance(answer, Lost):
                    raise OSError(f"a process of the {name} died, perhaps for lack of memory; try one job at a time")
                if isinstance(answer, Failed) and answer.error is not None:
                    raise answer.error
                yield k, answer


def _can_be_sent(task: Any) -> bool:
    """Whether a worker can read the task: workers do not run the main module, so that nothing may be defined there."""
    try:
        return b"__main__" not in pickle.dumps(task)
    except (pickle.PicklingError, AttributeError, TypeError):  # the three that pickle raises for a lambda
        return False
