"""Training: what it reaches, how it stops, and that a resumed run is the uninterrupted one bit for bit."""

from __future__ import annotations

import functools
import math
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import ndcn
from ndcn import CrossEntropy, DynamicsRegressor, Field, GraphODE, Objective, Solver, TrainingError, training
from ndcn.fitting import hold_out
from ndcn.training import Plan

GRAPH = ndcn.networks.grid(9)
X0 = torch.linspace(0.2, 2.0, 9).reshape(9, 1)
TIMES = ndcn.sampling.irregular_times(2.0, count=15, seed=0)
DATA = ndcn.simulate(ndcn.laws.Heat(), GRAPH, X0, TIMES)


def regressor(**settings: object) -> DynamicsRegressor:
    return DynamicsRegressor(**{"epochs": 40, "hidden": 4, "solver": Solver("euler", step_size=0.5), **settings})


def weights(reg: DynamicsRegressor) -> list[torch.Tensor]:
    return [value.clone() for value in reg.model_.state_dict().values()]


def same(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    return len(a) == len(b) and all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


class Decay(Field):
    """dX/dt = -k X with a learned k; what happens at some call can be arranged."""

    def __init__(self, k: float = 0.1) -> None:
        super().__init__()
        self.k = nn.Parameter(torch.tensor(float(k)))
        self.calls = 0

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: ndcn.Graph) -> torch.Tensor:
        self.calls += 1
        return -self.k * x


DECAY_TIMES = torch.linspace(0, 2, 9)
DECAY = ndcn.simulate(Decay(1.0), GRAPH, X0, DECAY_TIMES)


def decay(**settings: object) -> DynamicsRegressor:
    settings = {"epochs": 30, "learning_rate": 0.05, "solver": Solver("euler", step_size=0.25), **settings}
    return DynamicsRegressor(settings.pop("model", Decay()), **settings)


# Learning -----------------------------------------------------------------------------------------------------------


def test_the_loss_goes_down() -> None:
    history = regressor(epochs=150).fit(DATA).history_
    assert len(history.loss) == 150
    assert history.loss[-1] < 0.3 * history.loss[0]
    assert (history.stopped, history.validation) == ("finished", [])
    assert history.seconds > 0


def test_a_parameter_of_a_law_is_found() -> None:
    reg = decay(epochs=150, solver=Solver("rk4", step_size=0.25), learning_rate=0.1).fit(DECAY)
    assert reg.model_.field.k.item() == pytest.approx(1.0, abs=1e-3)


def test_schedules() -> None:
    cosine, constant = (Plan(100, 0.06, 0.0, schedule) for schedule in ("cosine", "constant"))
    assert [cosine.learning_rate_at(e) for e in (0, 50)] == pytest.approx([0.06, 0.03])
    assert cosine.learning_rate_at(99) < 1e-4
    assert {constant.learning_rate_at(e) for e in (0, 50, 99)} == {0.06}
    # Adam's first steps are as long as the learning rate, whatever the gradient
    k = {
        (schedule, epochs): decay(epochs=epochs, schedule=schedule).fit(DECAY).model_.field.k.item()
        for schedule in ("cosine", "constant")
        for epochs in (1, 2)
    }
    assert k["cosine", 1] == k["constant", 1] == pytest.approx(0.15)
    assert k["constant", 2] == pytest.approx(0.2, abs=2e-3)
    assert k["cosine", 2] == pytest.approx(0.175, abs=2e-3)


def test_weight_decay_pulls_to_zero() -> None:
    free, pulled = (decay(epochs=200, weight_decay=w).fit(DECAY).model_.field.k.item() for w in (0.0, 1.0))
    assert 0 < pulled < 0.8 * free


def test_the_gradient_is_clipped() -> None:
    free, clipped = (decay(epochs=1, clip_norm=c).fit(DECAY).model_.field.k.grad.item() for c in (None, 1e-3))
    assert abs(free) > 0.1
    assert clipped == pytest.approx(math.copysign(1e-3, free), rel=1e-3)


def test_the_same_seed_gives_the_same_bits_another_seed_others() -> None:
    first, again, other = (regressor(seed=s, epochs=10).fit(DATA) for s in (0, 0, 1))
    assert same(weights(first), weights(again))
    assert first.history_.loss == again.history_.loss
    assert not same(weights(first), weights(other))


