"""Views of the data and the way back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from ndcn.forecast.transforms import View, delayed, trailing_mean

FUNCTIONS = ("raw", "sqrt", "log")


@given(x=hnp.arrays(np.float64, (5, 3), elements=st.floats(0, 1e6)), function=st.sampled_from(FUNCTIONS))
def test_functions_come_back(x: np.ndarray, function: str) -> None:
    view = View(function)
    np.testing.assert_allclose(view.backward(view.forward(x)), x, rtol=1e-9, atol=1e-9)


@given(
    flow=hnp.arrays(np.float64, (6, 2), elements=st.floats(0, 1e4)),
    function=st.sampled_from(FUNCTIONS),
    split=st.integers(0, 4),
)
def test_the_true_future_of_the_series_gives_the_true_totals(flow: np.ndarray, function: str, split: int) -> None:
    total = np.cumsum(flow, axis=0)
    view = View(function, increments=True)
    future = view.series(total)[None, split + 1 :]
    np.testing.assert_allclose(view.levels(future, total[[split]])[0], total[split + 1 :], rtol=1e-6, atol=1e-6)


def test_totals_never_fall_and_counts_are_never_below_zero() -> None:
    path = np.array([[[-5.0], [-1.0], [2.0]]])
    for function in FUNCTIONS:
        levels = View(function, increments=True).levels(path, np.array([[7.0]]))
        assert (np.diff(levels[0], axis=0) >= 0).all()
        assert levels.min() >= 7.0
    assert View("sqrt").levels(path, np.zeros((1, 1))).min() == 0.0
    assert np.isfinite(View("log").backward(np.array([1e9]))).all()


@pytest.mark.parametrize("window", [1, 2, 5, 50])
def test_trailing_mean_is_the_mean_of_what_is_behind(window: int) -> None:
    x = np.random.default_rng(0).normal(size=(12, 3))
    expected = [x[max(0, t - window + 1) : t + 1].mean(axis=0) for t in range(12)]
    np.testing.assert_allclose(trailing_mean(x, window), expected)


@pytest.mark.parametrize("lag", [0, 1, 3, 9])
def test_delayed(lag: int) -> None:
    x = np.arange(5.0)[:, None]
    np.testing.assert_array_equal(delayed(x, lag)[:, 0], np.maximum(np.arange(5.0) - lag, 0.0))
