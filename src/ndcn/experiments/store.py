"""Results in one SQLite file that several commands can share: one row for each run, and who is at work on which."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sqlite3
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType

from .._support.files import check_replaceable
from .._support.plain_json import from_json
from .result import Result
from .spec import Run

APPLICATION = 0x6E64636E  # "ndcn", written into the file's header
VERSION = 1
WAIT = 60.0  # seconds for which a command waits while others write
STALE = 30.0  # seconds without a sign of life, after which a claim is nobody's

SCHEMA = """
CREATE TABLE runs (
    key TEXT PRIMARY KEY, settings TEXT NOT NULL, scores TEXT NOT NULL, per_time TEXT NOT NULL,
    parameters INTEGER NOT NULL, seconds REAL NOT NULL, versions TEXT NOT NULL, finished TEXT NOT NULL, states BLOB
);
CREATE TABLE failures (key TEXT PRIMARY KEY, settings TEXT NOT NULL, reason TEXT NOT NULL, failed TEXT NOT NULL);
CREATE TABLE claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL, seen REAL NOT NULL);
"""


class Store:
    """Results of runs by their keys. Every change is a transaction: a kill at any moment leaves a sound file.

    Args:
        path: of the file; made if it is not there, unless ``create`` is False.
        owner: who claims runs here.
        create: whether a file that is not there is made.
        read_only: whether nothing will be changed; then the file and its folder need not be writable.

    Raises:
        FileNotFoundError: there is no such file, and it is not to be made; or no folder for it.
        ValueError: the file is not a store of this version.
    """

    def __init__(self, path: str | Path, owner: str = "", *, create: bool = True, read_only: bool = False) -> None:
        self.path = Path(path)
        self.owner = owner
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        if self.path.is_dir():
            raise ValueError(f"{path} is a folder; a store is one file, such as results.sqlite")
        if not self.path.exists() and not create:
            raise FileNotFoundError(f"there is no store {path}; `ndcn reproduce` makes one")
        if not self.path.absolute().parent.is_dir():
            raise FileNotFoundError(f"there is no folder {self.path.absolute().parent} for the store; make it first")
        if str(path) != ":memory:":
            check_replaceable(self.path)
        self.connection = self._read_only() if read_only else self._connected(self.path)
        try:
            if not read_only:
                self._open()
            elif self._check():
                raise ValueError(f"{path} is empty: no command has stored results in it")
        except (sqlite3.DatabaseError, ValueError) as error:
            self.close()
            if isinstance(error, ValueError):
                raise
            raise ValueError(f"{path} cannot be used as a store of results: {error}") from error

    def _connected(self, place: str | Path, *, uri: bool = False) -> sqlite3.Connection:
        return sqlite3.connect(place, timeout=WAIT, isolation_level=None, uri=uri)

    def _read_only(self) -> sqlite3.Connection:
        """A connection that changes nothing; to a copy, where SQLite needs to write beside a file that it reads."""
        with suppress(sqlite3.OperationalError):
            connection = self._connected(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)
            try:
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                return connection
            except sqlite3.OperationalError:
                connection.close()
        self._copy = tempfile.TemporaryDirectory(prefix="ndcn-store-")
        copied = Path(self._copy.name) / "store"
        for ending in ("", "-wal"):  # what is not yet in the file is in its log
            beside = Path(f"{self.path}{ending}")
            if beside.exists():
                shutil.copyfile(beside, f"{copied}{ending}")
        return self._connected(copied)

    def close(self) -> None:
        """Give the file free."""
        self.connection.close()
        if self._copy is not None:
            self._copy.cleanup()

    def _open(self) -> None:
        self.connection.execute("BEGIN")  # its reads belong together: another command may be making the file
        try:
            self._check()  # before anything is changed
        finally:
            self.connection.execute("ROLLBACK")
        self._keep_a_log()
        self.connection.execute("PRAGMA synchronous = NORMAL")
        with self._transaction():
            if self._check():  # another command may have been faster
                for statement in SCHEMA.split(";"):
                    self.connection.execute(statement)
                self.connection.execute(f"PRAGMA application_id = {APPLICATION}")
                self.connection.execute(f"PRAGMA user_version = {VERSION}")
            self.connection.execute("DELETE FROM claims WHERE seen < ?", (time.time() - STALE,))

    def _keep_a_log(self) -> None:
        """Switch to a write-ahead log. SQLite does not wait for others here, whatever the timeout: so this does."""
        end = time.monotonic() + WAIT
        while True:
            try:
                self.connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if (
                    "locked" not in str(error) or time.monotonic() > end
                ):  # Python 3.10 does not tell SQLite's error code
                    raise
            time.sleep(0.01)

    def _check(self) -> bool:
        """Whether the file is new; refuses those of something else."""
        (application,) = self.connection.execute("PRAGMA application_id").fetchone()
        (version,) = self.connection.execute("PRAGMA user_version").fetchone()
        (tables,) = self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application == 0 and tables == 0:
            return True
        if application != APPLICATION:
            raise ValueError(f"{self.path} is a database of something else; choose another --store")
        if version != VERSION:
            raise ValueError(f"{self.path} is a store of version {version}; this ndcn reads version {VERSION}")
        return False

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Results ----------------------------------------------------------------------------------------------------

    def add(self, run: Run, result: Result) -> None:
        """Keep a result, and give the claim back."""
        settings = json.dumps(run.settings, sort_keys=True)
        scores, per_time, versions = map(json.dumps, (result.scores, result.per_time, result.versions))
        row = (settings, scores, per_time, result.parameters, result.seconds, versions, _now(), result.states)
        with self._transaction() as execute:
            execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (run.key, *row))
            execute("DELETE FROM failures WHERE key = ?", (run.key,))
            execute("DELETE FROM claims WHERE key = ?", (run.key,))

    def add_failure(self, run: Run, reason: str) -> None:
        """Keep why a run failed, and give the claim back; it counts as not done."""
        row = (run.key, json.dumps(run.settings, sort_keys=True), reason, _now())
        with self._transaction() as execute:
            execute("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?)", row)
            execute("DELETE FROM claims WHERE key = ?", (run.key,))

    def results(self, runs: Iterable[Run], *, per_time: bool = False, states: bool = False) -> list[Result]:
        """The results of those runs that are done, in order; errors over time and predicted states only if asked for."""
        columns = f"scores, {'per_time' if per_time else 'NULL'}, parameters, seconds, versions, {'states' if states else 'NULL'}"
        found = []
        for run in runs:
            row = self.connection.execute(f"SELECT {columns} FROM runs WHERE key = ?", (run.key,)).fetchone()
            if row is not None:
                scores, errors, parameters, seconds, versions, packed = row
                scores, errors, versions = (from_json(text or "{}") for text in (scores, errors, versions))
                found.append(Result(scores, errors, parameters, seconds, versions, packed))
        return found

    def done(self) -> set[str]:
        """Keys of the runs that are done."""
        return {key for (key,) in self.connection.execute("SELECT key FROM runs")}

    def failures(self) -> dict[str, str]:
        """Why runs failed, by key."""
        return dict(self.connection.execute("SELECT key, reason FROM failures"))

    def seconds(self) -> list[tuple[Run, float]]:
        """The runs that are done, and the seconds they took."""
        rows = self.connection.execute("SELECT settings, seconds FROM runs")
        return [(Run(from_json(settings)), seconds) for settings, seconds in rows]

    # Who does what ----------------------------------------------------------------------------------------------

    def claim(self, run: Run) -> bool:
        """Whether this owner may start the run: it is neither done nor in the hands of another that is alive."""
        now = time.time()
        others = "SELECT owner FROM claims WHERE key = ? AND owner != ? AND seen > ?"
        with self._transaction() as execute:
            done = execute("SELECT 1 FROM runs WHERE key = ?", (run.key,)).fetchone()
            holder = execute(others, (run.key, self.owner, now - STALE)).fetchone()
            free = done is None and (holder is None or _is_gone(holder[0]))
            if free:
                execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", (run.key, self.owner, now))
        return free

    def sign_of_life(self) -> None:
        """Renew this owner's claims; needed more often than every ``STALE`` seconds."""
        with self._transaction() as execute:
            execute("UPDATE claims SET seen = ? WHERE owner = ?", (time.time(), self.owner))

    def release(self) -> None:
        """Give all claims of this owner back."""
        with self._transaction() as execute:
            execute("DELETE FROM claims WHERE owner = ?", (self.owner,))

    @contextmanager
    def _transaction(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        """The method that executes statements, all of which take effect or none."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield self.connection.execute
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")


def new_owner() -> str:
    """A name for who claims runs: machine, process, and something of its own."""
    return f"{platform.node()} {os.getpid()} {uuid.uuid4().hex[:8]}"


def _is_gone(owner: str) -> bool:
    """Whether the process of an owner on this machine has ended; of others nobody knows."""
    machine, _, process = owner.rpartition(" ")[0].rpartition(" ")
    # on Windows os.kill(pid, 0) sends Ctrl-C; there the claim becomes free after STALE seconds
    if machine != platform.node() or not process.isdigit() or sys.platform == "win32":
        return False
    try:
        os.kill(int(process), 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)
    return False


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