def test_global_generators_are_left_as_found() -> None:
    class Dropping(Decay):
        def forward(self, t: torch.Tensor, x: torch.Tensor, graph: ndcn.Graph) -> torch.Tensor:
            return super().forward(t, nn.functional.dropout(x, 0.1, self.training), graph)

    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    expected = torch.rand(3), np.random.rand(3)  # noqa: NPY002
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    regressor(epochs=3, validation=0.2).fit(DATA).predict([1.0])
    one = decay(model=Dropping(), epochs=5).fit(DECAY)
    assert torch.equal(torch.rand(3), expected[0])
    assert (np.random.rand(3) == expected[1]).all()  # noqa: NPY002
    two = decay(model=Dropping(), epochs=5).fit(DECAY)  # random layers follow the seed, and rest in predictions
    assert same(weights(one), weights(two))
    assert torch.equal(one.predict([1.0]).states, one.predict([1.0]).states)


def test_a_model_with_nothing_to_learn_is_refused() -> None:
    with pytest.raises(TrainingError, match="no parameters that could be learned"):
        DynamicsRegressor(ndcn.laws.Heat(), epochs=2).fit(DATA)


# Validation ---------------------------------------------------------------------------------------------------------


def test_validation_keeps_the_best_weights() -> None:
    settings = {"validation": 0.3, "learning_rate": 0.5, "schedule": "constant", "epochs": 35}
    reg = regressor(**settings).fit(DATA)
    epochs, losses = zip(*reg.history_.validation, strict=True)
    assert epochs == (10, 20, 30, 35)
    best = epochs[losses.index(min(losses))]
    shorter = regressor(**{**settings, "epochs": best}).fit(DATA)
    assert shorter.history_.validation[-1][1] == min(losses)
    assert same(weights(shorter), weights(reg))


def test_held_out_times_are_not_learned_from() -> None:
    reg = regressor(validation=0.2, epochs=1)
    learn, held = hold_out([DATA], 0.2, reg.seed, Objective())
    assert len(held[0]) == 3
    assert len(learn[0]) == 12
    assert sorted([*learn[0].times.tolist(), *held[0].times.tolist()]) == DATA.times.tolist()
    assert learn[0].times[0] == 0
    other = hold_out([DATA], 0.2, 1, Objective())[1]
    assert held[0].times.tolist() != other[0].times.tolist()


def test_early_stopping() -> None:
    reg = decay(validation=0.25, patience=20, epochs=500, learning_rate=0.2, schedule="constant").fit(DECAY)
    history = reg.history_
    assert history.stopped == "early"
    losses = dict(history.validation)
    best = min(losses, key=lambda epoch: losses[epoch])
    assert len(history.loss) == best + 20 < 500


def test_a_terminal_loss_keeps_the_last_snapshot_in_training() -> None:
    objective = Objective("l1", terminal="l2", terminal_weight=3.0)
    for seed in range(20):
        learn, held = hold_out([DATA, DECAY], 0.5, seed, objective)
        assert [part.times[-1] for part in learn] == [DATA.times[-1], DECAY.times[-1]]
        assert all(len(a) + len(b) == len(c) for a, b, c in zip(learn, held, (DATA, DECAY), strict=True))
    reg = decay(objective=objective, validation=0.25, epochs=10).fit(DECAY)
    held = hold_out([DECAY], 0.25, 0, objective)[1][0]
    running = (reg.predict(held.times).states - held.states).abs().mean().item()
    assert reg.history_.validation == [(10, pytest.approx(running, rel=1e-4))]
    with pytest.raises(ValueError, match=r"running loss, and this objective has none: .* or drop validation"):
        decay(objective=Objective(None, terminal="l2"), validation=0.25).fit(DECAY)


def test_validation_that_explodes_counts_as_infinite() -> None:
    class Fragile(Decay):
        def forward(self, t: torch.Tensor, x: torch.Tensor, graph: ndcn.Graph) -> torch.Tensor:
            out = super().forward(t, x, graph)
            return out if self.training or t == 0 else out * math.nan

    model = GraphODE(nn.Identity(), Fragile(), nn.Identity(), Solver("euler", step_size=0.25))
    reg = DynamicsRegressor(model, epochs=20, validation=0.25).fit(DECAY)
    assert reg.history_.validation == [(10, math.inf), (20, math.inf)]
    assert reg.model_.field.k.item() > 0.2  # the last weights, as none was better


