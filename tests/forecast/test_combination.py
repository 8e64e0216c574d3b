"""Who is combined, by past errors."""

from __future__ import annotations

import numpy as np
import pytest

from ndcn.forecast.combination import CUT, DISCOUNT, middle, past_errors, shares, trust, weights


def test_weights_fall_with_the_error() -> None:
    found = weights(np.array([1.0, 1.1, 4.0]))
    np.testing.assert_allclose(found, [1 / (1 + 1.1**-20), 1.1**-20 / (1 + 1.1**-20), 0.0])


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


def test_the_middle_is_of_those_that_have_a_forecast() -> None:
    said = np.array([[1.0, 2.0, np.nan], [3.0, np.nan, np.nan], [8.0, 4.0, np.inf]])
    kept = 1 / 3 - CUT  # of each end, beside a third in the middle
    np.testing.assert_allclose(middle(said, np.ones(3)), [(kept * (1 + 8) + 3 / 3) / (2 * kept + 1 / 3), 3.0, np.nan])
    np.testing.assert_allclose(middle(said, np.array([1.0, 0.0, 0.0])), [1.0, 2.0, np.nan])


def test_one_forecast_far_off_does_not_count() -> None:
    said = np.random.default_rng(1).normal(size=(10, 40))
    np.testing.assert_allclose(middle(said, np.ones(10)), np.sort(said, axis=0)[1:-1].mean(axis=0))
    worse = said.copy()
    worse[said.argmax(axis=0), np.arange(40)] = 1e30
    np.testing.assert_allclose(middle(worse, np.ones(10)), middle(said, np.ones(10)))


def test_a_small_change_of_weights_is_one_of_the_middle() -> None:
    rng = np.random.default_rng(0)
    said, weight = rng.normal(size=(9, 200)), rng.random(9)
    for k in range(9):
        other = weight.copy()
        other[k] *= 1.001
        assert np.abs(middle(said, other) - middle(said, weight)).max() < 0.002


def test_shares_of_the_combination_and_of_what_it_is_compared_with() -> None:
    def share(*errors: float) -> list[float]:
        return shares(np.array(errors)).tolist()

    assert share(0.0, 0.0) == share(np.nan, 1.0) == [1.0, 0.0]
    assert share(1.0, 0.0) == [0.0, 1.0]
    assert share(0.8, 1.0) == pytest.approx(share(1.0, 0.8)[::-1])  # the same question asked the other way round
    assert share(2.0, 1.9, 1.0) == [0.0, 0.0, 1.0]  # both lost to persistence
    assert share(1.0, 1.0, 1.0) == pytest.approx([1 / 3] * 3)
    assert [trust(r, 1.0, 1.1) for r in (0.5, 1.0, 1.1, 3.0, np.nan)] == [1.0, 1.0, 0.0, 0.0, 1.0]
