"""Several fits at once: the same as one after the other, with mean and spread of their predictions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

import ndcn
from ndcn.regressor.kinds import ensemble as module
from ndcn.regressor.kinds.trained_module import TrainedModel
from ndcn.regressor.settings import Settings

GRAPH = ndcn.networks.grid(16)
DATA = ndcn.simulate(
    ndcn.laws.Heat(), GRAPH, ndcn.laws.initial_state(GRAPH), ndcn.sampling.irregular_times(1.0, count=15, seed=0)
)
TIMES = [0.3, 1.4]
FIT = module._fit


@pytest.fixture(scope="module")
def fitted() -> ndcn.DynamicsRegressor:
    return ndcn.DynamicsRegressor(epochs=5, ensemble=3, seed=4, jobs=2).fit(DATA)


def test_members_are_the_single_fits(fitted: ndcn.DynamicsRegressor) -> None:
    singles = [ndcn.DynamicsRegressor(epochs=5, seed=seed).fit(DATA) for seed in (4, 5, 6)]
    for model, single in zip(fitted.models_, singles, strict=True):
        for a, b in zip(model.parameters(), single.model_.parameters(), strict=True):
            assert torch.equal(a, b)
    states = torch.stack([single.predict(TIMES).states for single in singles])
    mean, spread = fitted.predict(TIMES, return_std=True)
    torch.testing.assert_close(mean.states, states.mean(dim=0))
    torch.testing.assert_close(spread.states, states.std(dim=0))
    assert torch.equal(fitted.predict(TIMES).states, mean.states)
    assert [h.loss for h in fitted.histories_] == [single.history_.loss for single in singles]
    assert (spread.states > 0).any()


def test_files_hold_all_members(fitted: ndcn.DynamicsRegressor, tmp_path: Path) -> None:
    fitted.save(tmp_path / "many.ndcn")
    again = ndcn.load(tmp_path / "many.ndcn")
    for a, b in zip(again.predict(TIMES, return_std=True), fitted.predict(TIMES, return_std=True), strict=True):
        assert torch.equal(a.states, b.states)
    assert again.histories_ == fitted.histories_


def test_one_process_gives_the_same(fitted: ndcn.DynamicsRegressor) -> None:
    alone = ndcn.DynamicsRegressor(epochs=5, ensemble=3, seed=4, jobs=1).fit(DATA)
    assert torch.equal(alone.predict(TIMES).states, fitted.predict(TIMES).states)


@pytest.mark.slow
def test_members_with_equal_steps_are_sent_to_processes() -> None:
    data = ndcn.simulate(ndcn.laws.Heat(), GRAPH, ndcn.laws.initial_state(GRAPH), torch.linspace(0, 1, 11))
    two, one = (ndcn.DynamicsRegressor("gru_gnn", epochs=3, ensemble=2, jobs=jobs).fit(data) for jobs in (2, 1))
    assert torch.equal(two.predict([1.1]).states, one.predict([1.1]).states)


def test_resume_goes_on_for_each_member(tmp_path: Path) -> None:
    settings = {"epochs": 5, "ensemble": 2, "jobs": 1, "checkpoint": tmp_path / "run"}
    first = ndcn.DynamicsRegressor(**settings).fit(DATA)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.0", "run.1"]
    again = ndcn.DynamicsRegressor(**settings).fit(DATA, resume=True)
    assert torch.equal(again.predict(TIMES).states, first.predict(TIMES).states)


def test_large_networks_are_fitted_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def note(task: tuple[Settings, list[ndcn.Trajectory]]) -> TrainedModel:
        seen.append(os.getpid())
        return FIT(task)

    monkeypatch.setattr(module, "WORTH_TWO", 100)
    monkeypatch.setattr(module, "_fit", note)
    ndcn.DynamicsRegressor(epochs=1, ensemble=2).fit(DATA)
    assert seen == [os.getpid()] * 2


def test_an_interruption_keeps_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def second_is_interrupted(task: tuple[Settings, list[ndcn.Trajectory]]) -> TrainedModel:
        if task[0].seed == stop:
            raise KeyboardInterrupt
        return FIT(task)

    monkeypatch.setattr(module, "_fit", second_is_interrupted)
    stop = 1
    reg = ndcn.DynamicsRegressor(epochs=1, ensemble=3, jobs=1, seed=0)
    with pytest.warns(RuntimeWarning, match="1 of 3 members are kept"):
        reg.fit(DATA)
    assert len(reg.models_) == 1
    stop = 0
    with pytest.raises(KeyboardInterrupt):
        reg.fit(DATA)


def test_ctrl_c_ends_the_whole_ensemble(monkeypatch: pytest.MonkeyPatch) -> None:
    def marked(task: tuple[Settings, list[ndcn.Trajectory]]) -> TrainedModel:
        seen.append(task[0].seed)
        member = FIT(task)
        if task[0].seed == stop:
            member.histories[0].stopped = "interrupted"
        return member

    monkeypatch.setattr(module, "_fit", marked)
    for stop, kept in ((0, 1), (1, 1), (2, 2)):  # the first is kept with its best weights so far, others are not
        seen: list[int] = []
        reg = ndcn.DynamicsRegressor(epochs=1, ensemble=4, jobs=1, seed=0)
        with pytest.warns(RuntimeWarning, match=f"{kept} of 4 members are kept"):
            reg.fit(DATA)
        assert len(reg.models_) == kept
        assert seen == list(range(stop + 1))


def test_what_an_ensemble_needs() -> None:
    with pytest.raises(ValueError, match="ensemble must be a whole number >= 1, got 0"):
        ndcn.DynamicsRegressor(ensemble=0).fit(DATA)
    with pytest.raises(ValueError, match="ready module cannot"):
        ndcn.DynamicsRegressor(model=ndcn.models.ndcn(), ensemble=2).fit(DATA)
    with pytest.raises(ValueError, match="one model has no spread"):
        ndcn.DynamicsRegressor(epochs=1).fit(DATA).predict(TIMES, return_std=True)
