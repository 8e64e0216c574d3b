"""Checkpoints: a resumed run is the uninterrupted one bit for bit, and one of another run is refused."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

import ndcn
from ndcn import CrossEntropy, DynamicsRegressor, GraphODE, Objective, Solver
from ndcn.training import loop as training
from small_runs import DATA, DECAY, Decay, Interrupting, coarse, decay, same, weights


class Killed(Exception):
    pass


class Killing(nn.Module):
    """A linear layer whose n-th call in training raises, as if the process had died there."""

    def __init__(self, at: int | None) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear, self.at, self.calls = nn.Linear(1, 4), at, 0
        self.unused = nn.Parameter(torch.zeros(3))
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if torch.is_grad_enabled():
            self.calls += 1
            self.seen += 1
            if self.calls == self.at:
                raise Killed
        return nn.functional.dropout(self.linear(x), 0.1, self.training)


def killing(at: int | None) -> GraphODE:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        field, decoder = ndcn.fields.GraphField(4), nn.Linear(4, 1)
        return GraphODE(Killing(at), field, decoder, Solver("euler", step_size=0.5))


@pytest.fixture
def save_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "SAVE_EVERY", -1.0)


@pytest.mark.usefixtures("save_always")
@pytest.mark.parametrize("validation", [0.0, 0.25])
@pytest.mark.parametrize("at", [1, 2, 11, 25])
def test_resuming_after_a_kill_ends_with_the_same_bits(tmp_path: Path, validation: float, at: int) -> None:
    settings = {"epochs": 25, "validation": validation, "learning_rate": 0.05, "clip_norm": 1.0}
    whole = DynamicsRegressor(killing(None), **settings).fit(DATA)
    path = tmp_path / "run.checkpoint"
    with pytest.raises(Killed):
        DynamicsRegressor(killing(at), checkpoint=path, **settings).fit(DATA)
    assert path.exists() == (at > 1)  # also when nothing was saved yet
    again = DynamicsRegressor(killing(None), checkpoint=path, **settings).fit(DATA, resume=True)
    assert same(weights(again), weights(whole))
    assert again.history_.loss == whole.history_.loss
    assert again.history_.validation == whole.history_.validation
    assert torch.equal(again.predict([0.3, 3.0]).states, whole.predict([0.3, 3.0]).states)
    finished = DynamicsRegressor(killing(None), checkpoint=path, **settings).fit(
        DATA, resume=True
    )  # nothing left to do
    assert same(weights(finished), weights(whole))
    assert list(tmp_path.iterdir()) == [path]


def as_version_1(path: Path) -> None:
    """Rewrite a checkpoint as ndcn 0.1 wrote it: the best loss instead of ranks."""
    with safe_open(path, "pt") as file:
        about = json.loads(file.metadata()["ndcn"])
        about.pop("sha256")  # as files before 0.3
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    del tensors["ranks"]
    about["version"] = 1
    about["best_loss"] = -about.pop("best_rank")[0]
    save_file(tensors, path, metadata={"ndcn": json.dumps(about)})


@pytest.mark.usefixtures("save_always")
@pytest.mark.parametrize("settings", [{}, {"validation": 0.25, "patience": 20}])
def test_checkpoints_of_version_1_resume(tmp_path: Path, settings: dict) -> None:
    settings = {"epochs": 60, "learning_rate": 0.3, "schedule": "constant", **settings}
    whole = DynamicsRegressor(killing(None), **settings).fit(DATA)
    path = tmp_path / "run"
    with pytest.raises(Killed):
        DynamicsRegressor(killing(16), checkpoint=path, **settings).fit(DATA)
    as_version_1(path)
    again = DynamicsRegressor(killing(None), checkpoint=path, **settings).fit(DATA, resume=True)
    assert same(weights(again), weights(whole))
    assert again.history_.loss == whole.history_.loss
    assert (again.history_.stopped, again.history_.validation) == (whole.history_.stopped, whole.history_.validation)


def test_resuming_from_an_old_checkpoint_repeats_what_came_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]

    def clock() -> float:
        now[0] += 3.0  # three readings an epoch: a checkpoint about every third epoch
        return now[0]

    monkeypatch.setattr(training.time, "monotonic", clock)
    path = tmp_path / "run"
    settings = {"epochs": 25, "learning_rate": 0.05}
    with pytest.raises(Killed):
        DynamicsRegressor(killing(20), checkpoint=path, **settings).fit(DATA)
    again = DynamicsRegressor(killing(None), checkpoint=path, **settings).fit(DATA, resume=True)
    plain = DynamicsRegressor(killing(None), **settings).fit(DATA)
    assert same(weights(again), weights(plain))


@pytest.mark.usefixtures("save_always")
def test_resuming_an_interrupted_and_an_early_stopped_run(tmp_path: Path) -> None:
    whole = decay().fit(DECAY)
    with pytest.warns(RuntimeWarning):
        decay(model=Interrupting(9), checkpoint=tmp_path / "a").fit(DECAY)
    again = decay(model=Interrupting(-1), checkpoint=tmp_path / "a").fit(DECAY, resume=True)
    assert again.history_.stopped == "finished"
    assert same(weights(again), weights(whole))
    settings = {"validation": 0.25, "patience": 20, "epochs": 500, "learning_rate": 0.2, "schedule": "constant"}
    early = decay(checkpoint=tmp_path / "b", **settings).fit(DECAY)
    again = decay(checkpoint=tmp_path / "b", **settings).fit(DECAY, resume=True)
    assert again.history_.stopped == "early"
    assert again.history_.loss == early.history_.loss
    assert same(weights(again), weights(early))


def other_module(
    operator: object = ndcn.operators.kipf, activation: object = torch.tanh, method: str = "euler", last: object = None
) -> GraphODE:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        field = ndcn.fields.GraphField(4, operator=operator, activation=activation)
        decoder = nn.Sequential(nn.Linear(4, 1), last or nn.Identity())
        return GraphODE(nn.Linear(1, 4), field, decoder, Solver(method, step_size=0.5))


@pytest.mark.parametrize(
    "change",
    [
        {"operator": ndcn.operators.laplacian},
        {"operator": functools.partial(ndcn.operators.diffusion, alpha=0.3)},
        {"activation": torch.relu},
        {"activation": lambda x: 2 * x},
        {"method": "heun"},
        {"last": nn.Tanh()},
    ],
)
def test_resume_refuses_a_module_of_the_same_weights_that_computes_otherwise(tmp_path: Path, change: dict) -> None:
    path = tmp_path / "run"
    settings = {"epochs": 3, "checkpoint": path}
    first = DynamicsRegressor(other_module(), **settings).fit(DATA)
    again = DynamicsRegressor(other_module(), **settings).fit(DATA, resume=True)
    assert same(weights(first), weights(again))
    with pytest.raises(ValueError, match="belongs to other data or settings"):
        DynamicsRegressor(other_module(**change), **settings).fit(DATA, resume=True)


def test_resume_tells_lambdas_apart(tmp_path: Path) -> None:
    settings = {"epochs": 3, "checkpoint": tmp_path / "run"}

    def scaled(by: float) -> GraphODE:
        return other_module(activation=lambda x: by * x)

    DynamicsRegressor(scaled(0.5), **settings).fit(DATA)
    DynamicsRegressor(scaled(0.5), **settings).fit(DATA, resume=True)
    with pytest.raises(ValueError, match="belongs to other data or settings"):
        DynamicsRegressor(scaled(0.25), **settings).fit(DATA, resume=True)


SCRIPT = """
import sys, os, torch
import ndcn
from ndcn.training import loop as training
torch.set_num_threads(1)
training.SAVE_EVERY = -1.0
saves = 0
save = training.save_checkpoint
def dying(*a):
    global saves
    save(*a)
    saves += 1
    if saves == int(sys.argv[2]):
        os._exit(9)