# What goes wrong ----------------------------------------------------------------------------------------------------


class Failing(Decay):
    """Gives ``what`` once k has passed a limit."""

    def __init__(self, limit: float, what: float) -> None:
        super().__init__()
        self.limit, self.what = limit, what

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: ndcn.Graph) -> torch.Tensor:
        out = super().forward(t, x, graph)
        return out * self.what if self.k > self.limit else out


@pytest.mark.parametrize("what", [math.nan, math.inf, -1e30])
def test_a_loss_that_is_not_finite_stops_with_the_last_good_weights(what: float) -> None:
    reg = decay(model=Failing(0.32, what), epochs=100)
    with pytest.raises(TrainingError, match=r"the loss became nan in epoch \d+ of 100 .*clip_norm"):
        reg.fit(DECAY)
    k = reg.model_.field.k.item()
    assert 0.2 < k <= 0.32
    assert reg.predict([0.5, 2.0]).states.isfinite().all()
    assert reg.history_.stopped == "failed"
    assert len(reg.history_.loss) >= 4
    assert np.isfinite(reg.history_.loss).all()


def test_a_loss_that_overflows_without_an_integration_error() -> None:
    objective = Objective("l1", terminal=lambda state: torch.where(state.max() < 1.2, math.inf, 0.0))
    reg = decay(objective=objective, epochs=100)
    with pytest.raises(TrainingError, match="the loss became inf"):
        reg.fit(DECAY)
    assert reg.predict([2.0]).states.isfinite().all()


def test_a_gradient_that_is_not_finite_in_the_last_epoch() -> None:
    class Corner(Decay):  # sqrt(0): a finite value with an infinite slope
        def forward(self, t: torch.Tensor, x: torch.Tensor, graph: ndcn.Graph) -> torch.Tensor:
            return super().forward(t, x, graph) + torch.sqrt(self.k - self.k.detach())

    reg = decay(model=Corner(), epochs=1)
    with pytest.raises(
        TrainingError, match=r"the weights became NaN or infinite in epoch 1 of 1; the weights of epoch 0"
    ):
        reg.fit(DECAY)
    assert reg.model_.field.k.item() == pytest.approx(0.1)


# Ctrl-C -------------------------------------------------------------------------------------------------------------


class Interrupting(Decay):
    """Presses Ctrl-C in the forward pass of one epoch."""

    def __init__(self, epoch: int, times: int = 1) -> None:
        super().__init__()
        self.epoch, self.times = epoch, times

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: ndcn.Graph) -> torch.Tensor:
        if self.training and t == 0 and torch.is_grad_enabled():
            self.calls += 1
            if self.calls == self.epoch:
                for _ in range(self.times):
                    signal.raise_signal(signal.SIGINT)
        return -self.k * x


def test_ctrl_c_keeps_the_best_state_and_says_so() -> None:
    before = signal.getsignal(signal.SIGINT)
    reg = decay(model=Interrupting(7), learning_rate=0.6, schedule="constant")
    with pytest.warns(RuntimeWarning, match=r"interrupted after 7 of 30 epochs: the best weights so far, of epoch \d"):
        reg.fit(DECAY)
    history = reg.history_
    assert history.stopped == "interrupted"
    assert len(history.loss) == 7
    best = history.loss.index(min(history.loss))  # the loss of epoch k is that of the weights after k steps
    assert best < 6
    assert (
        reg.model_.field.k.item()
        == decay(epochs=best, learning_rate=0.6, schedule="constant").fit(DECAY).model_.field.k.item()
    )
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_before_the_first_validation_keeps_what_was_learned() -> None:
    reg = decay(model=Interrupting(6), validation=0.25)
    with pytest.warns(RuntimeWarning, match="interrupted after 6 of 30"):
        reg.fit(DECAY)
    assert reg.model_.field.k.item() > 0.3


def test_ctrl_c_with_validation_keeps_the_best_validated() -> None:
    reg = decay(model=Interrupting(16), validation=0.25)
    with pytest.warns(RuntimeWarning, match="of epoch 10, are kept"):
        reg.fit(DECAY)
    assert [epoch for epoch, _ in reg.history_.validation] == [10]


