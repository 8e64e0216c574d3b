"""Tasks in processes and on a cluster: every answer once, errors as they were, and a crash that is told."""

from __future__ import annotations

import math
import operator
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from safetensors.torch import load_file

from ndcn._support.processes import Failed, Lost, Processes
from ndcn._support.work import run_all, workers_for
from ndcn.solve import IntegrationError


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_task_is_answered_under_its_index(jobs: int) -> None:
    answers = list(run_all(math.sqrt, [16.0, 9.0, 4.0, 1.0, 0.0], jobs=jobs))
    assert sorted(answers) == [(0, 4.0), (1, 3.0), (2, 2.0), (3, 1.0), (4, 0.0)]
    assert list(run_all(math.sqrt, [], jobs=jobs)) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_is_raised_as_it_was(jobs: int) -> None:
    with pytest.raises(ValueError, match="math domain error"):
        list(run_all(math.sqrt, [1.0, -1.0], jobs=jobs))


def test_a_crash_is_told_and_a_failure_does_not_end_its_worker() -> None:
    with pytest.raises(OSError, match="a process of the runs died, perhaps for lack of memory"):
        list(run_all(os._exit, [3, 4], jobs=2, name="runs"))
    with Processes(math.sqrt, 1) as workers:
        for task in (-1.0, 4.0):
            workers.start(task)
            ((_, answer),) = workers.wait(None)
        assert answer == 2.0
        assert len(workers.workers) == 1
    with Processes(os._exit, 1) as workers:
        workers.start(3)
        assert workers.wait(None) == [(3, Lost("its process died (exit code 3)"))]


def test_an_error_that_cannot_be_pickled_keeps_its_words() -> None:
    class Own(Exception):
        pass

    failed = Failed.of(Own("the tide"))
    assert failed.reason == "Own: the tide"
    assert str(pickle.loads(pickle.dumps(failed)).error) == "Own: the tide"
    assert "too stiff" in str(pickle.loads(pickle.dumps(Failed.of(IntegrationError("too stiff", 1.0)))).error)


def test_what_cannot_be_sent_is_done_here() -> None:
    here = []
    tasks = [lambda: here.append(os.getpid()), lambda: here.append(os.getpid())]
    assert len(list(run_all(operator.call if hasattr(operator, "call") else (lambda f: f()), tasks, jobs=2))) == 2
    assert here == [os.getpid()] * 2


SCRIPT = """
import warnings, torch, ndcn
graph = ndcn.networks.grid(16)
data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), torch.linspace(0, 1, 20))
def own_loss(state):
    return 0.1 * state.square().mean()
for terminal in (own_loss, None):
    objective = ndcn.Objective("l1", terminal=terminal)
    with warnings.catch_warnings(record=True) as said:
        reg = ndcn.DynamicsRegressor(ensemble=4, jobs=2, epochs=4 if terminal else 1500, objective=objective,
                                     checkpoint=None if terminal else "run", progress=False).fit(data)
    print(len(reg.models_), [str(warning.message) for warning in said])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process groups to send SIGINT to")
def test_an_ensemble_in_a_plain_script_is_interrupted(tmp_path: Path) -> None:
    """No ``if __name__ == "__main__"``, a loss of the script's own, and Ctrl-C when one member is done."""
    (tmp_path / "script.py").write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    end = time.monotonic() + 90
    while not any(len(load_file(path)["loss"]) == 1500 for path in tmp_path.glob("run.[01]")):  # a member is done
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert re.fullmatch(r"4 \[\]\n([123]) \['interrupted: \1 of 4 members are kept'\]\n", out), out


class Reference:
    def __init__(self, work: object, task: object) -> None:
        self.work, self.task = work, task


def fake_ray() -> ModuleType:
    """As much of Ray as the back end calls, which carries tasks out when they are asked for."""
    ray = ModuleType("ray")
    error = type("RayError", (Exception,), {})
    ray.exceptions = SimpleNamespace(RayError=error, RayTaskError=type("RayTaskError", (error,), {}))
    ray.init = lambda **_: None
    ray.shutdown = lambda: None
    ray.cluster_resources = lambda: {"CPU": 2.0}
    ray.remote = lambda **_: lambda function: SimpleNamespace(remote=lambda *a: Reference(function, a))
    ray.wait = lambda references, **_: (references[-1:], references[:-1])

    def get(reference: Reference) -> object:
        work, task = reference.task
        if task == 13:
            raise error("the machine is gone\nand more")
        try:
            return reference.work(work, task)
        except ValueError as found:
            raise ray.exceptions.RayTaskError(str(found)) from found

    ray.get = get
    return ray


def test_a_cluster_answers_as_processes_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", fake_ray())
    assert sorted(run_all(math.sqrt, [16.0, 9.0, 4.0], jobs="auto")) == [(0, 4.0), (1, 3.0), (2, 2.0)]
    with pytest.raises(Exception, match="math domain error"):
        list(run_all(math.sqrt, [1.0, -1.0], jobs="auto"))
    with workers_for(abs, "auto") as workers:
        assert workers.capacity == 2
        assert workers.wait(0.0) == []
        workers.start(13)
        assert workers.wait(None) == [(13, Lost("RayError: the machine is gone"))]


def test_a_task_of_a_lost_machine_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = fake_ray()
    carry_out, left = ray.get, [3]

    def get(reference: Reference) -> object:
        if reference.task[1][1] == 9.0 and left[0]:
            left[0] -= 1
            raise ray.exceptions.RayError("the machine is gone")
        return carry_out(reference)

    ray.get = get
    monkeypatch.setitem(sys.modules, "ray", ray)
    assert sorted(run_all(math.sqrt, [16.0, 9.0, 4.0], jobs="ray")) == [(0, 4.0), (1, 3.0), (2, 2.0)]
    left[0] = 4
    with pytest.raises(OSError, match="a process of the tasks died"):
        list(run_all(math.sqrt, [9.0], jobs="ray"))


def test_a_worker_computes_with_one_thread() -> None:
    with Processes(eval, 1) as workers:
        workers.start("__import__('torch').get_num_threads()")
        assert workers.wait(None)[0][1] == 1
