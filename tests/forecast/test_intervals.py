"""Units of residuals: recent changes, or the level where it tells better how far the next values lie apart."""

from __future__ import annotations

import numpy as np
import pytest

import ndcn
from ndcn import forecast
from ndcn.data.panel import Panel, panel_of
from ndcn.forecast import intervals


def panel(x: np.ndarray, **reading: str) -> Panel:
    graph = ndcn.networks.small_world(x.shape[1], seed=0)
    return panel_of(ndcn.Trajectory(times=np.arange(len(x)) * 1.0, states=x, graph=graph), **reading)


def waves(nodes: int = 60, steps: int = 90) -> np.ndarray:
    """Counts whose noise is a fifth of their level; in nine of ten nodes the wave has passed, in the others it is at its top."""
    rng = np.random.default_rng(3)
    t = np.arange(steps)[:, None]
    peak = np.where(np.arange(nodes) % 10 > 0, 55.0, 82.0)
    level = 20.0 + 4000.0 * np.exp(-(((t - peak) / 7.0) ** 2))
    return np.round(level * rng.lognormal(0.0, 0.2, size=(steps, nodes)))


def test_after_a_wave_intervals_are_as_narrow_as_the_values_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    x = waves()
    data = ndcn.Trajectory(times=np.arange(79.0), states=x[:79], graph=ndcn.networks.small_world(60, seed=0))
    passed = np.arange(60) % 10 > 0

    def ends() -> tuple[np.ndarray, np.ndarray]:
        found = forecast.auto(data, horizon=1, progress=False)
        low, high = (end.states[0, :, 0].numpy() for end in found.intervals([79.0]))
        return low, high

    low, high = ends()
    assert ((x[79] >= low) & (x[79] <= high)).mean() > 0.8
    monkeypatch.setattr(intervals, "POWERS", (0.0,))
    before = np.subtract(*ends()[::-1])
    assert np.median((high - low)[passed]) < 0.25 * np.median(before[passed])


