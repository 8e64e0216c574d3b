"""How long a search for a law may take, and how far it is.

Many small fits, deep inside the search, ask ``time_is_over`` and then end with the best so far. So the limit is not an argument of all of
them but belongs to the context, each thread having its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from .._support.progress import Progress

Item = TypeVar("Item")
_ENDS: ContextVar[float | None] = ContextVar("ends", default=None)


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Within it, time is over after so many seconds; None sets no limit.

    Example:
        >>> with time_limit(0.0):
        ...     time_is_over()
        True
        >>> time_is_over()
        False
    """
    token = _ENDS.set(None if seconds is None else time.monotonic() + seconds)
    try:
        yield
    finally:
        _ENDS.reset(token)


def time_is_over() -> bool:
    """Whether the search is to end with the best so far."""
    ends = _ENDS.get()
    return ends is not None and time.monotonic() >= ends


def in_time(items: Iterable[Item]) -> Iterator[Item]:
    """The items until time is over, the first in any case.

    Example:
        >>> with time_limit(0.0):
        ...     list(in_time("abc"))
        ['a']
    """
    for k, item in enumerate(items):
        if k and time_is_over():
            return
        yield item


def shown(items: Sequence[Item], name: str) -> Iterator[Item]:
    """The items in time, with a progress bar on a terminal that counts them."""
    with Progress(len(items), 0, None, unit="candidates", name=name) as bar:
        for k, item in enumerate(in_time(items)):
            yield item
            bar.update(k + 1)
