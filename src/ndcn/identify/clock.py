"""How long a search for a law may take, and how far it is.

Many small fits, deep inside the search, ask ``time_is_over`` and then end with the best so far. So the limit is not an argument of all of
them but belongs to the context, each thread having its own. The first Ctrl-C ends the time too; the second one ends everything. On trial, time
is also over as soon as no candidate comes near the data, and Ctrl-C ends everything at once.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType
from typing import TypeVar

from .._support.progress import Progress
from .._support.world import World

Item = TypeVar("Item")

# After so many candidates along noisy trajectories a search on trial gives up, if none leaves residuals below so many times the noise.
# Above 6 no law is believed (``residual_noise.UNDERESTIMATED_BY``). Of 48 noisy trajectories of 11 true laws, the best of the first four left
# at most 7.9, the best of the first eight 2.8; cases of H1N1 and COVID-19 by country leave 43 and 85 after eight.
PATIENCE = {4: 30.0, 8: 6.0}


@dataclass
class _Clock:
    ends: float = math.inf  # by ``time.monotonic``
    interrupted: bool = False  # by Ctrl-C
    best: float = math.inf  # residuals of the best candidate so far, in units of the noise
    trial: bool = False  # whether to give up early
    progress: bool | None = None  # whether to show progress lines; None shows them on a terminal
    tried: int = 0  # candidates followed along trajectories
    nearest: float = math.inf  # residuals of the best of these
    world: World = field(default_factory=lambda: World(0, 1))  # processes for all of which time is over together

    @property
    def hopeless(self) -> bool:
        """Whether a search on trial has seen enough."""
        return self.trial and any(self.tried >= few and self.nearest > most for few, most in PATIENCE.items())


BAR = 10  # columns: what is tried, how well it fits and the time left then fit into the 80 of a terminal

_CLOCK: ContextVar[_Clock | None] = ContextVar("clock", default=None)


@contextmanager
def time_limit(
    seconds: float | None, *, trial: bool = False, progress: bool | None = None, world: World | None = None
) -> Iterator[None]:
    """Within it, time is over after so many seconds, None for no limit, or after Ctrl-C; for all processes of ``world`` once it is for one.

    On ``trial`` it is over, too, once the first candidates are far from the data, and Ctrl-C raises KeyboardInterrupt.

    Example:
        >>> with time_limit(0.0):
        ...     time_is_over()
        True
        >>> time_is_over()
        False
    """
    clock = _Clock(math.inf if seconds is None else time.monotonic() + seconds, trial=trial, progress=progress)
    clock.world = world or clock.world
    token = _CLOCK.set(clock)
    try:
        with nullcontext() if trial else _interruptible(clock):
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
    if clock is None:
        return False
    here = clock.interrupted or clock.hopeless or time.monotonic() >= clock.ends
    return not clock.world.everywhere(not here)


def interrupted() -> bool:
    """Whether Ctrl-C ended the time."""
    clock = _CLOCK.get()
    return clock is not None and not clock.world.everywhere(not clock.interrupted)


def hopeless() -> bool:
    """Whether a search on trial gives up, because no candidate comes near the data."""
    clock = _CLOCK.get()
    return clock is not None and clock.hopeless


def noted(excess: float) -> None:
    """Note the residuals of a candidate, in units of the noise, for the progress line."""
    clock = _CLOCK.get()
    if clock is not None:
        clock.best = min(clock.best, excess)


def followed(excess: float) -> None:
    """Note the residuals of a candidate along noisy trajectories, by which a search on trial may give up."""
    noted(excess)
    clock = _CLOCK.get()
    if clock is not None:
        clock.tried += 1
        clock.nearest = min(clock.nearest, excess)


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
    clock = _CLOCK.get()
    limited = clock is not None and math.isfinite(clock.ends)
    show = None if clock is None else clock.progress
    with Progress(len(items), 0, show, "candidates", name, width=BAR, estimate=not limited) as bar:
        for k, item in enumerate(in_time(items)):
            yield item
            bar.update(k + 1, note=_note())


def _note() -> str:
    clock = _CLOCK.get() or _Clock()
    fits = f"{clock.best:.3g} times the noise" if math.isfinite(clock.best) else ""
    left = f"{max(0.0, clock.ends - time.monotonic()):.0f} s left" if math.isfinite(clock.ends) else ""
    return ", ".join(part for part in (fits, left) if part)