training.save_checkpoint = dying
graph = ndcn.networks.grid(9)
data = ndcn.simulate(ndcn.laws.Heat(), graph, torch.linspace(0.2, 2.0, 9).reshape(9, 1), torch.linspace(0, 2, 8))
terminal = ndcn.CrossEntropy(torch.zeros(9, dtype=torch.int64))
objective = ndcn.Objective("l1", terminal=terminal, time_weights="gaps")
reg = ndcn.DynamicsRegressor(epochs=12, hidden=4, objective=objective, checkpoint=sys.argv[1], seed=4)
reg.fit(data, resume=True)
print(sum(p.double().sum().item() for p in reg.model_.parameters()).hex(), len(reg.history_.loss))
"""


@pytest.mark.slow  # `ndcn fit` is killed and resumed in tests/cli/test_processes.py
def test_a_process_that_is_killed_and_started_again(tmp_path: Path) -> None:
    def run(path: str, kill: int) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path / path), str(kill)], capture_output=True, text=True, check=False
        )

    whole = run("whole", -1)
    assert whole.returncode == 0, whole.stderr
    assert run("part", 5).returncode == 9
    again = run("part", -1)
    assert again.returncode == 0, again.stderr
    assert again.stdout == whole.stdout


@pytest.mark.usefixtures("save_always")
@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"epochs": 7},
        {"learning_rate": 0.1},
        {"solver": Solver("euler", step_size=0.25)},
        {"objective": "l2"},
        {"objective": Objective("l1", terminal="l2")},
        {"objective": Objective("l1", terminal=CrossEntropy([0] * 9))},
        {"objective": Objective("l1", terminal=torch.sum)},
        {"hidden": 5},
    ],
    ids=["seed", "epochs", "learning_rate", "solver", "loss", "terminal", "classes", "own_terminal", "hidden"],
)
def test_a_checkpoint_of_other_settings_is_refused(tmp_path: Path, change: dict) -> None:
    path = tmp_path / "run"
    coarse(checkpoint=path, epochs=5).fit(DATA)
    with pytest.raises(
        ValueError, match="belongs to other data or settings, or to another kernel; remove it to start anew"
    ):
        coarse(**{"checkpoint": path, "epochs": 5, **change}).fit(DATA, resume=True)
    coarse(**{"checkpoint": path, "epochs": 5, **change}).fit(DATA)  # without resume it is replaced


@pytest.mark.usefixtures("save_always")
def test_a_checkpoint_of_other_data_or_another_module_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    coarse(checkpoint=path, epochs=5).fit(DATA)
    with pytest.raises(ValueError, match="other data or settings"):
        coarse(checkpoint=path, epochs=5).fit(DATA[1:], resume=True)
    decay(checkpoint=path).fit(DECAY)
    with pytest.raises(ValueError, match="other data or settings"):  # the same kind of module with other weights
        decay(model=Decay(0.5), checkpoint=path).fit(DECAY, resume=True)


class OwnLoss:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, state: torch.Tensor) -> torch.Tensor:
        return self.factor * state.mean()


@pytest.mark.usefixtures("save_always")
def test_objects_of_ones_own_do_not_stand_in_the_way_of_resuming(tmp_path: Path) -> None:
    settings = {"checkpoint": tmp_path / "run", "epochs": 5}
    first = coarse(objective=Objective(terminal=OwnLoss(0.1)), **settings).fit(DATA)
    again = coarse(objective=Objective(terminal=OwnLoss(0.1)), **settings).fit(DATA, resume=True)
    assert same(weights(first), weights(again))


@pytest.mark.usefixtures("save_always")
def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    reg = coarse(checkpoint=path, epochs=5).fit(DATA)
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    for length in (0, 5, 100, header, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"remove it to start anew"):
            coarse(checkpoint=path, epochs=5).fit(DATA, resume=True)
    reg.save(path)
    with pytest.raises(ValueError, match="not a checkpoint of this version"):
        coarse(checkpoint=path, epochs=5).fit(DATA, resume=True)
    path.write_bytes(whole.replace(b'\\"version\\": 2', b'\\"version\\": 9'))
    with pytest.raises(ValueError, match="not a checkpoint of this version"):
        coarse(checkpoint=path, epochs=5).fit(DATA, resume=True)
    path.write_bytes(whole.replace(b"weight.2", b"weighs.2"))
    with pytest.raises(ValueError, match="does not match its checksum"):
        coarse(checkpoint=path, epochs=5).fit(DATA, resume=True)
    path.unlink()
    path.mkdir()
    with pytest.raises(ValueError, match="remove it to start anew"):
        coarse(checkpoint=path, epochs=5).fit(DATA, resume=True)


def test_resume_without_a_checkpoint_starts_anew(tmp_path: Path) -> None:
    plain = coarse(epochs=5).fit(DATA)
    assert same(weights(coarse(epochs=5).fit(DATA, resume=True)), weights(plain))
    path = tmp_path / "run"
    assert same(weights(coarse(epochs=5, checkpoint=path).fit(DATA, resume=True)), weights(plain))
    assert path.exists()  # the last epoch is always kept


def test_a_checkpoint_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no folder"):
        coarse(epochs=5, checkpoint=tmp_path / "missing" / "run").fit(DATA)


# Contents -----------------------------------------------------------------------------------------------------------


def rewritten(path: Path, change: dict[str, object], tensors: dict[str, torch.Tensor]) -> None:
    """Change entries and tensors of a checkpoint, and leave out the checksum, as files before 0.3 have none."""
    with safe_open(path, "pt") as file:
        about = json.loads(file.metadata()["ndcn"])
        about.pop("sha256")  # as files before 0.3
        kept = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save_file({**kept, **tensors}, path, metadata={"ndcn": json.dumps({**about, **change})})


@pytest.mark.usefixtures("save_always")
@pytest.mark.parametrize(
    ("change", "tensors", "message"),
    [
        ({}, {"exp_avg.0": torch.zeros(1)}, r"exp_avg.0 must have shape \(4, 1\) of torch.float32, got \(1,\)"),
        ({}, {"exp_avg_sq.1": torch.zeros(4).double()}, r"exp_avg_sq.1 must have shape .*float32, got .*float64"),
        ({}, {"exp_avg.0": torch.zeros(4, 1).bool()}, "exp_avg.0 .* got .* of torch.bool"),
        ({}, {"step.0": torch.zeros(3)}, "step.0 is no number of steps"),
        ({}, {"step.0": torch.tensor(torch.nan)}, "step.0 is no number of steps"),
        ({}, {"weight.0": torch.zeros(0)}, "weight.0 must have shape"),
        ({}, {"best.0": torch.zeros(4, 1).char()}, "best.0 must have shape"),
        ({}, {"loss": torch.zeros(5).bool()}, "loss must have shape"),
        ({}, {"validation": torch.zeros(2, 3)}, "validation must have shape"),
        ({"best_rank": 3}, {}, "best_rank must be a list of numbers, got 3"),
        ({"best_rank": ["best"]}, {}, "best_rank must be a list of numbers"),
        ({"best_epoch": None}, {}, "seconds and best_epoch must be numbers"),
        ({"seconds": "long"}, {}, "seconds and best_epoch must be numbers"),
    ],
)
def test_contents_are_checked_before_they_are_used(tmp_path: Path, change: dict, tensors: dict, message: str) -> None:
    path = tmp_path / "run"
    coarse(checkpoint=path, epochs=5).fit(DATA)
    rewritten(path, change, tensors)
    with pytest.raises(ValueError, match=f"does not fit the model: {message}"):
        coarse(checkpoint=path, epochs=5).fit(DATA, resume=True)


def test_one_flipped_bit_and_endless_lists_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    coarse(checkpoint=path, epochs=2).fit(DATA)
    damaged = bytearray(path.read_bytes())
    damaged[-9] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"does not match its checksum.*remove it to start anew"):
        coarse(checkpoint=path, epochs=2).fit(DATA, resume=True)
    save_file({"loss": torch.zeros(1)}, path, metadata={"ndcn": 100_000 * "["})
    with pytest.raises(ValueError, match="nested too deeply; remove it to start anew"):
        coarse(checkpoint=path, epochs=2).fit(DATA, resume=True)
