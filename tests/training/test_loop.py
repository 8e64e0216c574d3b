"""Training: what it reaches, and how it stops."""

from __future__ import annotations

import math
import signal
import threading
import warnings

import numpy as np
import pytest
import torch
from torch import nn

import ndcn
from ndcn import DynamicsRegressor, GraphODE, Objective, Solver, TrainingError
from ndcn.regressor.fitting import hold_out
from ndcn.training import Plan
from small_runs import DATA, DECAY, Decay, Interrupting, coarse, decay, same, weights

# Learning -----------------------------------------------------------------------------------------------------------


def test_the_loss_goes_down() -> None:
    history = coarse(epochs=150).fit(DATA).history_
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
    first, again, other = (coarse(seed=s, epochs=10).fit(DATA) for s in (0, 0, 1))
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
    coarse(epochs=3, validation=0.2).fit(DATA).predict([1.0])
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
    reg = coarse(**settings).fit(DATA)
    epochs, losses = zip(*reg.history_.validation, strict=True)
    assert epochs == (10, 20, 30, 35)
    best = epochs[losses.index(min(losses))]
    shorter = coarse(**{**settings, "epochs": best}).fit(DATA)
    assert shorter.history_.validation[-1][1] == min(losses)
    assert same(weights(shorter), weights(reg))


def test_held_out_times_are_not_learned_from() -> None:
    reg = coarse(validation=0.2, epochs=1)
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
    with pytest.raises(TrainingError, match=r"the weights became NaN or infinite in epoch 1 of 1; nothing was learned"):
        reg.fit(DECAY)
    assert not hasattr(reg, "fitted_")


# Ctrl-C -------------------------------------------------------------------------------------------------------------


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