def test_ctrl_c_in_the_last_epoch_changes_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reg = decay(model=Interrupting(30)).fit(DECAY)
    assert reg.history_.stopped == "finished"
    assert same(weights(reg), weights(decay().fit(DECAY)))


def test_a_second_ctrl_c_interrupts_at_once() -> None:
    before = signal.getsignal(signal.SIGINT)
    reg = decay(model=Interrupting(5, times=2))
    with pytest.raises(KeyboardInterrupt):
        reg.fit(DECAY)
    assert signal.getsignal(signal.SIGINT) is before
    assert reg.predict([1.0]).states.isfinite().all()


def test_training_in_another_thread() -> None:
    found: list[DynamicsRegressor] = []
    thread = threading.Thread(target=lambda: found.append(decay().fit(DECAY)))
    thread.start()
    thread.join()
    assert same(weights(found[0]), weights(decay().fit(DECAY)))


# Checkpoints --------------------------------------------------------------------------------------------------------


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
from ndcn import training
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
    regressor(checkpoint=path, epochs=5).fit(DATA)
    with pytest.raises(
        ValueError, match="belongs to other data or settings, or to another kernel; remove it to start anew"
    ):
        regressor(**{"checkpoint": path, "epochs": 5, **change}).fit(DATA, resume=True)
    regressor(**{"checkpoint": path, "epochs": 5, **change}).fit(DATA)  # without resume it is replaced


@pytest.mark.usefixtures("save_always")
def test_a_checkpoint_of_other_data_or_another_module_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    regressor(checkpoint=path, epochs=5).fit(DATA)
    with pytest.raises(ValueError, match="other data or settings"):
        regressor(checkpoint=path, epochs=5).fit(DATA[1:], resume=True)
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
    first = regressor(objective=Objective(terminal=OwnLoss(0.1)), **settings).fit(DATA)
    again = regressor(objective=Objective(terminal=OwnLoss(0.1)), **settings).fit(DATA, resume=True)
    assert same(weights(first), weights(again))


@pytest.mark.usefixtures("save_always")
def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    reg = regressor(checkpoint=path, epochs=5).fit(DATA)
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    for length in (0, 5, 100, header, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"remove it to start anew"):
            regressor(checkpoint=path, epochs=5).fit(DATA, resume=True)
    reg.save(path)
    with pytest.raises(ValueError, match="not a checkpoint of this version"):
        regressor(checkpoint=path, epochs=5).fit(DATA, resume=True)
    path.write_bytes(whole.replace(b'\\"version\\": 1', b'\\"version\\": 9'))
    with pytest.raises(ValueError, match="not a checkpoint of this version"):
        regressor(checkpoint=path, epochs=5).fit(DATA, resume=True)
    path.write_bytes(whole.replace(b"weight.2", b"weighs.2"))
    with pytest.raises(ValueError, match="does not fit the model"):
        regressor(checkpoint=path, epochs=5).fit(DATA, resume=True)
    path.unlink()
    path.mkdir()
    with pytest.raises(ValueError, match="remove it to start anew"):
        regressor(checkpoint=path, epochs=5).fit(DATA, resume=True)


def test_resume_without_a_checkpoint_starts_anew(tmp_path: Path) -> None:
    plain = regressor(epochs=5).fit(DATA)
    assert same(weights(regressor(epochs=5).fit(DATA, resume=True)), weights(plain))
    path = tmp_path / "run"
    assert same(weights(regressor(epochs=5, checkpoint=path).fit(DATA, resume=True)), weights(plain))
    assert path.exists()  # the last epoch is always kept


def test_a_checkpoint_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no folder"):
        regressor(epochs=5, checkpoint=tmp_path / "missing" / "run").fit(DATA)


# The recipe ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_heat_on_the_grid_is_learned_better_than_in_the_paper() -> None:
    graph = ndcn.networks.grid(400)
    times = ndcn.sampling.irregular_times(5.0, seed=0)
    data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
    parts = ndcn.split(data, seed=0)
    reg = DynamicsRegressor(seed=0).fit(parts.train)
    assert len(reg.history_.loss) == 2000
    for part, paper in ((parts.interpolation, 0.032), (parts.extrapolation, 0.041)):
        assert ndcn.metrics.normalized_l1(reg.predict(part.times), part) < paper
