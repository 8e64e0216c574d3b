from __future__ import annotations

import pytest
import torch

from ndcn._support.generators import seeded


def test_draws_follow_the_seed_and_the_state_comes_back() -> None:
    before = torch.random.get_rng_state()
    drawn = []
    for _ in range(2):
        with seeded(3):
            drawn.append(torch.rand(4))
    with pytest.raises(RuntimeError), seeded(4):
        torch.rand(4).view(5)
    assert drawn[0].equal(drawn[1])
    assert drawn[0].equal(torch.rand(4, generator=torch.Generator().manual_seed(3)))
    assert torch.random.get_rng_state().equal(before)
