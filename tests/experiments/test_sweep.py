"""Sweeps: everything is done once, whatever dies, and however many sweeps share the store."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from miniature import miniature, result, some_runs
from ndcn._support.processes import Lost, Processes
from ndcn.experiments import attempt
from ndcn.experiments.result import Failed, Outcome, Result
from ndcn.experiments.spec import Run
from ndcn.experiments.store import Store
from ndcn.experiments.sweep import missing, seconds_left, sweep


class Scripted:
    """Workers whose outcomes are given beforehand, so that what a sweep makes of them can be seen."""

    capacity = 2

    def __init__(self, *outcomes: Outcome, delay: float = 0.0) -> None:
        self.outcomes, self.delay, self.started, self.pending = list(outcomes), delay, [], []

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, *reason: object) -> None:
        pass

    def start(self, run: Run) -> None:
        self.started.append(run.key)
        self.pending.append(run)
        assert len(self.pending) <= self.capacity

    def wait(self, seconds: float) -> list[tuple[Run, Outcome]]:
        time.sleep(self.delay if self.pending else 0.01)
        return [(self.pending.pop(0), self.outcomes.pop(0) if self.outcomes else result())] if self.pending else []


def test_a_lost_run_is_repeated_and_a_failed_one_is_not(tmp_path: Path) -> None:
    runs, store = some_runs(4), tmp_path / "a.sqlite"
    workers = Scripted(Lost("died"), Failed("exploded"))
    seen: list[Outcome] = []
    sweep(runs, store, workers, lambda run, outcome: seen.append(outcome))
    assert workers.started.count(runs[0].key) == 2
    assert [workers.started.count(run.key) for run in runs[1:]] == [1, 1, 1]
    assert sum(isinstance(outcome, Result) for outcome in seen) == 3
    with Store(store) as there:
        assert there.failures() == {runs[1].key: "exploded"}
        assert there.done() == {runs[0].key, runs[2].key, runs[3].key}
        assert there.connection.execute("SELECT count(*) FROM claims").fetchone() == (0,)
    again = Scripted()
    sweep(runs, store, again)  # what failed is tried again
    assert again.started == [runs[1].key]


def test_a_run_that_always_kills_its_process_is_given_up(tmp_path: Path) -> None:
    (run,) = some_runs(1)
    workers = Scripted(*[Lost("died")] * 9)
    sweep([run], tmp_path / "a.sqlite", workers)
    assert len(workers.started) == importlib.import_module("ndcn.experiments.sweep").ATTEMPTS
    with Store(tmp_path / "a.sqlite") as store:
        assert store.failures() == {run.key: "died"}


def test_a_sweep_that_is_interrupted_gives_its_claims_back(tmp_path: Path) -> None:
    class Interrupted(Scripted):
        def wait(self, seconds: float) -> list[tuple[Run, Outcome]]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(some_runs(3), tmp_path / "a.sqlite", Interrupted())
    workers = Scripted()
    sweep(some_runs(3), tmp_path / "a.sqlite", workers)
    assert len(workers.started) == 3


def test_two_sweeps_share_the_work(tmp_path: Path) -> None:
    runs, store = some_runs(12), tmp_path / "a.sqlite"
    crews = [Scripted(delay=0.02), Scripted(delay=0.02)]
    threads = [threading.Thread(target=sweep, args=(runs, store, crew)) for crew in crews]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    started = [key for crew in crews for key in crew.started]
    assert sorted(started) == sorted(run.key for run in runs)
    assert all(crew.started for crew in crews)


def test_what_is_missing_and_how_long_it_takes(tmp_path: Path) -> None:
    runs = some_runs(4)
    with Store(tmp_path / "a.sqlite") as store:
        assert seconds_left(runs, store, 1) is None
        assert seconds_left([], store, 1) == 0
        store.add(runs[0], result())
        left = missing([*runs, *runs], store)
        assert [run.key for run in left] == [run.key for run in runs[1:]]
        assert seconds_left(left, store, 2) == pytest.approx(3 * 1.5 / 2)
        others = list(miniature(only=["gene/random"], models=["no_graph"]).all_runs())
        assert seconds_left(others, store, 1) == pytest.approx(2 * 1.5)
        assert seconds_left(list(miniature(nodes=25).all_runs()), store, 1) is None


def test_what_goes_wrong_in_a_run_is_its_outcome() -> None:
    (run,) = some_runs(1)
    outcome = attempt(Run({**run.settings, "model": {"model": "perpetuum"}}))
    assert isinstance(outcome, Failed)
    assert "unknown model 'perpetuum'" in outcome.reason


@pytest.mark.slow  # `ndcn reproduce` is killed and continued in tests/cli/test_reproduce.py
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_killed_process_loses_only_its_own_run(tmp_path: Path) -> None:
    runs, store = list(miniature(runs=5, epochs=150, nodes=100).all_runs()), tmp_path / "a.sqlite"
    seen: list[tuple[str, Outcome]] = []
    with Processes(attempt, 2) as workers:
        killed: list[int] = []

        def report(run: Run, outcome: Outcome) -> None:
            seen.append((run.key, outcome))
            busy = [worker for worker in workers.workers if worker.task is not None]
            if not killed and busy:
                killed.append(busy[0].process.pid or 0)
                os.kill(killed[0], signal.SIGKILL)

        sweep(runs, store, workers, report)
        pids = [worker.process.pid for worker in workers.workers]
        assert killed
        assert killed[0] not in pids
    lost = [outcome for _, outcome in seen if isinstance(outcome, Lost)]
    assert [outcome.reason for outcome in lost] == ["its process died (exit code -9)"]
    done = [key for key, outcome in seen if isinstance(outcome, Result)]
    assert sorted(done) == sorted(run.key for run in runs)  # each once
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid or 0, 0)
