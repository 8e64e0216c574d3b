"""How many cores there are, and how many threads torch uses: one for small problems, where a second only gets in the way."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch

WORTH_TWO = 200_000  # numbers in a state below which products take microseconds, less than it takes to wake a thread


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


@contextmanager
def threads_for(numbers: int) -> Iterator[None]:
    """Compute with one thread if a state has few numbers; what was set before comes back afterwards."""
    before = torch.get_num_threads()
    if numbers >= WORTH_TWO or before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
