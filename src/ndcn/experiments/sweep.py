"""Carry out all runs that a store does not hold yet, and say how long that will take."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import mean
from typing import Any

from .._support.work import Workers
from .classify import run_classification
from .result import Failed, Outcome, Result
from .run import run_dynamics
from .spec import Run
from .store import STALE, Store, new_owner

ATTEMPTS = 3  # of a run whose process dies
POLL = 0.5  # seconds


def sweep(
    runs: Iterable[Run],
    path: str | Path,
    workers: Workers,
    report: Callable[[Run, Outcome], None] = lambda run, outcome: None,
) -> None:
    """Carry out the runs that are not done, and keep each result as soon as it is there.

    Several sweeps may share a store: none starts what another is at work on, and all end when everything is done. What a
    killed sweep had begun is free again at once on its own machine, and after half a minute on others.

    The same run may come twice. ``report`` is called with every run of this sweep that has ended.
    """
    with Store(path, new_owner()) as store, _signs_of_life(store):
        left = deque(missing(runs, store))
        attempts: Counter[str] = Counter()
        running = 0
        while left or running:
            for _ in range(len(left)):
                if running == workers.capacity:
                    break
                run = left.popleft()
                if store.claim(run):
                    workers.start(run)
                    running += 1
                elif not store.results([run]):
                    left.append(run)  # another sweep is at work on it
            for run, outcome in workers.wait(POLL):
                running -= 1
                attempts[run.key] += 1
                if isinstance(outcome, Result):
                    store.add(run, outcome)
                elif isinstance(outcome, Failed) or attempts[run.key] == ATTEMPTS:
                    store.add_failure(run, outcome.reason)
                else:
                    left.appendleft(run)
                report(run, outcome)


def attempt(run: Run) -> Result | Failed:
    """Carry out a run; what goes wrong in it becomes its outcome."""
    try:
        if "dataset" in run.settings:
            return run_classification(run.settings, run.data)
        return run_dynamics(run.settings, run.keep_states)
    except Exception as error:
        return Failed.of(error)


def missing(runs: Iterable[Run], store: Store) -> list[Run]:
    """Those runs that are not done, each once."""
    done = store.done()
    return list({run.key: run for run in runs if run.key not in done}.values())


def seconds_left(runs: Sequence[Run], store: Store, jobs: int) -> float | None:
    """How long the runs will take, from how long their like took; None as long as nothing like them was done."""
    seen: dict[tuple[Any, ...], list[float]] = {}
    for run, seconds in store.seconds():
        for kind in run.alike():
            seen.setdefault(kind, []).append(seconds)
    total = 0.0
    for run in runs:
        known = next((seen[kind] for kind in run.alike() if kind in seen), None)
        if known is None:
            return None
        total += mean(known)
    return total / jobs


@contextmanager
def _signs_of_life(store: Store) -> Iterator[None]:
    """Renew the claims of a store's owner in the background, and give them back at the end."""
    over = threading.Event()

    def renew() -> None:
        with Store(store.path, store.owner) as own:  # a connection belongs to one thread
            while not over.wait(STALE / 6):
                with suppress(sqlite3.OperationalError):  # locked for a minute, or the disk is full: try again
                    own.sign_of_life()

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        store.release()
