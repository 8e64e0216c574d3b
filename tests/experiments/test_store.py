"""The store: what it keeps, whom it lets work on what, and what it refuses."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import warm
from miniature import result, some_runs
from ndcn.experiments import store as module
from ndcn.experiments.store import Store


def test_a_new_store_waits_for_whoever_is_making_it(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")  # a lock that SQLite's own timeout does not wait for when a log is to be started
    threading.Timer(0.3, lambda: other.execute("ROLLBACK")).start()
    with Store(tmp_path / "a.sqlite") as store:
        assert store.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    other.close()


def test_what_is_added_is_found_again(tmp_path: Path) -> None:
    first, second, third = some_runs(3)
    with Store(tmp_path / "a.sqlite") as store:
        store.add(first, result(0.04, b"states"))
        store.add(third, result(0.05))
    with Store(tmp_path / "a.sqlite", create=False) as store:
        assert store.done() == {first.key, third.key}
        assert store.results([first, second, third], per_time=True) == [result(0.04), result(0.05)]
        assert store.results([first], per_time=True, states=True) == [result(0.04, b"states")]
        assert store.results([first])[0].per_time == {}
        assert [(run.key, seconds) for run, seconds in store.seconds()] == [(first.key, 1.5), (third.key, 1.5)]
        assert store.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_failure_is_kept_until_the_run_succeeds(tmp_path: Path) -> None:
    (run,) = some_runs(1)
    with Store(tmp_path / "a.sqlite") as store:
        store.add_failure(run, "it exploded")
        assert store.failures() == {run.key: "it exploded"}
        assert store.done() == set()
        store.add(run, result())
        assert store.failures() == {}


def test_a_run_is_claimed_by_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = some_runs(2)
    with Store(tmp_path / "a.sqlite", "ann") as ann, Store(tmp_path / "a.sqlite", "bob") as bob:
        assert ann.claim(first)
        assert ann.claim(first)
        assert not bob.claim(first)
        assert bob.claim(second)
        ann.release()
        assert bob.claim(first)
        bob.add(first, result())
        assert not ann.claim(first)
        assert not bob.claim(first)
        now = time.time()
        monkeypatch.setattr(module.time, "time", lambda: now + module.STALE - 1)
        assert not ann.claim(second)
        bob.sign_of_life()
        monkeypatch.setattr(module.time, "time", lambda: now + module.STALE + 1)
        assert not ann.claim(second)
        monkeypatch.setattr(module.time, "time", lambda: now + 2 * module.STALE + 1)
        assert ann.claim(second)


@pytest.mark.skipif(sys.platform == "win32", reason="on Windows claims become free with time only")
def test_a_claim_of_a_process_that_has_ended_is_free_at_once(tmp_path: Path) -> None:
    (run,) = some_runs(1)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    here = module.platform.node()
    for owner, free in (
        (f"{here} {ended.pid} 1234abcd", True),
        (f"{here} {os.getpid()} 1234abcd", False),
        (f"elsewhere {ended.pid} 1234abcd", False),
    ):
        with Store(tmp_path / "a.sqlite", owner) as other, Store(tmp_path / "a.sqlite", module.new_owner()) as own:
            assert other.claim(run)
            assert own.claim(run) == free
            own.release()
            other.release()


def test_on_windows_no_signal_is_sent_to_other_owners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (run,) = some_runs(1)
    with Store(tmp_path / "a.sqlite", module.new_owner()) as other, Store(tmp_path / "a.sqlite", "own") as own:
        assert other.claim(run)
        monkeypatch.setattr(module.os, "kill", lambda *_: pytest.fail("a signal was sent"))
        monkeypatch.setattr(module.sys, "platform", "win32")
        assert not own.claim(run)


def test_other_files_are_refused_and_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("my notes\n" * 100)
    foreign = tmp_path / "foreign.sqlite"
    with sqlite3.connect(foreign) as other:
        other.execute("CREATE TABLE birds (name TEXT)")
    other.close()
    for path, message in ((text, "cannot be used"), (foreign, "something else")):
        before = path.read_bytes()
        with pytest.raises(ValueError, match=message):
            Store(path)
        assert path.read_bytes() == before
    with pytest.raises(ValueError, match="is a folder"):
        Store(tmp_path)
    with pytest.raises(FileNotFoundError, match="no folder"):
        Store(tmp_path / "no" / "a.sqlite")
    with pytest.raises(FileNotFoundError, match="no store"):
        Store(tmp_path / "a.sqlite", create=False)
    assert not (tmp_path / "a.sqlite").exists()


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path / "a.sqlite") as store:
        store.connection.execute("PRAGMA user_version = 99")
    with pytest.raises(ValueError, match="version 99"):
        Store(tmp_path / "a.sqlite")


WRITER = """
import sys
from miniature import result, some_runs
from ndcn.experiments.store import Store
runs = some_runs(20)
with Store(sys.argv[1], "writer") as store:
    store.add(runs[0], result(states=bytes(100_000)))
    print("open", flush=True)
    for run in runs * 1000:
        store.add(run, result(states=bytes(100_000)))
"""


def test_a_kill_in_the_midst_of_writing_leaves_a_sound_file(tmp_path: Path) -> None:
    writers = [warm.start(WRITER, [tmp_path / "a.sqlite"]) for _ in range(2)]  # both make the file
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "open\n"
    time.sleep(0.3)
    for writer in writers:
        writer.kill()
        writer.wait()
        writer.stdout.close()
    with Store(tmp_path / "a.sqlite", create=False) as store:
        assert store.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        found = store.results(some_runs(20), per_time=True, states=True)
        assert len(found) == len(store.done()) > 0
        assert all(one == result(states=bytes(100_000)) for one in found)


def test_a_store_is_read_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a read-only disk, where SQLite cannot make the files that it keeps beside a store; what is in its log is read too."""
    first, second = some_runs(2)
    path, connect = tmp_path / "a.sqlite", sqlite3.connect

    def on_a_read_only_disk(place: object, **how: object) -> sqlite3.Connection:
        if str(tmp_path) in str(place):
            raise sqlite3.OperationalError("attempt to write a readonly database")
        return connect(place, **how)

    with Store(path) as writer:
        writer.add(first, result(0.04))
        writer.add(second, result(0.05))
        assert (tmp_path / "a.sqlite-wal").stat().st_size > 0
        with monkeypatch.context() as patch:
            patch.setattr(module.sqlite3, "connect", on_a_read_only_disk)
            with Store(path, read_only=True) as store:
                assert store.done() == {first.key, second.key}
                copied = Path(store._copy.name)
            assert not copied.exists()
    before = path.read_bytes()
    with Store(path, read_only=True) as store:
        assert store.done() == {first.key, second.key}
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            store.add(first, result(0.06))
    assert path.read_bytes() == before


def test_an_empty_file_and_a_pipe_are_no_stores(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(ValueError, match="is empty: no command has stored results"):
        Store(tmp_path / "empty", read_only=True)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is a pipe"):
        Store(tmp_path / "pipe")


def test_lists_without_end_in_a_store(tmp_path: Path) -> None:
    (run,) = some_runs(1)
    with Store(tmp_path / "a.sqlite") as store:
        store.add(run, result())
        store.connection.execute("UPDATE runs SET scores = ?", (100_000 * "[",))
        with pytest.raises(ValueError, match="nested too deeply"):
            store.results([run])
