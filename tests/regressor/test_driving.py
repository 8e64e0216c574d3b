"""Inputs in models: fitted, predicted with a future, kept in files, refused where they cannot be used."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch

import ndcn

GRAPH = ndcn.networks.grid(16)
TIMES = ndcn.sampling.regular_times(4.0, 21)


class Heated(ndcn.laws.Heat):
    """dx_i/dt = 3 heater - x_i / 2 + sum_j A_ij (x_j - x_i)."""

    def node(self, x: torch.Tensor, heater: torch.Tensor) -> torch.Tensor:
        return 3 * heater - 0.5 * x


ON_OFF = ndcn.Inputs([0.0, 1.0, 2.1, 3.3], {"heater": [0.0, 1.0, 0.0, 1.0]}, until=5.0)


@pytest.fixture(scope="module")
def data() -> ndcn.Trajectory:
    return ndcn.simulate(
        Heated(), GRAPH, torch.rand(16, 1, generator=torch.Generator().manual_seed(0)), TIMES, inputs=ON_OFF
    )


@pytest.fixture(scope="module")
def trained(data: ndcn.Trajectory) -> ndcn.DynamicsRegressor:
    return ndcn.DynamicsRegressor("ndcn", epochs=150, seed=0).fit(data)


def test_ndcn_learns_more_with_inputs(data: ndcn.Trajectory, trained: ndcn.DynamicsRegressor) -> None:
    without = ndcn.DynamicsRegressor("ndcn", epochs=150, seed=0).fit(data.replaced(inputs=None))
    errors = [ndcn.metrics.normalized_l1(reg.predict(data.times), data) for reg in (trained, without)]
    assert errors[0] < 0.7 * errors[1]


def test_the_future_must_be_known(trained: ndcn.DynamicsRegressor) -> None:
    assert trained.predict([4.5]).states.isfinite().all()  # known until 5
    with pytest.raises(
        ValueError,
        match=r"'heater' is known until t = 5, and the times asked for go to t = 6.*Pass them, predict\(times, inputs=",
    ):
        trained.predict([6.0])
    hot, cold = (
        trained.predict([8.0], inputs=ndcn.Inputs([5.0], {"heater": [value]}, until=8.0)).states.mean().item()
        for value in (1.0, 0.0)
    )
    assert hot > cold + 0.5
    with pytest.raises(ValueError, match="was fitted with the inputs heater, and 'cooler' is none"):
        trained.predict([6.0], inputs=ndcn.Inputs([5.0], {"cooler": [1.0]}, until=6.0))


def test_a_table_of_the_future(trained: ndcn.DynamicsRegressor, tmp_path: Path) -> None:
    pd.DataFrame({"t": [5.0, 8.0], "heater": [1.0, 1.0]}).to_csv(tmp_path / "later.csv", index=False)
    by_file = trained.predict([8.0], inputs=tmp_path / "later.csv")
    by_hand = trained.predict([8.0], inputs=ndcn.Inputs([5.0], {"heater": [1.0]}, until=8.0))
    assert torch.equal(by_file.states, by_hand.states)


def test_files_keep_inputs(trained: ndcn.DynamicsRegressor, tmp_path: Path) -> None:
    trained.save(tmp_path / "model.ndcn")
    again = ndcn.load(tmp_path / "model.ndcn")
    assert again.train_[0].inputs == ON_OFF
    assert torch.equal(again.predict([4.5]).states, trained.predict([4.5]).states)


def test_what_if_and_other_starts(trained: ndcn.DynamicsRegressor) -> None:
    later = ndcn.Inputs([5.0], {"heater": [1.0]}, until=8.0)
    with pytest.warns(UserWarning, match="just after the changes"):
        changed = trained.what_if("shock 3 +5", [6.0], inputs=later)
    assert changed.states.isfinite().all()
    other = trained.predict([7.0], graph=ndcn.networks.grid(9), x0=torch.ones(9, 1), t0=6.0, inputs=later)
    assert other.states.shape == (1, 9, 1)


def test_evaluation_takes_the_inputs_of_the_data(data: ndcn.Trajectory) -> None:
    short = data[:15].replaced(inputs=ndcn.Inputs([0.0, 1.0, 2.1], {"heater": [0.0, 1.0, 0.0]}, until=2.8))
    reg = ndcn.DynamicsRegressor("ndcn", epochs=30).fit(short)
    assert reg.evaluate(data).parts["extrapolation"]["snapshots"] == 6
    assert reg.score(data) < 1


def test_other_kinds_say_that_they_do_not_use_them(data: ndcn.Trajectory) -> None:
    with pytest.warns(UserWarning, match="`linear` does not use inputs: heater is left aside"):
        reg = ndcn.DynamicsRegressor("linear").fit(data)
    with pytest.raises(ValueError, match="was fitted without inputs"):
        reg.predict([5.0], inputs=ON_OFF)


def test_runs_with_other_inputs_and_constant_ones(data: ndcn.Trajectory) -> None:
    with pytest.raises(ValueError, match=r"all runs must have the same inputs.*heater; none"):
        ndcn.DynamicsRegressor(epochs=1).fit([data, data.replaced(inputs=None)])
    constant = data.replaced(inputs=ndcn.Inputs([0.0], {"heater": [1.0]}, until=4.0))
    with pytest.warns(UserWarning, match="'heater' is constant: nothing can be learned"):
        ndcn.DynamicsRegressor(epochs=1).fit(constant)


def test_a_field_of_ones_own_learns_with_inputs(data: ndcn.Trajectory) -> None:
    class Field(ndcn.laws.Heat):
        def __init__(self) -> None:
            super().__init__()
            self._set(c=torch.nn.Parameter(torch.tensor(1.0)))

        def node(self, x: torch.Tensor, heater: torch.Tensor) -> torch.Tensor:
            return self._value("c", x) * heater - 0.5 * x

    solver = ndcn.Solver("rk4", step_size=0.1)
    reg = ndcn.DynamicsRegressor(model=Field(), solver=solver, epochs=60, learning_rate=0.1).fit(data)
    assert reg.model_.field.c.item() == pytest.approx(3.0, abs=0.2)


def test_update_goes_on_with_later_inputs(data: ndcn.Trajectory) -> None:
    early = data[:15].replaced(inputs=ndcn.Inputs([0.0, 1.0, 2.1], {"heater": [0.0, 1.0, 0.0]}, until=2.8))
    late = data[15:].replaced(inputs=ndcn.Inputs([2.8, 3.3], {"heater": [0.0, 1.0]}, until=5.0))
    reg = ndcn.DynamicsRegressor("ndcn", epochs=5).fit(early).update(late, epochs=2)
    assert reg.train_[0].inputs is not None
    assert reg.train_[0].inputs.end == 5.0
