"""Wrong days and cells at the end of the data, which nothing later confirms."""

from __future__ import annotations

import numpy as np
import pytest

from ndcn.data.outlier_days import repeats
from ndcn.data.outlier_ends import end_days
from ndcn.data.outliers import Outlier, cleaned
from ndcn.data.panel import panel_of
from ndcn.data.series_kind import kind_of
from ndcn.data.trajectory import Trajectory
from ndcn.graph import Graph

NODE = 4


def counts(nodes: int = 12, seed: int = 3, sigma: float = 0.5) -> np.ndarray:
    """90 days of counts with a common course and a weekly pattern."""
    rng = np.random.default_rng(seed)
    course = 40 * np.exp(np.cumsum(0.05 * rng.normal(size=90))) * np.array([1, 1, 1, 1, 1, 0.6, 0.5])[np.arange(90) % 7]
    return rng.poisson(course[:, None] * rng.lognormal(sigma=sigma, size=nodes)).astype(float)


def found(x: np.ndarray) -> tuple[Outlier, ...]:
    kind = kind_of(np.nan_to_num(x), np.isfinite(x))
    return cleaned(x, positive=kind.positive, cumulative=kind.cumulative, period=kind.period).found


def held_rows(x: np.ndarray) -> list[tuple[int | None, int, int]]:
    return [(one.node, one.first, one.last) for one in found(x) if one.held_out]


def panel(x: np.ndarray):
    graph = Graph.from_edges([(i, i + 1) for i in range(x.shape[1] - 1)])
    return panel_of(Trajectory(times=np.arange(len(x)) * 1.0, states=x, graph=graph))


@pytest.mark.parametrize("totals", [False, True])
@pytest.mark.parametrize(("factor", "days"), [(0.0, 1), (0.125, 1), (10.0, 1), (0.0, 2), (10.0, 2), (0.0, 3)])
def test_wrong_last_days_are_held_out_and_named_once(factor: float, days: int, totals: bool) -> None:
    x = np.cumsum(counts(), axis=0) if totals else counts()
    assert found(x) == ()
    x[-days:] = np.floor(factor * x[-days:])
    assert held_rows(x) == [(None, 90 - days, 89)]
    assert len(found(x)) == 1
    if factor == 0.0:
        assert found(x)[0].sentence == "all nodes are 0 at the end, where 12 usually are not: held out"


def test_a_last_day_reported_in_part_is_held_out() -> None:
    x = counts()
    x[-1, ::2] = 0.0
    assert held_rows(x) == [(None, 89, 89)]


def test_a_turn_as_steep_as_earlier_ones_is_no_error() -> None:
    rng = np.random.default_rng(0)
    level = np.repeat([20.0, 60.0, 20.0, 60.0, 20.0], 12)[:49]  # the last day falls as others did before, and stayed
    x = rng.poisson(level[:, None], size=(49, 30)).astype(float)
    assert end_days(np.sqrt(x), 0.5) == []
    assert held_rows(x) == []
    x[-1] = np.floor(x[-1] / 20)
    assert held_rows(x) == [(None, 48, 48)]


def test_a_held_out_last_day_goes_on_with_the_pattern() -> None:
    x = counts()
    true = x[-1].sum()
    x[-1] = 0.0
    filled = panel(x)
    assert not filled.observed[-1].any()
    assert filled.values[-1].sum() == pytest.approx(true, rel=0.25)  # a weekend, 0.6 of the day before


def test_values_around_zero_go_on_with_the_pattern() -> None:
    rng = np.random.default_rng(1)
    x = 5.0 * np.sin(2 * np.pi * np.arange(70) / 7)[:, None] + 0.3 * rng.normal(size=(70, 20))
    wrong = x.copy()
    wrong[-1] += 100.0
    np.testing.assert_allclose(panel(wrong).values[-1], x[-1], atol=2.0)


