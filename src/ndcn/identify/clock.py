"""How long a search for a law may take, and how far it is.

Many small fits, deep inside the search, ask ``time_is_over`` and then end with the best so far. So the limit is not an argument of all of
them but belongs to the context, each thread having its own. The first Ctrl-C ends the time too; the second one ends everything.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import TypeVar

from .._support.progress import Progress

Item = TypeVar("Item")


@dataclass
class _Clock:
    ends: float = math.inf  # by ``time.monotonic``
    interrupted: bool = False  # by Ctrl-C
    best: float = math.inf  # residuals of the best candidate so far, in units of the noise


_CLOCK: ContextVar[_Clock | None] = ContextVar("clock", default=None)


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Within it, time is over after so many seconds, None for no limit, or after Ctrl-C.

    Example:
        >>> with time_limit(0.0):
        ...     time_is_over()
        True
        >>> time_is_over()
        False
    """
    clock = _Clock(math.inf if seconds is None else time.monotonic() + seconds)
    token = _CLOCK.set(clock)
    try:
        with _interruptible(clock):
            yield
    finally:
        _CLOCK.reset(token)


@contextmanager
def _interruptible(clock: _Clock) -> Iterator[None]:
    """Turn the first Ctrl-C into the end of the time; only the main thread gets any."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        if clock.interrupted:
            raise KeyboardInterrupt
        clock.interrupted = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def time_is_over() -> bool:
    """Whether the search is to end with the best so far."""
    clock = _CLOCK.get()
    return clock is not None and (clock.interrupted or time.monotonic() >= clock.ends)


def interrupted() -> bool:
    """Whether Ctrl-C ended the time."""
    clock = _CLOCK.get()
    return clock is not None and clock.interrupted


def noted(excess: float) -> None:
    """Note the residuals of a candidate, in units of the noise, for the progress line."""
    clock = _CLOCK.get()
    if clock is not None:
        clock.best = min(clock.best, excess)


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
    """The items in time, with a progress line on a terminal: how many, how well the best fits, and the time left."""
    with Progress(len(items), 0, None, unit="candidates", name=name) as bar:
        for k, item in enumerate(in_time(items)):
            yield item
            bar.update(k + 1, note=_note())


def _note() -> str:
    clock = _CLOCK.get() or _Clock()
    fits = f"residuals {clock.best:.3g} times the noise" if math.isfinite(clock.best) else ""
    left = f"{max(0.0, clock.ends - time.monotonic()):.0f} s left" if math.isfinite(clock.ends) else ""
    return ", ".join(part for part in (fits, left) if part)
