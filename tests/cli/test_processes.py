"""The installed command in processes of its own: start-up, Ctrl-C, kill -9, and a disk that is full."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import ndcn
import warm
from commands import run

resource = pytest.importorskip(
    "resource", reason="Windows has no limits of file sizes, and no signals as these tests send"
)

NDCN = Path(sys.executable).with_name("ndcn")
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
# A checkpoint after every epoch, so that a test need not wait for one.
EAGER = "import ndcn.training.loop; ndcn.training.loop.SAVE_EVERY = 0.0; from ndcn.cli import main; main()"


def ndcn_script(*words: object, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [str(NDCN), *map(str, words)]
    done = subprocess.run(command, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def start(words: list[object], cwd: Path, code: str = EAGER) -> warm.Program | subprocess.Popen[str]:
    """A running `ndcn fit` that checkpoints every epoch, once its first checkpoint is there."""
    process = warm.start(code, words, cwd=cwd)
    end = time.monotonic() + 60
    while not (cwd / "model.ndcn.checkpoint").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "training did not start"
        time.sleep(0.02)
    return process


def weights(path: Path) -> dict[str, torch.Tensor]:
    return load_file(path)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    graph = ndcn.networks.grid(16)
    times = ndcn.sampling.irregular_times(2.0, 18, seed=0)
    path = tmp_path_factory.mktemp("process") / "data"
    ndcn.simulate(ndcn.laws.Heat(), graph, torch.rand(16, 1, generator=torch.Generator().manual_seed(0)), times).save(
        path
    )
    return path


def test_from_data_to_a_model(tmp_path, data):
    about = json.loads(ndcn_script("fit", data, "--epochs", 3, "--json", cwd=tmp_path).stdout)
    assert about["epochs"] == 3
    assert [p.name for p in tmp_path.iterdir()] == ["model.ndcn"]


def test_killed_and_resumed_is_as_never_interrupted(folder, data):
    words = ["fit", data, "--epochs", 60, "--seed", 3]
    process = start(words, folder)
    process.kill()
    process.communicate()
    assert not (folder / "model.ndcn").exists()
    run(*words, "--resume")
    assert not (folder / "model.ndcn.checkpoint").exists()
    run(*words, "--out", folder / "whole.ndcn")
    resumed, whole = weights(folder / "model.ndcn"), weights(folder / "whole.ndcn")
    assert resumed.keys() == whole.keys()
    assert all(torch.equal(resumed[name], whole[name]) for name in whole)


def test_ctrl_c_saves_and_resumes(folder, data):
    words = ["fit", data, "--epochs", 60, "--seed", 3, "--json"]
    process = start(words, folder)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Traceback" not in err
    assert "--resume" in err
    assert json.loads(out)["stopped"] == "interrupted"
    assert sorted(p.name for p in folder.iterdir()) == ["model.ndcn", "model.ndcn.checkpoint"]
    assert len(ndcn.load(folder / "model.ndcn").history_.loss) == json.loads(out)["epochs"] < 60
    assert json.loads(run(*words, "--resume").stdout)["epochs"] == 60
    assert [p.name for p in folder.iterdir()] == ["model.ndcn"]


def test_ctrl_c_twice_stops_at_once(tmp_path, data):
    # Every epoch takes long here, so that the second Ctrl-C comes before the first one's epoch has ended.
    slow = EAGER.replace(
        "from ndcn.cli",
        "import time; fast = ndcn.training.loop._step;"
        " ndcn.training.loop._step = lambda *a: (time.sleep(len(__import__('os').listdir())), fast(*a))[1]; from ndcn.cli",
    )
    process = start(["fit", data, "--epochs", 400], tmp_path, slow)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Traceback" not in err
    assert out == ""
    assert "stopped: model.ndcn was not written" in err
    assert [p.name for p in tmp_path.iterdir()] == ["model.ndcn.checkpoint"]


def test_a_full_disk(folder, data):
    before, limits = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        done = run("fit", data, "--epochs", 2, code=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert "error: could not write" in done.stderr
    assert not list(folder.iterdir())


def test_a_reader_that_leaves_early_sees_no_traceback(tmp_path, data):
    run("fit", data, "--epochs", 2, "--out", tmp_path / "model.ndcn")
    process = warm.start(warm.MAIN, ["predict", "model.ndcn", "--until", 5, "--count", 4_000], cwd=tmp_path)
    assert process.stdout.readline() == "time,node,x\n"
    process.stdout.close()
    process.wait(60)
    assert process.stderr.read() == ""