@pytest.mark.parametrize("days", [1, 2, 3, 5])
def test_totals_that_are_not_updated_are_named_and_go_on(days: int) -> None:
    x = np.cumsum(counts(), axis=0)
    true = x[-1].copy()
    x[-days:] = x[-days - 1]
    assert [(one.kind, one.first, one.last) for one in found(x)] == [("repeat", 90 - days, 89)]
    np.testing.assert_allclose(panel(x).values[-1], true, rtol=0.05)


def test_a_season_that_ends_is_no_repeat() -> None:
    rng = np.random.default_rng(1)
    x = rng.poisson(np.where(np.arange(100) % 40 < 15, 8.0, 0.0)[:, None], size=(100, 60)).astype(float)
    assert repeats(x) == []


@pytest.mark.parametrize("cells", [1, 2, 7])
def test_a_node_that_ends_with_zeros_is_held_out(cells: int) -> None:
    x = counts()
    x[-cells:, NODE] = 0.0
    (one,) = found(x)
    assert (one.node, one.first, one.last, one.held_out) == (NODE, 90 - cells, 89, True)
    assert "nothing but 0 at the end" in one.sentence


def test_a_node_that_often_has_none_may_end_with_zeros() -> None:
    x = counts()
    x[:, NODE] = np.random.default_rng(0).poisson(1.0, size=90)
    x[-2:, NODE] = 0.0
    assert found(x) == ()


def test_the_last_two_cells_tenfold_are_held_out_and_threefold_named() -> None:
    x = counts()
    x[-2:, NODE] *= 10.0
    assert held_rows(x) == [(NODE, 88, 89)]
    x[-2:, NODE] *= 0.35
    assert [(one.node, one.held) for one in found(x)] == [(NODE, False)]


def test_nodes_that_rise_while_all_do_are_no_errors() -> None:
    level = np.repeat([20.0, 60.0, 20.0, 60.0, 20.0, 60.0], 20)[:102]
    x = np.random.default_rng(0).poisson(level[:, None], size=(102, 20)).astype(float)
    x[-2:, NODE] = 300.0
    assert held_rows(x) == []


@pytest.mark.parametrize("cells", [1, 2, 3])
def test_totals_that_fall_to_zero_at_the_end_go_on(cells: int) -> None:
    x = np.cumsum(counts(), axis=0)
    true = x[-1, NODE]
    x[-cells:, NODE] = 0.0
    assert held_rows(x) == [(NODE, 90 - cells, 89)]
    assert panel(x).values[-1, NODE] == pytest.approx(true, rel=0.05)


def test_a_last_total_that_jumps_is_held_out_until_another_confirms_it() -> None:
    later = np.cumsum(counts(), axis=0)
    true = later[86, NODE]
    later[86:, NODE] += 4.0 * true
    x = later[:87]
    (one,) = found(x)
    assert one.held_out
    assert "at the end" in one.sentence
    assert panel(x).values[-1, NODE] == pytest.approx(true, rel=0.05)
    assert [(one.kind, one.held_out) for one in found(later)] == [("jump", False)]
    assert panel(later).values[-1, NODE] == later[-1, NODE]


def test_all_falls_of_totals_are_named() -> None:
    x = np.cumsum(counts(), axis=0)
    x[40, NODE] = x[39, NODE] - 3.0
    x[41:, NODE] += x[40, NODE] - x[41, NODE] + 5.0
    assert [(one.node, one.first, one.sentence.rpartition(": ")[2]) for one in found(x)] == [(NODE, 40, "kept")]
    for k in range(50, 80, 5):
        x[k, 7] = x[k - 1, 7] - 2.0
    grouped = [one.sentence for one in found(x) if one.node == 7]
    assert grouped == ["the total falls 6 times, by 2 at most: kept"]


def test_weekends_of_few_nodes_are_no_wrong_days() -> None:
    for seed in (3, 4, 5):
        assert [one for one in found(counts(seed=seed, sigma=1.0)[:, :3]) if one.node is None] == []


def test_the_last_cell_of_the_largest_node_is_no_other_unit() -> None:
    x = counts(nodes=14)
    x[-1, x.mean(axis=0).argmax()] *= 10.0
    assert [(one.kind, one.first, one.last) for one in found(x)] == [("spike", 89, 89)]
