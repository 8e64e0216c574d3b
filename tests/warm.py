"""Programs in processes of their own that have torch and ndcn loaded: forks of one process that loaded them.

Loading takes seconds, and tests start many programs. What is about the start itself uses ``subprocess``.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO

MAIN = "from ndcn.cli import main; main()"
LOADED = ["torch", "pandas", "ndcn.regressor", "ndcn.classify", "ndcn.experiments", "typer.testing", "rich.console"]


def start(
    code: str, words: Sequence[object] = (), *, cwd: Path | None = None, new_session: bool = False
) -> Program | subprocess.Popen[str]:
    """Start a program; ``ndcn.cli`` is loaded by the program itself.

    Args:
        code: what runs as the main module; it can import the helpers of tests/.
        words: ``sys.argv[1:]``.
        cwd: the folder that it runs in.
        new_session: whether it has a process group of its own.
    """
    texts = [str(word) for word in words]
    if sys.platform == "win32":  # which has no forks
        here = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "COLUMNS": "200"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([sys.executable, "-c", code, *texts], cwd=cwd, env=here, text=True, **pipes)
    return Program(code, texts, str(cwd or Path.cwd()), new_session)


def output(code: str, words: Sequence[object] = (), *, cwd: Path | None = None) -> str:
    """What a program that ends well prints."""
    program = start(code, words, cwd=cwd)
    out, err = program.communicate(timeout=120)
    assert program.returncode == 0, err
    return out


class Program:
    """A running program, with as much of ``subprocess.Popen`` as tests use."""

    def __init__(self, code: str, words: list[str], cwd: str, new_session: bool) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(LOADED)
        (out, their_out), (err, their_err) = context.Pipe(duplex=False), context.Pipe(duplex=False)
        self.process = context.Process(target=_run, args=(code, words, cwd, new_session, their_out, their_err))
        self.process.start()
        their_out.close()
        their_err.close()
        self.stdout, self.stderr = _text(out), _text(err)
        self.pid = self.process.pid or 0

    @property
    def returncode(self) -> int | None:
        return self.process.exitcode

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self, timeout: float = 120) -> int:
        self.process.join(timeout)
        assert self.process.exitcode is not None, "it still runs"
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float = 120) -> tuple[str, str]:
        """What is left of its two outputs, once it has ended."""
        said: dict[str, str] = {}
        threads = [
            threading.Thread(target=lambda name=name, file=file: said.update({name: file.read()}))
            for name, file in (("out", self.stdout), ("err", self.stderr))
        ]
        for thread in threads:
            thread.start()
        self.wait(timeout)
        for thread in threads:
            thread.join()
        self.stdout.close()
        self.stderr.close()
        return said["out"], said["err"]


def _text(pipe: Connection) -> IO[str]:
    with pipe:
        return os.fdopen(os.dup(pipe.fileno()), encoding="utf-8")


def _run(code: str, words: list[str], cwd: str, new_session: bool, *outputs: Connection) -> None:
    if new_session:
        os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, pipe in enumerate(outputs, start=1):
        os.dup2(pipe.fileno(), number)
        pipe.close()
    os.environ["COLUMNS"] = "200"
    os.chdir(cwd)
    sys.argv = ["ndcn", *words]
    exec(compile(code, "program", "exec"), {"__name__": "__main__"})
