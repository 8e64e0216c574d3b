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
    quantiles, unit, count = intervals.residuals(
        data, origins, np.broadcast_to(x[:20].mean(axis=0), (68, 40)), 1, x[-1]
    )
    assert count == 68 * 40
    np.testing.assert_allclose(unit, intervals.sizes(data, np.array([89]), 1)[0] * np.sqrt(1 + 1 / 68))
    assert quantiles[380] * unit.mean() == pytest.approx(1.645, rel=0.25)


def test_few_origins_change_no_unit() -> None:
    x = waves()
    data, origins = panel(x), np.arange(60, 60 + intervals.ENOUGH - 1)
    _, unit, _ = intervals.residuals(data, origins, x[origins], 7, x[-1])
    doubt = 1 + 7 / len(origins)  # two forecasts that do not overlap
    np.testing.assert_allclose(unit, intervals.sizes(data, np.array([89]), 7)[0] * np.sqrt(doubt))
