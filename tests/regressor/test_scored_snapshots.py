from __future__ import annotations

import pytest
import torch

import ndcn
from ndcn.regressor.scored_snapshots import parts_of, scores


@pytest.fixture(scope="module")
def data() -> ndcn.Trajectory:
    graph, times = ndcn.networks.grid(9), ndcn.sampling.regular_times(1.0, 10)
    return ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)


@pytest.fixture(scope="module")
def reg(data: ndcn.Trajectory) -> ndcn.DynamicsRegressor:
    return ndcn.DynamicsRegressor("linear").fit(data[[0, 2, 3, 5]])


def test_every_snapshot_is_of_one_kind(reg: ndcn.DynamicsRegressor, data: ndcn.Trajectory) -> None:
    parts = parts_of(reg, data)
    assert parts.train.nonzero().flatten().tolist() == [0, 2, 3, 5]
    assert parts.interpolation.nonzero().flatten().tolist() == [1, 4]
    assert parts.extrapolation.nonzero().flatten().tolist() == [6, 7, 8, 9]
    assert parts.x0 is None


def test_another_start_leaves_nothing_trained_on(reg: ndcn.DynamicsRegressor, data: ndcn.Trajectory) -> None:
    other = ndcn.Trajectory(times=data.times, states=data.states + 1, graph=data.graph)
    parts = parts_of(reg, other)
    assert not parts.train.any()
    assert not parts.interpolation[0]
    assert torch.equal(parts.x0, other.states[0])


def test_other_data_are_refused(reg: ndcn.DynamicsRegressor, data: ndcn.Trajectory) -> None:
    renamed = ndcn.Trajectory(times=data.times, states=data.states, graph=data.graph, features=["heat"])
    with pytest.raises(ValueError, match="the data have the features heat, the model was trained on x"):
        parts_of(reg, renamed)
    small = ndcn.networks.grid(4)
    with pytest.raises(ValueError, match="another graph"):
        parts_of(reg, ndcn.Trajectory(times=[0.0, 1.0], states=torch.ones(2, 4, 1), graph=small))


def test_what_was_not_observed_is_not_scored(data: ndcn.Trajectory) -> None:
    nowhere = torch.zeros(10, dtype=torch.bool)
    assert scores(data, data, nowhere) is None
    first = nowhere.clone()
    first[0] = True
    blind = ndcn.Trajectory(times=data.times, states=data.states, graph=data.graph, mask=~first[:, None].expand(10, 9))
    assert scores(data, blind, first) is None
    zero = ndcn.Trajectory(times=data.times, states=torch.zeros(10, 9, 1), graph=data.graph)
    assert scores(zero, zero, first) == {"normalized_l1": None, "l1": 0.0, "rmse": 0.0, "snapshots": 1}
