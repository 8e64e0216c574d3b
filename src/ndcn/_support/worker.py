"""What a process of the pool does: answer tasks, and end when the process that started it does.

Nothing here imports torch, which takes seconds: a worker watches its parent before that.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle  # only through pipes to workers that this process started, never from a file
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

PR_SET_PDEATHSIG = 1  # linux/prctl.h
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # read when torch is loaded


@dataclass(frozen=True)
class Failed:
    """The answer to a task that raised an error; it would raise it again."""

    reason: str
    error: Exception | None = None

    @classmethod
    def of(cls, error: Exception) -> Failed:
        """An error as an answer; one that cannot be pickled becomes a RuntimeError with the same message."""
        reason = f"{type(error).__name__}: {error}"
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            error = RuntimeError(reason)
        return cls(reason, error)


def answer_tasks(pipe: Connection, pickled: bytes) -> None:
    """Answer what comes through the pipe until it ends.

    Args:
        pipe: to the process that started this one.
        pickled: the work, a function of a task. To unpickle it may import torch.
    """
    die_with_parent()
    os.environ.update(ONE_THREAD)
    work = pickle.loads(pickled)
    while True:
        try:
            message = pipe.recv_bytes()
        except EOFError:  # the command has ended
            return
        try:
            answer = pickle.dumps(work(pickle.loads(message)))
        except Exception as error:
            answer = pickle.dumps(Failed.of(error))
        try:
            pipe.send_bytes(answer)
        except BrokenPipeError:
            return


def numbered(work: Callable[[Any], Any], task: tuple[int, Any]) -> Any:
    """The work on a task that comes with its number."""
    return work(task[1])


def die_with_parent() -> None:
    """From now on this process ends at once when its parent dies, by whatever signal.

    A thread waits for that; it has to wait itself while a library is loaded, so that Linux is asked for a signal too.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent.pid:  # it died before that
            os._exit(1)
    threading.Thread(target=_wait_and_exit, args=(parent.sentinel,), daemon=True).start()


def _wait_and_exit(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
