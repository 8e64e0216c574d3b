"""A worker is killed: torchrun starts all again, and the result is that of a run that was never hurt."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import ndcn
from ndcn import distributed
from places import ROOT
from ranks import free_port, together

WORKER = """
import os, pathlib, sys
import torch
torch.set_num_threads(1)
import ndcn.training.loop as loop
loop.SAVE_EVERY = 0.0  # a checkpoint after each epoch
folder = pathlib.Path(sys.argv[1])
(folder / f"new-{os.environ['RANK']}").write_text(str(os.getpid()))
os.replace(folder / f"new-{os.environ['RANK']}", folder / f"pid-{os.environ['RANK']}")  # whoever sees it can read it
from ndcn.cli import main
sys.argv = ["ndcn", "fit", "parts", "--epochs", sys.argv[2], "--hidden", "4", "--out", sys.argv[3]]
main()
"""


MAIN = """
from ndcn.cli import main
sys.argv = ["ndcn", *words["words"]]
main()
"""


def torchrun(folder: Path, epochs: int, out: str) -> subprocess.Popen[str]:
    (folder / "worker.py").write_text(WORKER)
    words = [
        "--nproc-per-node",
        "2",
        "--max-restarts",
        "3",
        "--master-port",
        str(free_port()),
        "--monitor-interval",
        "0.1",
    ]
    command = [sys.executable, "-m", "torch.distributed.run", *words, "worker.py", str(folder), str(epochs), out]
    own = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "NDCN_COLLECTIVE_SECONDS": "60"}
    return subprocess.Popen(command, cwd=folder, env=own, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def cut(folder: Path) -> None:
    graph = ndcn.networks.grid(36)
    times = torch.linspace(0, 2, 8)
    data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
    distributed.write_parts(data, folder / "parts", 2, method="streaming")


def wait_for(*paths: Path, seconds: float = 200.0) -> None:
    end = time.monotonic() + seconds
    while not all(path.exists() for path in paths):
        assert time.monotonic() < end, f"{[path.name for path in paths if not path.exists()]} did not come"
        time.sleep(0.02)


@pytest.mark.slow
def test_a_killed_worker_does_not_change_the_result(tmp_path: Path) -> None:
    cut(tmp_path)
    epochs = 40
    words = ["fit", "parts", "--epochs", str(epochs), "--hidden", "4", "--out", "whole.ndcn"]
    for rank in together(2, MAIN, {"words": words}, cwd=tmp_path):
        assert rank.code == 0, rank.err
    hurt = torchrun(tmp_path, epochs, "hurt.ndcn")
    wait_for(tmp_path / "hurt.ndcn.checkpoint")
    os.kill(int((tmp_path / "pid-1").read_text()), signal.SIGKILL)
    said, _ = hurt.communicate(timeout=600)
    assert hurt.returncode == 0, said
    assert "resuming ndcn" in said
    one, other = (ndcn.load(tmp_path / f"{name}.ndcn") for name in ("whole", "hurt"))
    assert one.history_.loss == other.history_.loss
    for a, b in zip(one.model_.parameters(), other.model_.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not (tmp_path / "hurt.ndcn.checkpoint").exists()


@pytest.mark.slow
def test_ten_kills_at_random_moments(tmp_path: Path) -> None:
    """From before the processes meet to after the last epoch; a kill that came too late does not count."""
    cut(tmp_path)
    epochs, draw, pids = 60, np.random.default_rng(0), [tmp_path / f"pid-{rank}" for rank in range(2)]
    whole = torchrun(tmp_path, epochs, "whole.ndcn")
    wait_for(*pids)
    began = time.monotonic()
    said, _ = whole.communicate(timeout=600)
    assert whole.returncode == 0, said
    lasts, truth, killed = time.monotonic() - began, ndcn.load(tmp_path / "whole.ndcn"), 0
    while killed < 10:
        for old in pids:
            old.unlink()
        run = torchrun(tmp_path, epochs, "hurt.ndcn")
        wait_for(*pids)
        time.sleep(draw.uniform(0, lasts))
        with contextlib.suppress(ProcessLookupError):  # it had ended
            os.kill(int(pids[killed % 2].read_text()), signal.SIGKILL)
            killed += 1
        said, _ = run.communicate(timeout=600)
        assert run.returncode == 0, said
        again = ndcn.load(tmp_path / "hurt.ndcn")
        (tmp_path / "hurt.ndcn").unlink()
        assert again.history_.loss == truth.history_.loss
        for a, b in zip(truth.model_.parameters(), again.model_.parameters(), strict=True):
            assert torch.equal(a, b)
