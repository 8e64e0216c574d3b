"""Snapshots that repeat the one before."""

from __future__ import annotations

import numpy as np
import pytest

import ndcn
from ndcn.data.outlier_days import repeats
from ndcn.data.panel import panel_of


def rows(x: np.ndarray) -> list[int]:
    return [one.first for one in repeats(x)]


@pytest.mark.parametrize("row", [3, 30, 59])
def test_a_repeated_day_is_named(row: int) -> None:
    x = np.random.default_rng(0).poisson(20.0, size=(60, 40)).astype(float)
    assert rows(x) == []
    x[row] = x[row - 1]
    assert rows(x) == [row]


def test_seasons_begin_and_end_without_a_repeat() -> None:
    rng = np.random.default_rng(1)
    busy = np.where(np.arange(120) % 40 < 12, 8.0, 0.0)
    x = rng.poisson(busy[:, None], size=(120, 60)).astype(float)
    assert rows(x) == []
    x[45] = x[44]
    assert rows(x) == [45]


def test_few_nodes_or_many_still_days_are_no_repeats() -> None:
    rng = np.random.default_rng(2)
    few = rng.poisson(0.02, size=(100, 30)).astype(float)
    assert rows(few) == []
    weekly = np.repeat(rng.poisson(20.0, size=(20, 30)).astype(float), 7, axis=0)  # reported once a week
    assert rows(weekly) == []


def test_totals_missing_at_the_end_go_on_by_their_usual_rise() -> None:
    totals = np.cumsum(np.random.default_rng(3).poisson(20.0, size=(60, 12)), axis=0).astype(float)
    wrong = totals.copy()
    wrong[-1, 4] = 0.0
    data = ndcn.Trajectory(times=np.arange(60.0), states=wrong, graph=ndcn.networks.grid(12))
    values = panel_of(data).values
    week = (wrong[-2, 4] - wrong[-9, 4]) / 7
    assert values[-1, 4] == pytest.approx(wrong[-2, 4] + week)
    np.testing.assert_array_equal(np.delete(values, 4, axis=1), np.delete(totals, 4, axis=1))
