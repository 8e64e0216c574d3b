"""Regular and irregular times, and how snapshots are shared out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import assume, given, strategies as st

from ndcn import Trajectory, sampling, split
from problems import GRAPHS, trajectory


def test_regular_times() -> None:
    times = sampling.regular_times(5.0)
    assert times.dtype == torch.float64
    torch.testing.assert_close(times, torch.arange(100, dtype=torch.float64) * 5 / 99)


def test_irregular_times_are_120_of_1000_ticks() -> None:
    times = sampling.irregular_times(5.0, seed=0)
    ticks = torch.linspace(0, 5, 1000, dtype=torch.float64)
    assert times.shape == (120,)
    assert times.dtype == torch.float64
    assert times[0] == 0
    assert (times.diff() > 0).all()
    assert torch.isin(times, ticks).all()


@given(st.integers(2, 50), st.integers(0, 50), st.integers(0, 2**32))
def test_irregular_times_of_any_count(count: int, more: int, seed: int) -> None:
    times = sampling.irregular_times(2.0, count, ticks=count + more, seed=seed)
    assert len(times) == count
    assert times[0] == 0
    assert (times.diff() > 0).all()
    assert times[-1] <= 2


def test_same_seed_same_times_other_seed_other_times() -> None:
    one, two, three = (sampling.irregular_times(5.0, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(one, two)
    assert not torch.equal(one, three)


@pytest.mark.parametrize("make", [sampling.regular_times, sampling.irregular_times])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"T": 0.0}, "T must be positive and finite, got 0.0"),
        ({"T": -1.0}, "T must be positive and finite"),
        ({"T": float("nan")}, "T must be positive and finite"),
        ({"T": float("inf")}, "T must be positive and finite"),
        ({"T": 1.0, "count": 1}, "at least 2 times are needed, got count = 1"),
    ],
)
def test_bad_times(make, arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**arguments)


def test_more_times_than_ticks() -> None:
    with pytest.raises(ValueError, match="cannot draw 11 different times from 10 ticks; use ticks=110"):
        sampling.irregular_times(1.0, 11, ticks=10)


# Splitting ----------------------------------------------------------------------------------------------------------


def _times(part: Trajectory | None) -> list[float]:
    return [] if part is None else part.times.tolist()


def test_the_counts_of_the_paper() -> None:
    irregular = split(trajectory(GRAPHS["path"], T=120), seed=0)
    assert [len(part) for part in irregular] == [80, 20, 20]
    regular = split(trajectory(GRAPHS["path"], T=100), interpolation=0, extrapolation=0.2)
    assert len(regular.train) == 80
    assert regular.interpolation is None
    assert len(regular.extrapolation) == 20


@given(st.integers(2, 60), st.floats(0, 0.99), st.floats(0, 0.99), st.integers(0, 2**32))
def test_a_split_is_a_partition_that_trains_on_the_first(T: int, inside: float, after: float, seed: int) -> None:
    assume(T - round(inside * T) - round(after * T) >= 2)
    data = trajectory(GRAPHS["path"], T=T)
    parts = split(data, interpolation=inside, extrapolation=after, seed=seed)
    train, interpolation, extrapolation = (_times(part) for part in parts)
    assert sorted(train + interpolation + extrapolation) == data.times.tolist()
    assert train[0] == data.times[0]
    assert len(interpolation) == round(inside * T)
    assert len(extrapolation) == round(after * T)
    assert not extrapolation or min(extrapolation) > max(train + interpolation)
    for part in parts:
        if part is not None:
            where = torch.isin(data.times, part.times)
            assert torch.equal(part.states, data.states[where])


def test_same_seed_same_split_other_seed_other_split() -> None:
    data = trajectory(GRAPHS["path"], T=60)
    one, two, three = (_times(split(data, seed=seed).interpolation) for seed in (1, 1, 2))
    assert one == two
    assert one != three


def test_missing_entries_stay_missing() -> None:
    data = trajectory(GRAPHS["path"], T=30, missing=True)
    parts = split(data, seed=0)
    assert sum(int(part.mask.sum()) for part in parts) == int(data.mask.sum())


@pytest.mark.parametrize("name", ["interpolation", "extrapolation"])
@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_bad_shares(name: str, share: float) -> None:
    with pytest.raises(ValueError, match=rf"{name} is a share of the snapshots in \[0, 1\), got"):
        split(trajectory(GRAPHS["path"]), **{name: share})


@pytest.mark.parametrize(("T", "left"), [(1, 0), (4, 0)])
def test_too_few_snapshots(T: int, left: int) -> None:
    with pytest.raises(ValueError, match=f"{T} snapshots leave {left} to train on .* take more snapshots"):
        split(trajectory(GRAPHS["path"], T=T), interpolation=0.4, extrapolation=0.6)


def test_global_generators_are_left_as_found() -> None:
    data = trajectory(GRAPHS["path"], T=30)
    before = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    sampling.irregular_times(5.0, seed=3)
    split(data, seed=3)
    assert before == (np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())  # noqa: NPY002


def test_snapshots_in_another_order_are_not_split() -> None:
    data = trajectory(GRAPHS["path"], T=12)
    mixed = Trajectory(times=data.times.flip(0), states=data.states.flip(0), graph=data.graph, ordered=False)
    with pytest.raises(ValueError, match="only snapshots in increasing order of time can be split"):
        split(mixed, seed=0)
    assert _times(split(mixed[mixed.times.argsort()], seed=0).train) == _times(split(data, seed=0).train)
    with pytest.raises(ValueError, match="increasing order"):
        split(data[[0, 0, *range(1, 12)]], seed=0)


def test_times_and_split_of_one_seed_are_independent() -> None:
    """Snapshots held back must not lie where times happen to be dense: mean gap around them against that around all."""
    around = []
    for seed in range(400):
        times = sampling.irregular_times(999.0, 120, seed=seed)
        data = Trajectory(times=times, states=torch.zeros(120, 1, 1), graph=GRAPHS["single"])
        held = split(data, seed=seed).interpolation
        assert held is not None
        k = torch.searchsorted(times, held.times)
        k = k[k < 98]
        around.append((times[k + 1] - times[k - 1]).mean() / (times[2:100] - times[:98]).mean())
    ratio = torch.stack(around)
    assert abs(ratio.mean() - 1) < 4 * ratio.std() / len(ratio) ** 0.5 + 0.005
