"""A pool of processes on this machine, one thread in each; a crashed worker loses only its own task."""

from __future__ import annotations

import multiprocessing
import pickle  # only through pipes to workers that this process started, never from a file
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from types import ModuleType
from typing import Any

from .threads import cores
from .worker import Failed as Failed, answer_tasks


@dataclass(frozen=True)
class Lost:
    """The answer to a task whose process or machine died; it can be repeated."""

    reason: str


@dataclass
class _Worker:
    process: multiprocessing.process.BaseProcess
    pipe: Connection
    task: Any = None


class Processes:
    """Workers on this machine: ``start`` gives one a task, ``wait`` returns what has ended since.

    Ctrl-C interrupts the process that made them and not the workers; when that process dies, they end too. ``work`` is a
    function of a task, at the top level of a module; what it raises is answered as ``Failed``.
    """

    def __init__(self, work: Callable[[Any], Any], jobs: int | None = None) -> None:
        self.work, self.capacity = pickle.dumps(work), jobs or cores()
        self.workers: list[_Worker] = []

    def __enter__(self) -> Processes:
        return self

    def start(self, task: Any) -> None:
        """Hand a task to a worker that is free; a new one is started if there is none."""
        # pipe.send would move tensors through shared memory, of which containers have little
        message = pickle.dumps(task)
        worker = next((w for w in self.workers if w.task is None), None) or self._new_worker()
        worker.task = task
        with suppress(OSError):  # it died while it was idle: `wait` will find out
            worker.pipe.send_bytes(message)

    def wait(self, seconds: float | None) -> list[tuple[Any, Any]]:
        """Tasks that have ended and the answers to them, after so many seconds at most; None waits for one."""
        busy = {worker.pipe: worker for worker in self.workers if worker.task is not None}
        ended: list[tuple[Any, Any]] = []
        ready = wait(list(busy), seconds)
        for worker in [worker for pipe, worker in busy.items() if pipe in ready]:
            task, worker.task = worker.task, None
            try:
                ended.append((task, pickle.loads(worker.pipe.recv_bytes())))
            except (EOFError, OSError):
                worker.process.join()
                self.workers.remove(worker)
                ended.append((task, Lost(f"its process died (exit code {worker.process.exitcode})")))
        return ended

    def _new_worker(self) -> _Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=answer_tasks, args=(theirs, self.work), daemon=True)
        with _no_interrupts(), _no_main_module():
            process.start()
        theirs.close()  # so that its death is seen as the end of the pipe
        worker = _Worker(process, ours)
        self.workers.append(worker)
        return worker

    def __exit__(self, *error: object) -> None:
        for worker in self.workers:
            worker.process.terminate()
        for worker in self.workers:
            worker.process.join()
            worker.pipe.close()


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Block SIGINT; a process that is started meanwhile never gets it."""
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # when Python starts it, it unblocks SIGINT
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _no_main_module() -> Iterator[None]:
    """Hide the main module: a worker would run it again, and a user's script may have no ``if __name__ == "__main__"``."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
