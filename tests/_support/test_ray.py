"""Ensembles, backtests and forecasts on a Ray cluster of two nodes on this machine, one of which is killed: as in one process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import ndcn
from places import ROOT

pytestmark = pytest.mark.slow
cluster_utils = pytest.importorskip("ray.cluster_utils", reason="Ray is not installed")


@pytest.fixture
def cluster() -> Iterator[Any]:
    made = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        made.nodes_with_work = [made.add_node(num_cpus=1) for _ in range(2)]
        made.wait_for_nodes()
        yield made
    finally:
        made.shutdown()


def data(count: int = 20) -> ndcn.Trajectory:
    graph = ndcn.networks.grid(25)
    return ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), torch.linspace(0, 2, count))


def test_an_ensemble_is_whole_when_a_node_is_killed(cluster: Any) -> None:
    """Members take longer than the node lives, so that at least one is lost and trained again elsewhere."""
    run = data()
    kill = threading.Timer(6.0, lambda: cluster.remove_node(cluster.nodes_with_work[0], allow_graceful=False))
    kill.start()
    settings: dict[str, Any] = {"ensemble": 4, "epochs": 4000, "progress": False}
    far = ndcn.DynamicsRegressor(jobs=cluster.address, **settings).fit(run)
    kill.join()
    assert len(far.models_) == 4
    here = ndcn.DynamicsRegressor(jobs=1, **settings).fit(run)
    for one, other in zip(far.models_, here.models_, strict=True):
        for a, b in zip(one.parameters(), other.parameters(), strict=True):
            assert torch.equal(a, b)


def test_backtests_and_forecasts_are_those_of_one_process(cluster: Any) -> None:
    run = data(30)
    settings: dict[str, Any] = {"origins": 3, "horizon": 2, "epochs": 30}
    far = ndcn.backtest(run, "ndcn", processes=cluster.address, **settings)
    assert far.to_json() == ndcn.backtest(run, "ndcn", processes=1, **settings).to_json()
    said, known = (
        ndcn.forecast.auto(run, horizon=2, learned=("interaction", "gru_gnn"), jobs=jobs, progress=False)
        for jobs in (cluster.address, 1)
    )
    assert said.tables[0].to_json() == known.tables[0].to_json()


def test_the_example_trains_on_two_workers(tmp_path: Path) -> None:
    ndcn.distributed.write_parts(data(), tmp_path / "parts", 2)
    words = [
        str(ROOT / "examples" / "cluster" / "ray_train.py"),
        str(tmp_path / "parts"),
        str(tmp_path / "model.ndcn"),
        "--epochs",
        "3",
    ]
    own = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *words], env=own, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(ndcn.load(tmp_path / "model.ndcn").history_.loss) == 3
