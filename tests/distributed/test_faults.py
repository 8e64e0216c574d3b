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
(folder / f"pid-{os.environ['RANK']}").write_text(str(os.getpid()))
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


def wait_for(path: Path, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path.name} did not come"
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
    said, _ = hurt.communicate(timeout=180)
    assert hurt.returncode == 0, said
    assert "resuming ndcn" in said
    one, other = (ndcn.load(tmp_path / f"{name}.ndcn") for name in ("whole", "hurt"))
    assert one.history_.loss == other.history_.loss
    for a, b in zip(one.model_.parameters(), other.model_.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not (tmp_path / "hurt.ndcn.checkpoint").exists()


@pytest.mark.slow
def test_ten_kills_at_random_moments(tmp_path: Path) -> None:
    cut(tmp_path)
    epochs, draw = 60, np.random.default_rng(0)
    whole = torchrun(tmp_path, epochs, "whole.ndcn")
    whole.communicate(timeout=180)
    truth = ndcn.load(tmp_path / "whole.ndcn")
    for k in range(10):
        for old in tmp_path.glob("pid-*"):
            old.unlink()
        run = torchrun(tmp_path, epochs, f"hurt-{k}.ndcn")
        wait_for(tmp_path / "pid-1")
        time.sleep(draw.uniform(0, 12))  # from before the first epoch to after the last on two busy cores
        with contextlib.suppress(ProcessLookupError):  # it had ended
            os.kill(int((tmp_path / f"pid-{k % 2}").read_text()), signal.SIGKILL)
        said, _ = run.communicate(timeout=240)
        assert run.returncode == 0, said
        again = ndcn.load(tmp_path / f"hurt-{k}.ndcn")
        assert again.history_.loss == truth.history_.loss
        for a, b in zip(truth.model_.parameters(), again.model_.parameters(), strict=True):
            assert torch.equal(a, b)
