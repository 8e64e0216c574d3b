"""scikit-learn's tools over a list of runs: they work, or refuse with a reason."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import ndcn
from ndcn import DynamicsRegressor, Trajectory, metrics

TIMES = ndcn.sampling.regular_times(1.0, 8)


def run(n: int, seed: int) -> Trajectory:
    graph = ndcn.networks.grid(n)
    x0 = torch.rand(n, 1, generator=torch.Generator().manual_seed(seed))
    return ndcn.simulate(ndcn.laws.Heat(), graph, x0, TIMES)


RUNS = [run(n, seed) for seed, n in enumerate((9, 9, 16, 9))]


def test_grid_search_over_runs() -> None:
    search = GridSearchCV(DynamicsRegressor(seed=0, progress=False), {"epochs": [1, 40]}, cv=2).fit(RUNS)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_ == {"epochs": 40}
    assert search.predict([0.5]).states.shape == (1, 9, 1)


def test_the_score_of_runs_starts_each_from_its_own_state() -> None:
    law = DynamicsRegressor(ndcn.laws.Heat(k=None)).fit(RUNS[:2])
    assert law.score(RUNS[2:]) == pytest.approx(1.0, abs=1e-4)
    one = RUNS[2]
    guess = law.predict(one.times[1:], graph=one.graph, x0=one.states[0])
    assert law.score([one]) == pytest.approx(metrics.r2(guess, one[1:]))
    assert law.score(ndcn.Dataset((RUNS[0],))) == law.score(RUNS[0])
    assert cross_val_score(DynamicsRegressor(ndcn.laws.Heat(k=None)), RUNS[:2], cv=2) == pytest.approx(1.0, abs=1e-3)
    for wrong, message in (
        ([RUNS[0][:1]], "one snapshot"),
        ([1, 2], "list of trajectories"),
        ([], "list of trajectories"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            law.score(wrong)


def test_pipelines() -> None:
    def tenfold(runs: list[Trajectory]) -> list[Trajectory]:
        return [Trajectory(times=x.times, states=10 * x.states, graph=x.graph) for x in runs]

    pipe = Pipeline([("units", FunctionTransformer(tenfold)), ("law", DynamicsRegressor(ndcn.laws.Heat(k=None)))])
    assert pipe.fit(RUNS[:2]).score(RUNS[2:]) == pytest.approx(1.0, abs=1e-4)
    alone = Pipeline([("reg", DynamicsRegressor(epochs=2))]).fit(RUNS)
    assert alone.predict([0.5, 0.7]).states.shape == (2, 9, 1)


@pytest.mark.parametrize(
    ("model", "reason"), [("auto", "a forecast continues one run"), ("linear", "one curve for each node")]
)
def test_models_of_one_run_are_refused_with_a_reason(model: str, reason: str) -> None:
    long = [run(9, seed) for seed in range(3)]
    with pytest.raises(ValueError, match=reason):
        GridSearchCV(DynamicsRegressor(model), {"seed": [0, 1]}, cv=3).fit(long)
    fitted = DynamicsRegressor("linear").fit(long[0])
    with pytest.raises(ValueError, match=r"other runs start from other states.*ndcn\.backtest"):
        fitted.score(long[1:])


def test_a_trajectory_is_no_list_of_runs() -> None:
    with pytest.raises(ValueError, match=r"give it a list of runs, or use ndcn\.backtest"):
        GridSearchCV(DynamicsRegressor(epochs=1), {"seed": [0, 1]}, cv=3).fit(RUNS[0])


def test_datasets_in_a_list_are_runs() -> None:
    sets = [ndcn.Dataset((one,)) for one in RUNS]
    two = DynamicsRegressor(epochs=2, seed=0, progress=False)
    alike = two.fit(sets).predict([0.5]).states
    assert torch.equal(two.fit(RUNS).predict([0.5]).states, alike)
    assert two.score(sets) == two.score(RUNS)


def test_one_dataset_is_refused_by_scikit_learn_with_a_reason() -> None:
    data = ndcn.Dataset((RUNS[0],))
    scaled = Pipeline([("scale", StandardScaler()), ("reg", DynamicsRegressor(epochs=2))])
    for fit in (GridSearchCV(DynamicsRegressor(epochs=1), {"seed": [0, 1]}, cv=2).fit, scaled.fit):
        with pytest.raises(TypeError, match=r"GridSearchCV takes a list of runs, and ndcn.backtest"):
            fit(data)
    with pytest.raises(TypeError, match=r"no array of samples and features: take .states"):
        np.asarray(RUNS[0])
