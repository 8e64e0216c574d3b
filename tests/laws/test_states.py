"""States to start from."""

from __future__ import annotations

import numpy as np
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


def test_a_law_of_ones_own_starts_from_the_blocks() -> None:
    class Two(laws.Law):
        features = ("a", "b")

    graph = networks.grid(50)
    blocks = laws.initial_state(graph)
    assert torch.equal(laws.Law().initial_state(graph), blocks)
    assert torch.equal(laws.Gene().initial_state(graph, seed=3), blocks)
    assert torch.equal(Two().initial_state(graph), torch.cat([blocks, blocks], dim=1))


def test_random_states_leave_the_global_generators_alone() -> None:
    before = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002 - it is this one that matters
    laws.SIR().initial_state(networks.grid(9))
    assert torch.equal(torch.random.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002 - as above
