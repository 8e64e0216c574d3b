"""Work in several processes of this machine, one thread in each. A process that dies loses only its own task."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any

import torch

from .threads import cores


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

    Ctrl-C is for the process that made them, not for them; when that dies, so do they.

    Args:
        work: a function of a task, at the top level of a module; what it raises ends its process.
        jobs: how many run at once; the number of cores that this process may use by default.
    """

    def __init__(self, work: Callable[[Any], Any], jobs: int | None = None) -> None:
        self.work, self.capacity = work, jobs or cores()
        self.workers: list[_Worker] = []

    def __enter__(self) -> Processes:
        return self

    def start(self, task: Any) -> None:
        """Hand a task to a worker that is free; a new one is started if there is none."""
        worker = next((w for w in self.workers if w.task is None), None) or self._new_worker()
        worker.task = task
        with suppress(OSError):  # it died while it was idle: `wait` will find out
            worker.pipe.send(task)

    def wait(self, seconds: float | None) -> list[tuple[Any, Any]]:
        """Tasks that have ended and the answers to them, after so many seconds at most; None waits for one."""
        busy = {worker.pipe: worker for worker in self.workers if worker.task is not None}
        ended: list[tuple[Any, Any]] = []
        ready = wait(list(busy), seconds)
        for worker in [worker for pipe, worker in busy.items() if pipe in ready]:
            task, worker.task = worker.task, None
            try:
                ended.append((task, worker.pipe.recv()))
            except (EOFError, OSError):
                worker.process.join()
                self.workers.remove(worker)
                ended.append((task, Lost(f"its process died (exit code {worker.process.exitcode})")))
        return ended

    def _new_worker(self) -> _Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self.work), daemon=True)
        with _no_interrupts():
            process.start()
        theirs.close()  # so that its death is seen as the end of the pipe
        worker = _Worker(process, ours)
        self.workers.append(worker)
        return worker

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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


def _work(pipe: Connection, work: Callable[[Any], Any]) -> None:
    """A worker: answers what it is sent, until the pipe ends."""
    torch.set_num_threads(1)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    while True:
        try:
            pipe.send(work(pipe.recv()))
        except (EOFError, BrokenPipeError):  # the command has ended
            return


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
