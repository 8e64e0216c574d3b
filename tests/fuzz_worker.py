"""One random case through the commands, in this process or in a worker with limits of time and memory."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import typer.testing

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

import ndcn
from fuzz_files import mutated
from fuzz_tables import tables
from ndcn.cli import app
from ndcn.cli.guard import NO_MEMORY

SECONDS = 20.0  # of processor time for a case; more is a hang
START = 600.0  # seconds to wait for a worker, which imports torch
PATIENCE = 120.0  # seconds to wait for it on a busy machine
MEMORY = 2 * 2**30  # bytes resident above those at the start
SPACE = 16 * 2**30  # bytes of address space, which grows with every case, above those at the start
CASES = 200  # of one process
CHEAP = ["auto", "auto", "auto", "persistence", "linear", "spline", "ndcn"]


_COMMAND = typer.main.get_command(app)
typer.testing._get_command = lambda _: _COMMAND  # type: ignore[attr-defined]  # it would be built anew for each case, a third of its time


class Failure(AssertionError):
    """What must not happen, with the command at which it did."""


def run(*words: object) -> int:
    """Run a command; it ends with 0, or with 1 or 2 and a message of one line.

    Raises:
        Failure: anything else.
    """
    shown = " ".join(map(str, words))
    result = typer.testing.CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        trace = "".join(traceback.format_exception(result.exception)[-3:])
        raise Failure(f"{shown}: {type(result.exception).__name__}: {result.exception}\n{trace}")
    if result.exit_code not in (0, 1, 2) or "Traceback" in result.stderr:
        raise Failure(f"{shown}: exit code {result.exit_code}\n{result.output[-2000:]}")
    if result.exit_code == 0:
        return 0
    if NO_MEMORY in result.stderr:
        raise Failure(f"{shown}: it took more than {MEMORY / 2**30:.0f} GB")
    lines = [line for line in result.stderr.split("\n") if line]
    if words[0] == "inspect" and result.exit_code == 2 and lines[-1].endswith("inspect the files again"):
        return 2  # it lists all problems of the files
    if not lines or not lines[-1].startswith("error: ") or len([x for x in lines if x.startswith("error: ")]) > 1:
        raise Failure(f"{shown}: exit code {result.exit_code} without a message of one line\n{result.stderr[-2000:]}")
    return result.exit_code


def read_tables(seed: int) -> None:
    """inspect, fit, predict, report and load of random tables, in the working directory."""
    for name, raw in zip(("edges.csv", "states.csv"), tables(seed), strict=True):
        Path(name).write_bytes(raw)
    both = ("edges.csv", "states.csv")
    if run("inspect", *both) == 0:
        model = CHEAP[seed % len(CHEAP)]
        trained = ("--epochs", 2) if model == "ndcn" else ()
        if run("fit", *both, "--model", model, *trained) == 0:
            use_model(Path("model.ndcn"))


def use_model(path: Path) -> None:
    """Load a model, predict and make a page of it."""
    with contextlib.suppress(ValueError, FileNotFoundError):
        ndcn.load(path)
    run("predict", path, "--json")
    run("predict", path, "--until", 5, "--count", 3)
    run("predict", path, "--level", "0.5,0.9", "--out", "predicted.csv")
    run("report", path)


def read_mutated(seed: int, good: Path) -> None:
    """The commands that read the file that was changed."""
    subject = mutated(seed, good, Path.cwd())
    if subject.endswith(".ndcn"):
        use_model(Path(subject))
    elif subject.endswith(".checkpoint"):
        run("fit", "data", "--epochs", 3, "--out", "run", "--resume")
    elif subject == "data":
        run("fit", "data", "--model", "persistence")
    else:
        both = ("edges.csv", subject) if subject.startswith("states") else (subject, "states.csv")
        if run("inspect", *both) == 0:
            run("fit", *both, "--model", "persistence")


@contextlib.contextmanager
def elsewhere() -> Iterator[None]:
    """In an empty directory."""
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(home)


def one(what: str, seed: int, good: Path) -> None:
    """One case.

    Raises:
        Failure: what must not happen.
    """
    with elsewhere():
        read_tables(seed) if what == "tables" else read_mutated(seed, good)


# The worker -------------------------------------------------------------------------------------------------------------


def serve(good: Path) -> None:
    """Say "ready", then answer each line of input, "tables 5" or "files 7", with a line of JSON: null or what failed."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing else gets there
    if resource is not None and (sizes := Path("/proc/self/statm")).exists():
        most = int(sizes.read_text().split()[0]) * resource.getpagesize() + SPACE
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    first = _peak()
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        what, seed = line.split()
        begun = time.process_time()
        try:
            one(what, int(seed), good)
            spent = time.process_time() - begun
            said = None if spent < SECONDS else f"it took {spent:.0f} s"
            if _peak() - first > MEMORY:
                said = f"it took more than {MEMORY / 2**30:.0f} GB"
        except Failure as failure:
            said = str(failure)
        except Exception:  # of ndcn.load, which is not behind the command line
            said = traceback.format_exc()
        answers.write(json.dumps(said) + "\n")
        answers.flush()


def _peak() -> int:
    """The most bytes that were resident."""
    return 0 if resource is None else 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class Worker:
    """A process that runs cases one by one, and is started again after a crash or a hang."""

    def __init__(self, good: Path) -> None:
        self._good = good
        self._process: subprocess.Popen[str] | None = None
        self._done = 0
        self._answers: queue.Queue[str] = queue.Queue()

    def case(self, what: str, seed: int) -> str | None:
        """What failed, or None."""
        self._done += 1
        if self._done % CASES == 0:
            self.end()
        if self._process is None:
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what} {seed}\n")
        self._process.stdin.flush()
        try:
            answer = self._answers.get(timeout=PATIENCE)
        except queue.Empty:
            self.end()
            return f"it took more than {PATIENCE:.0f} s"
        if answer:
            said: str | None = json.loads(answer)
            if said is not None:
                self.end()  # its peak of memory, and whatever else failed, is not the next one's
            return said
        code = self._process.wait()
        self.end()
        return f"the process ended with code {code}"

    def _start(self) -> None:
        words = [sys.executable, __file__, str(self._good)]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._answers = queue.Queue()
        threading.Thread(target=_pass_on, args=(self._process.stdout, self._answers), daemon=True).start()
        if not self._answers.get(timeout=START):
            raise RuntimeError(f"the worker did not start: {' '.join(words)}")

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _pass_on(answers: IO[str], to: queue.Queue[str]) -> None:
    for line in answers:
        to.put(line)
    to.put("")


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
