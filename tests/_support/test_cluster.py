"""Runs on a Ray cluster of this machine, one of whose two nodes is killed on the way."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from miniature import miniature
from ndcn._support.cluster import Ray
from ndcn._support.processes import Lost
from ndcn.experiments import attempt
from ndcn.experiments.result import Outcome, Result
from ndcn.experiments.spec import Run
from ndcn.experiments.store import Store
from ndcn.experiments.sweep import sweep


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'ndcn\[ray\]'"):
        Ray(abs, "auto")


@pytest.mark.slow
def test_nothing_is_lost_when_a_node_is_killed(tmp_path: Path) -> None:
    cluster_utils = pytest.importorskip("ray.cluster_utils", reason="Ray is not installed")
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        cluster.wait_for_nodes()
        runs = list(miniature(runs=6, nodes=400, epochs=1500).all_runs())
        seen: list[tuple[str, Outcome]] = []
        kill = threading.Timer(
            1.0, lambda: cluster.remove_node(nodes[0], allow_graceful=False)
        )  # in the midst of a run

        def report(run: Run, outcome: Outcome) -> None:
            seen.append((run.key, outcome))
            if len(seen) == 2:
                kill.start()

        with Ray(attempt, cluster.address) as workers:
            assert workers.capacity == 2
            sweep(runs, tmp_path / "a.sqlite", workers, report)
        assert any(isinstance(outcome, Lost) for _, outcome in seen), [type(o).__name__ for _, o in seen]
        done = [key for key, outcome in seen if isinstance(outcome, Result)]
        assert sorted(done) == sorted(run.key for run in runs)
        with Store(tmp_path / "a.sqlite") as store:
            assert store.done() == {run.key for run in runs}
            assert store.failures() == {}
    finally:
        cluster.shutdown()


@pytest.mark.slow
def test_a_cluster_that_is_not_there() -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    with pytest.raises(ConnectionError, match="no Ray cluster answers at"):
        Ray(abs, "ray://127.0.0.1:1")
    with pytest.raises(ValueError, match="--ray takes auto, or an address"):
        Ray(abs, "head")
