"""Tasks of one's own in the training loop, and the rules that stop it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from ndcn.training import History, NothingAsGood, Plan, Score, SinceBest, Task, TrainingError, train


class Noisy(Task):
    """Minimise (w - 3)^2 + noise w: a task with a generator of its own and a validation score."""

    size = 1
    validate_every = 5

    def __init__(self, *, held_out: bool = True, dies_at: int | None = None) -> None:
        self.model = nn.Linear(1, 1, bias=False)
        nn.init.zeros_(self.model.weight)
        self.held_out = held_out
        self.dies_at = dies_at
        self.generator = torch.Generator().manual_seed(0)

    def losses(self, epoch: int) -> Iterator[torch.Tensor]:
        if epoch == self.dies_at:
            raise InterruptedError
        w = self.model.weight
        yield (w - 3).square().sum()
        yield (torch.rand(1, generator=self.generator) * w).sum()

    def score(self) -> Score:
        assert not self.model.training
        loss = (self.model.weight - 1).abs().item()
        return Score(loss, (-loss,))

    def generators(self) -> list[torch.Generator]:
        return [self.generator]


def test_a_task_of_ones_own_is_validated_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ndcn.training.loop.SAVE_EVERY", -1.0)
    plan = Plan(epochs=40, learning_rate=0.1, checkpoint=tmp_path / "run")
    whole = Noisy()
    history = History()
    train(whole, Plan(epochs=40, learning_rate=0.1), history)
    assert [epoch for epoch, _ in history.validation] == [5, 10, 15, 20, 25, 30, 35, 40]
    assert abs(whole.model.weight.item() - 1) == pytest.approx(min(loss for _, loss in history.validation))
    with pytest.raises(InterruptedError):
        train(Noisy(dies_at=17), plan, History())
    again = Noisy()
    resumed = History()
    train(again, plan, resumed, resume=True)
    assert again.model.weight.equal(whole.model.weight)
    assert (resumed.loss, resumed.validation) == (history.loss, history.validation)


def test_the_last_good_weights_and_the_advice_of_the_task() -> None:
    class Explodes(Noisy):
        advice = "Try another task"

        def losses(self, epoch: int) -> Iterator[torch.Tensor]:
            yield self.model.weight.sum() * (math.nan if epoch == 3 else 1.0)

    task, history = Explodes(held_out=False), History()
    message = r"became nan in epoch 4 of 9; the weights of epoch 3 are kept. Try another task"
    with pytest.raises(TrainingError, match=message):
        train(task, Plan(epochs=9, learning_rate=0.1), history)
    assert history.stopped == "failed"
    assert len(history.loss) == 3
    assert task.model.weight.isfinite().all()


def test_since_best() -> None:
    rule = SinceBest(3)
    assert not rule.stops(100)  # nothing was scored yet
    rule.see(10, (0.5,))
    rule.see(12, (0.4,))
    assert [rule.stops(done) for done in (12, 13, 14)] == [False, True, True]
    rule.see(14, (0.6,))
    assert not rule.stops(16)
    never = SinceBest(None)
    never.see(1, (0.0,))
    assert not never.stops(1000)


def test_nothing_as_good() -> None:
    rule = NothingAsGood(2)
    stops = []
    for epoch, rank in enumerate([(0.5, -1.0), (0.4, -0.9), (0.4, -1.0), (0.5, -2.0), (0.4, -1.0), (0.4, -1.0)]):
        rule.see(epoch + 1, rank)
        stops.append(rule.stops(epoch + 1))
    assert stops == [False, False, False, False, False, True]  # as good in either part is as good
