"""Guesses of one node at a time, against what they are by definition and against statsmodels."""

from __future__ import annotations

import numpy as np
import pytest

from ndcn.forecast import simple

LAST = np.array([19])


def test_guesses_by_definition() -> None:
    x = np.random.default_rng(1).normal(size=(20, 3))
    np.testing.assert_array_equal(simple.persistence(x, LAST, 4)[0], np.repeat(x[-1:], 4, axis=0))
    np.testing.assert_allclose(simple.mean(x, LAST, 2)[0], np.repeat(x.mean(axis=0, keepdims=True), 2, axis=0))
    np.testing.assert_allclose(simple.drift(x, LAST, 5)[0, 4], x[19] + 5 * (x[19] - x[0]) / 19)
    np.testing.assert_allclose(simple.drift(x, LAST, 5, window=7)[0, 1], x[19] + 2 * (x[19] - x[12]) / 7)
    np.testing.assert_array_equal(simple.seasonal(x, LAST, 9, 7)[0], x[[13, 14, 15, 16, 17, 18, 19, 13, 14]])


@pytest.mark.parametrize(("alpha", "beta", "phi"), [(0.3, 0.2, 0.9), (0.7, 0.05, 0.8), (0.5, 0.4, 0.95)])
def test_damped_trend_is_that_of_statsmodels(alpha: float, beta: float, phi: float) -> None:
    holt = pytest.importorskip("statsmodels.tsa.holtwinters")
    x = np.cumsum(np.random.default_rng(2).normal(size=(40, 3)), axis=0)
    ours = simple.Smoothing((alpha,), (beta,), (phi,)).forecasts(x, np.array([39]), 6)[0]
    for node in range(3):
        # ours takes the first value as the first level: statsmodels smooths from the second on
        model = holt.ExponentialSmoothing(
            x[1:, node],
            trend="add",
            damped_trend=True,
            initialization_method="known",
            initial_level=x[0, node],
            initial_trend=0.0,
        )
        fit = model.fit(smoothing_level=alpha, smoothing_trend=alpha * beta / alpha, damping_trend=phi, optimized=False)
        np.testing.assert_allclose(ours[:, node], fit.forecast(6), rtol=1e-9)


def test_the_chosen_constants_have_the_smallest_past_error() -> None:
    """A random walk wants alpha = 1, noise around a level wants the smallest."""
    rng = np.random.default_rng(3)
    walk, noise = np.cumsum(rng.normal(size=300)), rng.normal(size=300)
    y = np.stack([walk, noise], axis=1)
    said = simple.Smoothing(alphas=(0.1, 1.0), betas=(0.0,)).forecasts(y, np.array([299]), 1)[0, 0]
    assert said[0] == pytest.approx(walk[-1])
    assert abs(said[1]) < 0.5


def test_a_damped_trend_is_bounded() -> None:
    y = np.arange(50.0)[:, None] ** 2
    said = simple.Smoothing().forecasts(y, np.array([49]), 200)[0, :, 0]
    assert np.isfinite(said).all()
    assert abs(said[-1] - said[-2]) < 1e-2 * abs(said[1] - said[0])


def test_constants_for_all_nodes_are_one() -> None:
    rng = np.random.default_rng(4)
    y = rng.normal(size=(80, 5))
    pooled = simple.Smoothing(alphas=(0.1, 0.9), betas=(0.0,), pooled=True).forecasts(y, np.array([79]), 1)[0, 0]
    each = [simple.Smoothing((a,), (0.0,)).forecasts(y, np.array([79]), 1)[0, 0] for a in (0.1, 0.9)]
    assert any(np.allclose(pooled, one) for one in each)


def test_the_profile_of_a_week() -> None:
    shape = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    flow = np.tile(shape, 5)[:, None] * np.array([1.0, 10.0])
    found = simple.profile(flow, np.array([34, 5]), 8, period=7)[..., 0]
    np.testing.assert_allclose(found[0], np.append(shape, 1.0) / 4.0)
    np.testing.assert_array_equal(found[1], np.ones(8))  # less than two weeks
