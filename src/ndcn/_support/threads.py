"""How many cores there are, and how many threads torch, NumPy and SciPy use: one for small problems, where a second gets in the way."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache

import scipy.linalg  # noqa: F401  its BLAS, which is not NumPy's, must be loaded before it can be limited
import torch
from threadpoolctl import ThreadpoolController

WORTH_TWO = 200_000  # numbers in a state below which products take microseconds, less than it takes to wake a thread


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread of torch and of each BLAS; afterwards the numbers of threads are as before."""
    before = torch.get_num_threads()
    if before != 1:  # setting it takes longer than a small product
        torch.set_num_threads(1)
    try:
        # On a busy machine, where a product waits for its second thread, regressions of a forecast took 16 s instead of 1.1 s.
        with _blas().limit(limits=1):
            yield
    finally:
        if before != 1:
            torch.set_num_threads(before)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def threads_for(numbers: int) -> AbstractContextManager[None]:
    """Compute with one thread if a state has few numbers, otherwise with as many as are set."""
    return one_thread() if numbers < WORTH_TWO else nullcontext()
