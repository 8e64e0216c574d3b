"""DynamicsRegressor and its baselines keep scikit-learn's habits: parameters, clones, seeds, not fitted."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import ndcn
from ndcn import DynamicsRegressor, Objective, Solver, laws
from ndcn.training.adam import Adam
from small_runs import DATA, GRAPH, X0, regressor


def test_clone_and_params() -> None:
    reg = regressor(seed=3, knots=[0.0, 1.0], objective=Objective("l2"), solver=Solver("rk4", step_size=0.5))
    params = reg.get_params()
    assert params["seed"] == 3
    assert params["model"] == "ndcn"
    again = clone(reg.fit(DATA))
    assert {k: v for k, v in again.get_params().items() if k != "knots"} == {
        k: v for k, v in params.items() if k != "knots"
    }
    assert not hasattr(again, "model_")
    assert again.set_params(seed=4, hidden=6) is again
    assert (again.seed, again.hidden) == (4, 6)
    with pytest.raises(ValueError, match="Invalid parameter"):
        again.set_params(depth=3)
    assert "DynamicsRegressor" in repr(reg)


def test_a_clone_learns_the_same() -> None:
    reg = regressor().fit(DATA)
    assert clone(reg).fit(DATA).history_.loss == reg.history_.loss
    assert reg.fit(DATA).history_.loss == clone(reg).fit(DATA).history_.loss  # fitting again starts anew


REGULAR = ndcn.simulate(laws.Heat(), GRAPH, X0, ndcn.sampling.regular_times(2.0, 15))
BASELINES = ["residual_gnn", "rnn_gnn", "gru_gnn", "lstm_gnn", "persistence", "linear", "spline"]


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_keep_these_habits_too(name: str) -> None:
    settings = {} if name in ("persistence", "linear", "spline") else {"epochs": 10, "seed": 3}
    reg = DynamicsRegressor(name, **settings)
    again = clone(reg.fit(REGULAR))
    assert again.get_params() == reg.get_params()
    assert not hasattr(again, "model_")
    asked = [0.0, 2.0, 4.0]
    assert torch.equal(again.fit(REGULAR).predict(asked).states, reg.predict(asked).states)
    assert again.history_.loss == reg.history_.loss
    assert reg.predict(asked).features == ("x",)
    assert isinstance(reg.score(REGULAR), float)


@pytest.mark.parametrize("name", BASELINES[:4])
def test_baselines_resume_bit_for_bit(name: str, tmp_path: Path) -> None:
    settings = {"epochs": 12, "checkpoint": tmp_path / "run", "validation": 0.2}
    whole = DynamicsRegressor(name, **settings).fit(REGULAR)
    (tmp_path / "run").unlink()
    kill = pytest.MonkeyPatch()
    with kill.context() as patch:
        calls = iter(range(100))
        step = Adam.step

        def stop_at_seven(self: Adam) -> None:
            if next(calls) == 7:
                raise KeyboardInterrupt
            step(self)

        patch.setattr(Adam, "step", stop_at_seven)
        patch.setattr("ndcn.training.loop.SAVE_EVERY", -1.0)
        with pytest.raises(KeyboardInterrupt):
            DynamicsRegressor(name, **settings).fit(REGULAR)
    assert (tmp_path / "run").exists()
    resumed = DynamicsRegressor(name, **settings).fit(REGULAR, resume=True)
    assert resumed.history_.loss == whole.history_.loss
    assert torch.equal(resumed.predict([4.0]).states, whole.predict([4.0]).states)


def test_an_ensemble_of_temporal_gnns() -> None:
    reg = DynamicsRegressor("rnn_gnn", epochs=5, ensemble=2, jobs=1).fit(REGULAR)
    mean, spread = reg.predict([4.0], return_std=True)
    assert spread.states.min() > 0
    alone = [DynamicsRegressor("rnn_gnn", epochs=5, seed=s).fit(REGULAR).predict([4.0]).states for s in (0, 1)]
    torch.testing.assert_close(mean.states, (alone[0] + alone[1]) / 2)


def test_not_fitted() -> None:
    for use in (lambda r: r.predict([1.0]), lambda r: r.score(DATA), lambda r: r.save("x"), lambda r: r.solver_):
        with pytest.raises(NotFittedError, match="call fit first"):
            use(DynamicsRegressor())
