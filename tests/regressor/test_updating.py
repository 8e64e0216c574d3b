"""reg.update: further snapshots, from the present weights or by a new choice; a failed update changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import ndcn
from ndcn import DynamicsRegressor, Graph, Trajectory

GRAPH = ndcn.networks.grid(9)
DATA = ndcn.simulate(ndcn.laws.Heat(), GRAPH, ndcn.laws.initial_state(GRAPH), ndcn.sampling.regular_times(2.0, 30))


def weights(reg: DynamicsRegressor) -> torch.Tensor:
    return torch.cat([value.flatten() for value in reg.model_.state_dict().values()]).clone()


@pytest.mark.parametrize("settings", [{}, {"ensemble": 2, "jobs": 1}, {"model": "gru_gnn"}, {"model": "residual_gnn"}])
def test_trained_models_go_on_from_their_weights(settings: dict[str, Any]) -> None:
    reg = DynamicsRegressor(epochs=30, seed=0, **settings).fit(DATA[:20])
    before, units = weights(reg), reg.units_
    assert reg.update(DATA[20:], epochs=1) is reg
    assert reg.units_ is units
    assert reg.epochs == 30
    assert torch.equal(reg.train_[0].times, DATA.times)
    assert 0 < (weights(reg) - before).abs().max() < 0.2
    new = DynamicsRegressor(epochs=1, seed=0, **settings).fit(DATA)
    assert reg.history_.loss[0] < new.history_.loss[0]
    assert "_start" not in vars(reg)
    assert len(reg.models_) == settings.get("ensemble", 1)


def test_forecasts_and_laws_are_found_again_from_all_data() -> None:
    table = pd.DataFrame({"date": pd.date_range("2021-03-01", periods=40)})
    values = np.cumsum(np.random.default_rng(0).normal(size=(40, 2)), axis=0)
    table["ann"], table["bob"] = values.T
    edges = pd.DataFrame({"source": ["ann"], "target": ["bob"]})
    reg = DynamicsRegressor(model=ndcn.forecast.Auto(horizon=2)).fit(ndcn.read(edges, table[:30]))
    reg.update(ndcn.read(edges, table[30:38]))  # whose own calendar begins later
    whole = DynamicsRegressor(model=ndcn.forecast.Auto(horizon=2)).fit(ndcn.read(edges, table[:38]))
    assert reg.table()["time"].iloc[0] == pd.Timestamp("2021-04-08")
    pd.testing.assert_frame_equal(reg.table(), whole.table())
    law = DynamicsRegressor(ndcn.laws.Heat(k=None)).fit(DATA[:20]).update(DATA[20:])
    assert len(law.train_[0].times) == 30


def test_new_values_replace_old_ones_and_a_file_needs_all(tmp_path: Path) -> None:
    reg = DynamicsRegressor("linear").fit(DATA[:20])
    revised = Trajectory(times=DATA.times[15:25], states=DATA.states[15:25] + 1, graph=GRAPH)
    reg.update(revised)
    assert torch.allclose(
        reg.predict(DATA.times[14:16]).states, DATA.states[14:16] + torch.tensor([0.0, 1.0])[:, None, None]
    )
    reg.save(tmp_path / "line.ndcn")
    loaded = ndcn.load(tmp_path / "line.ndcn")
    with pytest.raises(
        ValueError, match="does not hold the data of its fit: give update old and new snapshots together"
    ):
        loaded.update(DATA[25:])
    assert len(loaded.update(DATA).train_[0].times) == 30


def test_further_runs() -> None:
    reg = DynamicsRegressor(epochs=2).fit([DATA[:10], DATA[10:20]])
    assert len(reg.update(DATA[20:]).train_) == 3
    assert len(reg.update([DATA[:5]]).train_) == 4


def test_a_failed_update_changes_nothing() -> None:
    reg = DynamicsRegressor(epochs=2).fit(DATA[:20])
    before = weights(reg)
    other = Trajectory(times=[3.0, 4.0], states=torch.ones(2, 9, 1), graph=Graph.from_edges([(0, 1)], num_nodes=9))
    renamed = Trajectory(times=[3.0, 4.0], states=torch.ones(2, 9, 1), graph=GRAPH, features=["heat"])
    two = ndcn.Dataset((DATA, DATA))
    for wrong, message in (
        (other, "live on"),
        (renamed, "heat"),
        (two, "needs one run"),
        ([DATA], "expected an ndcn.Trajectory"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            reg.update(wrong)
    with pytest.raises(ValueError, match="does not use `epochs`"):
        DynamicsRegressor("linear").fit(DATA[:20]).update(DATA[20:], epochs=3)
    assert torch.equal(weights(reg), before)
    assert len(reg.train_[0].times) == 20
