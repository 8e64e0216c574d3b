"""Ensembles, backtests and forecasts on a Ray cluster of two nodes on this machine, one of which is killed: as in one process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import ndcn
from ndcn._support.work import run_all
from places import ROOT

pytestmark = pytest.mark.slow
for name, value in (("raylet_start_wait_time_s", "300"), ("agent_register_timeout_ms", "300000")):
    os.environ.setdefault(f"RAY_{name}", value)  # half a minute by default, which a busy machine exceeds
cluster_utils = pytest.importorskip("ray.cluster_utils", reason="Ray is not installed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    made = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        made.working = [made.add_node(num_cpus=1) for _ in range(2)]
        made.wait_for_nodes(timeout=300)
        yield made
    finally:
        made.shutdown()


def data(count: int) -> ndcn.Trajectory:
    graph = ndcn.networks.grid(25)
    return ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), torch.linspace(0, 2, count))


def test_an_ensemble_is_that_of_one_process(cluster: Any) -> None:
    far, here = (
        ndcn.DynamicsRegressor(ensemble=3, epochs=20, progress=False, jobs=jobs).fit(data(20))
        for jobs in (cluster.address, 1)
    )
    for one, other in zip(far.models_, here.models_, strict=True):
        for a, b in zip(one.parameters(), other.parameters(), strict=True):
            assert torch.equal(a, b)


def test_a_backtest_is_that_of_one_process(cluster: Any) -> None:
    settings: dict[str, Any] = {"origins": 2, "horizon": 2, "epochs": 20}
    far, here = (ndcn.backtest(data(20), "ndcn", processes=jobs, **settings) for jobs in (cluster.address, 1))
    assert far.to_json() == here.to_json()


def test_a_forecast_is_that_of_one_process(cluster: Any) -> None:
    far, here = (
        ndcn.forecast.auto(data(20), horizon=2, learned=("interaction",), jobs=jobs, progress=False)
        for jobs in (cluster.address, 1)
    )
    assert far.tables[0].to_json() == here.tables[0].to_json()


def test_a_node_is_killed_and_its_task_is_carried_out_elsewhere(cluster: Any, tmp_path: Path) -> None:
    """Two tasks are at work on two nodes when one of them is killed; each task notes its beginning and its end in a file."""
    names = [tmp_path / str(k) for k in range(4)]
    tasks = [f"echo begun >> {name}; sleep 10; echo done >> {name}" for name in names]

    def kill_when_both_work() -> None:
        while sum(name.exists() for name in names) < 2:
            time.sleep(0.05)
        cluster.remove_node(cluster.working[0], allow_graceful=False)

    killer = threading.Thread(target=kill_when_both_work)
    killer.start()
    answers = dict(run_all(os.system, tasks, jobs=cluster.address, name="tasks"))
    killer.join()
    assert answers == dict.fromkeys(range(4), 0)
    said = [name.read_text().split() for name in names]
    assert all("done" in words for words in said)
    assert sorted(words.count("begun") for words in said) == [1, 1, 1, 2]  # one was lost and begun again


def test_the_example_trains_on_two_workers(tmp_path: Path) -> None:
    ndcn.distributed.write_parts(data(8), tmp_path / "parts", 2)
    words = [ROOT / "examples" / "cluster" / "ray_train.py", tmp_path / "parts", tmp_path / "model.ndcn", "--epochs", 3]
    own = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "RAY_ADDRESS": "local"}
    done = subprocess.run(
        [sys.executable, *map(str, words)], env=own, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(ndcn.load(tmp_path / "model.ndcn").history_.loss) == 3
