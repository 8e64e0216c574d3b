"""The square layout."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ndcn
from ndcn.plot import square
from pictures import pair


def test_nodes_lie_row_by_row_and_missing_cells_are_blank():
    cells = square.squares(torch.arange(7.0).reshape(1, 7))
    assert cells.shape == (1, 3, 3)
    assert cells[0, 1, 2] == 5
    assert np.isnan(cells[0, 2, 1:]).all()


@pytest.mark.parametrize(("n", "side"), [(1, 1), (4, 2), (5, 3), (9, 3), (10, 4)])
def test_side_is_the_ceiling_of_the_root(n, side):
    assert square.squares(torch.zeros(2, n)).shape == (2, side, side)


def test_the_nearest_snapshots_are_chosen_once_and_in_order():
    times = torch.tensor([2.0, 0.0, 1.0])
    assert square.closest(times, 0.9) == 2
    assert square.nearest(times, np.array([5.0, -1.0, 0.1])) == [1, 0]
    with pytest.raises(ValueError, match="finite"):
        square.closest(times, float("nan"))


def test_times_are_compared_relative_to_their_span():
    truth, _ = pair(T=3)
    for start, step, shift, same in ((1.7e9, 1.0, 1.0, False), (0.0, 1e-8, 1e-8, False), (1.7e9, 1.0, 0.0, True)):
        real, guess = (
            ndcn.Trajectory(
                times=start + at + step * torch.arange(3.0).double(), states=truth.states, graph=truth.graph
            )
            for at in (0.0, shift)
        )
        if same:
            assert square.checked_pair(real, guess, 0) == 0
        else:
            with pytest.raises(ValueError, match=r"LSTM is .* same times"):
                square.checked_pair(real, guess, 0, "LSTM")