@pytest.mark.parametrize("kind", ["counts", "totals", "values"])
def test_units_scale_with_the_data(kind: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.poisson(30.0, size=(40, 12)).astype(float)
    x = {"counts": x, "totals": np.cumsum(x, axis=0), "values": x - 30.0}[kind]
    origins = np.arange(10, 30)
    said = x[origins]
    one = intervals.units(panel(x, kind=kind), origins, 3, said)
    ten = intervals.units(panel(10 * x, kind=kind), origins, 3, 10 * said)
    assert list(one) == ([0.0] if kind == "values" else list(intervals.POWERS))
    for power in one:
        assert (one[power] > 0).all()
        np.testing.assert_allclose(ten[power], 10 * one[power])


def test_noise_of_one_size_is_measured_in_changes() -> None:
    rng = np.random.default_rng(1)
    x = 100.0 * np.arange(1, 41) + rng.normal(size=(90, 40))  # the level says nothing about the noise
    data = panel(x)
    origins = np.arange(20, 88)
    found = intervals.residuals(data, origins, np.broadcast_to(x[:20].mean(axis=0), (68, 40)), 1, x[-1])
    assert found.counts == 68 * 40
    np.testing.assert_allclose(found.sizes, intervals.sizes(data, np.array([89]), 1)[0] * np.sqrt(1 + 1 / 68))
    assert found.quantiles[1, 380] * found.sizes.mean() == pytest.approx(1.645, rel=0.25)


def test_few_origins_change_no_unit() -> None:
    x = waves()
    data, origins = panel(x), np.arange(60, 60 + intervals.ENOUGH - 1)
    unit = intervals.residuals(data, origins, x[origins], 7, x[-1]).sizes
    doubt = 1 + 7 / len(origins)  # two forecasts that do not overlap
    np.testing.assert_allclose(unit, intervals.sizes(data, np.array([89]), 7)[0] * np.sqrt(doubt))


def test_bursts_of_small_nodes_do_not_widen_the_intervals_of_large_ones() -> None:
    rng = np.random.default_rng(2)
    small = np.where(rng.random((120, 40)) < 0.1, rng.poisson(60.0, size=(120, 40)), rng.poisson(0.3, size=(120, 40)))
    large = 2000.0 + 30.0 * rng.normal(size=(120, 40))
    data = panel(np.round(np.concatenate([small, large], axis=1)), kind="counts")
    origins = np.arange(60, 118)
    said = np.concatenate([np.zeros(40), np.full(40, 2000.0)])
    found = intervals.residuals(data, origins, np.broadcast_to(said, (58, 80)), 1, said)
    below, above = intervals.Residuals.of(np.array([1]), [found]).margins(1, 0.9)
    assert np.median(above[0, 40:]) < 3 * 30.0
    inside = (data.values[60:, 40:] >= 2000.0 + below[0, 40:]) & (data.values[60:, 40:] <= 2000.0 + above[0, 40:])
    assert inside.mean() > 0.85


def test_margins_keep_to_their_bounds() -> None:
    quantiles = np.linspace(-9.0, 9.0, len(intervals.LEVELS))[None, None]
    sizes, most = np.array([[1.0, 100.0]]), np.array([[np.inf, 50.0]])
    found = intervals.Residuals(np.array([1]), quantiles, sizes, np.array([1000]), np.zeros((1, 2)), most)
    low, high = found.margins(1, 0.9)
    assert high[0, 0] == pytest.approx(8.1, rel=0.01)
    assert (low[0, 1], high[0, 1]) == (-50.0, 50.0)


def weekly(nodes: int = 12) -> np.ndarray:
    rng = np.random.default_rng(3)
    level = 40 * np.exp(np.cumsum(0.05 * rng.normal(size=90))) * np.array([1, 1, 1, 1, 1, 0.6, 0.5])[np.arange(90) % 7]
    return rng.poisson(level[:, None] * rng.lognormal(size=nodes)).astype(float)


def ends(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    graph = ndcn.Graph.from_edges([(i, i + 1) for i in range(x.shape[1] - 1)])
    data = ndcn.Trajectory(times=np.arange(90.0), states=x, graph=graph, mask=np.isfinite(x)[..., None])
    found, times = forecast.auto(data, horizon=7, progress=False), np.arange(90.0, 97.0)
    low, high = (end.states[..., 0].numpy() for end in found.intervals(times))
    return found.predict(times).states[..., 0].numpy(), low, high


@pytest.mark.parametrize("nodes", [3, 12])
def test_a_node_in_another_unit_leaves_the_intervals_of_others(nodes: int) -> None:
    x = weekly()[:, :nodes]
    _, low, high = ends(x)
    x[50:, 1] *= 1000.0
    _, below, above = ends(x)
    others = np.arange(nodes) != 1
    assert ((above - below) / np.maximum(high - low, 1.0))[:, others].max() < 2.0


def test_a_constant_node_stays_constant() -> None:
    x = weekly()
    x[:, 4] = 7.0
    said, low, high = ends(x)
    assert (said[:, 4] == 7.0).all()
    assert (low[:, 4] == 7.0).all()
    assert (high[:, 4] == 7.0).all()


def test_a_node_that_stopped_reporting_has_a_wider_interval() -> None:
    x = weekly()
    _, low, high = ends(x)
    for node in (0, 3):
        gone = x.copy()
        gone[-30:, node] = np.nan
        _, below, above = ends(gone)
        assert ((above - below)[:, node] >= (high - low)[:, node]).mean() > 0.7
        assert (above - below)[-1, node] > 1.2 * (high - low)[-1, node]


def test_a_large_node_has_no_interval_of_small_ones_that_grew_a_hundredfold() -> None:
    """Few origins, most nodes small and exploding, and one that is a thousand times larger and rises by a tenth in two weeks."""
    rng = np.random.default_rng(3)
    growth = np.cumsum(rng.gamma(2.0, 0.07, size=(40, 60)), axis=0)
    totals = np.floor(np.exp(growth + rng.normal(0, 0.5, 60)))
    totals[:, 0] = 1e6 * (1 + 0.007 * np.arange(40))
    data = ndcn.Trajectory(times=np.arange(40.0), states=totals, graph=ndcn.networks.random(60, seed=0))
    found = forecast.auto(data, horizon=14, progress=False)
    low, high = (end.states[-1, :, 0].numpy() for end in found.intervals([53.0]))
    assert high[0] < 2.5e6
    assert low[0] >= totals[-1, 0]
    assert (high[1:] > 3 * totals[-1, 1:]).mean() > 0.5  # those that explode may go on
