"""Memory of tapes, used again: that of a long trajectory is fresh pages, which take longer to get than to fill.

Within ``tapes_reuse_memory``, a tape that is given up leaves its memory to the next one of the same thread.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

LEAST = 2**17  # numbers, 1 MB: the allocator keeps smaller pieces itself
WIDER = 4  # times as large as needed is too large: the memory of one long trajectory would be held for many short ones
SPARE = 2  # pieces


class _Holding(threading.local):
    spare: list[np.ndarray] | None = None


_holding = _Holding()


@contextmanager
def tapes_reuse_memory() -> Iterator[None]:
    """Keep the memory of tapes for the next ones, until the end of the block.

    Example:
        >>> with tapes_reuse_memory():
        ...     first, _ = piece((LEAST,))
        ...     give_back(first)
        ...     again, _ = piece((LEAST // 2,))
        >>> again is first
        True
    """
    before = _holding.spare
    _holding.spare = [] if before is None else before
    try:
        yield
    finally:
        _holding.spare = before


def piece(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Memory, and an array of this shape in it with anything in it."""
    size = math.prod(shape)
    spare = _holding.spare
    if spare and size >= LEAST // 2:
        for k, one in enumerate(spare):
            if size <= one.size <= WIDER * size:
                del spare[k]
                return one, one[:size].reshape(shape)
        del spare[0]  # before more is asked for
    new = np.empty(size)
    return new, new.reshape(shape)


def give_back(memory: np.ndarray) -> None:
    """This memory is not needed any more."""
    spare = _holding.spare
    if spare is not None and memory.size >= LEAST:
        spare.append(memory)
        del spare[:-SPARE]


def given_back_with(owner: object, *memory: np.ndarray) -> None:
    """Give memory back when its owner is gone; nothing else may refer to it then."""
    if _holding.spare is not None:
        for one in memory:
            weakref.finalize(owner, give_back, one).atexit = False
