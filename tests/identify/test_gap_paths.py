"""Paths through gaps."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.interpolate import PchipInterpolator

from ndcn.identify.gap_paths import interpolated


def test_interpolation_goes_through_what_was_seen() -> None:
    times, at = np.arange(5.0), np.array([-1.0, 0.5, 2.0, 9.0])
    values = np.stack([times**2, times, times, times], 1)
    seen = np.ones((5, 4), dtype=bool)
    seen[1:, 1] = False
    seen[:, 2] = False
    seen[[0, 4], 3] = False
    found = interpolated(times, values, seen, at)
    assert found[[0, 2, 3], 0].tolist() == pytest.approx([0.0, 4.0, 16.0])
    assert found[:, 1].tolist() == [0.0] * 4
    assert np.isnan(found[:, 2]).all()
    assert found[:, 3].tolist() == [1.0, 1.0, 2.0, 3.0]
    lines = interpolated(times, values, seen, at, straight=True)
    assert lines[:, 0].tolist() == [0.0, 0.5, 4.0, 16.0]
    assert lines[:, 1].tolist() == [0.0] * 4
    assert np.isnan(lines[:, 2]).all()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), snapshots=st.integers(1, 30), share=st.floats(0.05, 1.0))
def test_cubics_and_lines_are_those_of_one_series_alone(seed: int, snapshots: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(size=snapshots) + 1e-3)
    values = rng.normal(size=(snapshots, 12)).cumsum(0).round(1)  # equal neighbours and turns occur
    seen = rng.random((snapshots, 12)) < share
    at = np.concatenate([times, rng.uniform(times[0] - 1, times[-1] + 1, 20)])
    cubics = interpolated(times, values, seen, at)
    lines = interpolated(times, values, seen, at, straight=True)
    for k in range(12):
        t, x = times[seen[:, k]], values[seen[:, k], k]
        if len(t) == 0:
            assert np.isnan(cubics[:, k]).all()
            assert np.isnan(lines[:, k]).all()
            continue
        alone = PchipInterpolator(t, x)(np.clip(at, t[0], t[-1])) if len(t) > 1 else np.full(len(at), x[0])
        np.testing.assert_allclose(cubics[:, k], alone, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(lines[:, k], np.interp(at, t, x), rtol=1e-10, atol=1e-10)
