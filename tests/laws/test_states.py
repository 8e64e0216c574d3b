"""The initial state of the paper."""

from __future__ import annotations

import pytest
import torch

from ndcn import laws, networks


def test_three_blocks_on_the_square_of_400() -> None:
    square = torch.zeros(20, 20)
    square[1:5, 1:5] = 25
    square[9:15, 9:15] = 20
    square[1:5, 7:13] = 17
    assert torch.equal(laws.initial_state(networks.grid(400)), square.reshape(400, 1))


@pytest.mark.parametrize("n", [1, 2, 7, 50, 390])
def test_an_initial_state_for_any_number_of_nodes(n: int) -> None:
    x0 = laws.initial_state(networks.grid(n), dtype=torch.float64)
    assert x0.shape == (n, 1)
    assert x0.dtype == torch.float64
    assert set(x0.flatten().tolist()) <= {0, 17, 20, 25}
