"""Workers end with the process that started them, from their first moment on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

SCRIPT = """
import signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it would be ignored
from ndcn._support.processes import Processes

workers = Processes(eval, 1)
workers.start("__import__('torch') and __import__('time').sleep(600)")
print(workers.workers[0].process.pid, flush=True)
time.sleep(600)
"""


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("name", "after"),
    [("SIGKILL", 0.0), *(pytest.param(*one, marks=pytest.mark.slow) for one in (("SIGTERM", 0.6), ("SIGHUP", 3.0)))],
)
def test_no_orphans(name: str, after: float) -> None:
    """After 0.6 s a worker is importing torch."""
    parent = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    time.sleep(after)
    assert alive(worker)
    parent.send_signal(getattr(signal, name))
    parent.wait()
    parent.stdout.close()
    ends = time.monotonic() + 1.0
    while alive(worker) and time.monotonic() < ends:
        time.sleep(0.02)
    try:
        assert not alive(worker)
    finally:
        if alive(worker):
            os.kill(worker, signal.SIGKILL)


def test_a_worker_watches_its_parent_before_it_loads_torch() -> None:
    code = "import sys, ndcn._support.worker; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
