"""Weights from past errors."""

from __future__ import annotations

import numpy as np
import pytest

from ndcn.forecast.combination import DISCOUNT, mixed, past_errors, weights


def test_weights_are_inverse_errors_of_the_best() -> None:
    np.testing.assert_allclose(weights(np.array([4.0, 1.0, 2.0, 100.0]), best=3), [1 / 7, 4 / 7, 2 / 7, 0.0])


def test_weights_with_failures() -> None:
    np.testing.assert_allclose(weights(np.array([np.inf, 2.0, np.inf])), [0.0, 1.0, 0.0])
    np.testing.assert_allclose(weights(np.full(3, np.inf)), [1.0, 0.0, 0.0])  # persistence, which comes first
    np.testing.assert_allclose(weights(np.array([0.0, 2.0, 0.0])), [0.5, 0.0, 0.5])


def test_older_errors_count_less() -> None:
    errors = np.array([[1.0, 3.0], [3.0, 1.0]])
    found = past_errors(errors, np.array([10, 0]), np.ones(2))
    d = DISCOUNT**10
    np.testing.assert_allclose(found, [(d + 3) / (d + 1), (3 * d + 1) / (d + 1)])
    assert found[1] < found[0]


def test_a_candidate_is_compared_where_it_forecast() -> None:
    errors = np.array([[2.0, 10.0], [np.nan, 5.0], [np.nan, np.nan]])
    np.testing.assert_allclose(past_errors(errors, np.zeros(2), errors[0])[:2], [1.0, 0.5])
    assert past_errors(errors, np.zeros(2), errors[0])[2] == np.inf


def test_nothing_moved() -> None:
    found = past_errors(np.array([[0.0], [1.0]]), np.zeros(1), np.zeros(1))
    assert found[0] == 1.0
    assert found[1] == np.inf


def test_who_has_no_forecast_gives_the_weight_away() -> None:
    said = np.array([[1.0, 2.0], [3.0, np.nan]])
    np.testing.assert_allclose(mixed(np.array([0.25, 0.75]), said), [2.5, 2.0])
    assert np.isnan(mixed(np.array([0.0, 1.0]), said)[1])


@pytest.mark.parametrize("best", [1, 5, 50])
def test_weights_add_up_to_one(best: int) -> None:
    assert weights(np.random.default_rng(0).random(12), best).sum() == pytest.approx(1.0)
