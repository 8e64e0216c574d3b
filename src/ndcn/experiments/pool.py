"""Runs in several processes of this machine, one thread in each. A process that dies loses only its own run."""

from __future__ import annotations

import multiprocessing
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from types import TracebackType

from .run import Result
from .spec import Run


@dataclass(frozen=True)
class Failed:
    """A run that ended in an error, which would come again."""

    reason: str


@dataclass(frozen=True)
class Lost:
    """A run whose process or machine died; it can be repeated."""

    reason: str


Outcome = Result | Failed | Lost


@dataclass
class _Worker:
    process: multiprocessing.process.BaseProcess
    pipe: Connection
    run: Run | None = None


class Processes:
    """Workers on this machine: ``start`` gives one a run, ``wait`` returns what has ended since.

    Args:
        jobs: how many run at once; the number of cores that this process may use by default.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self.capacity = jobs or cores()
        self.workers: list[_Worker] = []

    def __enter__(self) -> Processes:
        return self

    def start(self, run: Run) -> None:
        """Hand a run to a worker that is free; a new one is started if there is none."""
        worker = next((w for w in self.workers if w.run is None), None) or self._new_worker()
        worker.run = run
        with suppress(OSError):  # it died while it was idle: `wait` will find out
            worker.pipe.send(run)

    def wait(self, seconds: float) -> list[tuple[Run, Outcome]]:
        """What has ended, after so many seconds at most."""
        busy = {worker.pipe: worker for worker in self.workers if worker.run is not None}
        ended: list[tuple[Run, Outcome]] = []
        for pipe in wait(list(busy), seconds):
            worker = busy[pipe]  # type: ignore[index]  # only pipes were waited for
            run, worker.run = worker.run, None
            assert run is not None
            try:
                ended.append((run, worker.pipe.recv()))
            except (EOFError, OSError):
                worker.process.join()
                self.workers.remove(worker)
                ended.append((run, Lost(f"its process died (exit code {worker.process.exitcode})")))
        return ended

    def _new_worker(self) -> _Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs,), daemon=True)
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


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def attempt(run: Run) -> Result | Failed:
    """Carry out a run; what goes wrong in it becomes its outcome."""
    from . import run as carry_out

    try:
        return carry_out.run(run.settings, run.keep_states)
    except Exception as error:
        return Failed(f"{type(error).__name__}: {error}")


def _work(pipe: Connection) -> None:
    """A worker: carries out what it is sent, until the pipe ends. Ctrl-C is for the command, not for it."""
    if hasattr(os, "setsid"):
        os.setsid()
    while True:
        try:
            pipe.send(attempt(pipe.recv()))
        except (EOFError, BrokenPipeError):  # the command has ended
            return
