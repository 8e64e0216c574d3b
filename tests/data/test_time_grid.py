"""Equal time steps: which times are on them, and what is said of those that are not."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, strategies as st

from ndcn.data.time_grid import TimeGrid, common_grid


@given(
    start=st.floats(0, 1e6), step=st.floats(1e-3, 1e3), index=st.lists(st.integers(0, 10_000), min_size=1, max_size=5)
)
def test_times_on_the_grid_are_found(start: float, step: float, index: list[int]) -> None:
    times = start + step * torch.tensor(index, dtype=torch.float64)
    assert TimeGrid(start, step).index(times).tolist() == index


def test_times_that_were_float32_once_are_on_the_grid() -> None:
    times = torch.linspace(0, 5, 100).double()
    assert common_grid([times], "lstm_gnn").step == pytest.approx(5 / 99)
    assert TimeGrid(0.0, 5 / 99).index(times).tolist() == list(range(100))


@given(k=st.integers(0, 50), share=st.floats(0.01, 0.99))
def test_times_between_are_refused(k: int, share: float) -> None:
    with pytest.raises(ValueError, match="is between two steps"):
        TimeGrid(2.0, 0.1).index(torch.tensor([2.0, 2.0 + 0.1 * (k + share)], dtype=torch.float64))


def test_the_nearest_times_are_named() -> None:
    with pytest.raises(ValueError, match=r"t = 1\.6 is between two steps: .* 1 \+ k \* 0\.25; ask for 1\.5 or 1\.75"):
        TimeGrid(1.0, 0.25).index(torch.tensor([1.0, 1.6], dtype=torch.float64))
    with pytest.raises(ValueError, match="before the start at 1"):
        TimeGrid(1.0, 0.25).index(torch.tensor([0.5]))


def test_one_grid_for_several_times() -> None:
    first, later = torch.arange(5.0).double() * 0.5, 3 + torch.arange(8.0).double() * 0.5
    assert common_grid([first, later], "residual_gnn") == TimeGrid(0.0, 0.5)
    for wrong in ([first, 2 * later], [torch.tensor([0.0, 1.0, 1.5])], [torch.tensor([0.0, 1.0, 3.0, 4.0])]):
        with pytest.raises(ValueError, match=r"residual_gnn learns steps of equal length, but the gaps .* resample"):
            common_grid([t.double() for t in wrong], "residual_gnn")
