"""Runs in several processes of this machine, one thread in each. A process that dies loses only its own run."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from types import TracebackType

from .result import Failed, Lost, Outcome, Result
from .spec import Run


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
        with no_interrupts():  # Ctrl-C is for the command, not for its workers
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
    from .classify import run_classification
    from .run import run_dynamics

    try:
        if "dataset" in run.settings:
            return run_classification(run.settings, run.data)
        return run_dynamics(run.settings, run.keep_states)
    except Exception as error:
        return Failed(f"{type(error).__name__}: {error}")


@contextmanager
def no_interrupts() -> Iterator[None]:
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


def _work(pipe: Connection) -> None:
    """A worker: carries out what it is sent, until the pipe ends. When the command dies, so does it."""
    threading.Thread(target=die_with_parent, daemon=True).start()
    while True:
        try:
            pipe.send(attempt(pipe.recv()))
        except (EOFError, BrokenPipeError):  # the command has ended
            return


def die_with_parent() -> None:
    """End this process as soon as the one that started it has ended; run in a thread of its own."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
