from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from ndcn._support.generators import drawing_from, initial_weights, seeded


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


@pytest.mark.parametrize(
    "draw",
    [
        lambda: torch.rand(4),
        lambda: torch.randn(4),
        lambda: torch.randint(2, 9, (4,)),
        lambda: torch.randperm(9),
        lambda: torch.rand_like(torch.ones(4)),
        lambda: torch.normal(0.0, 1.0, (4,)),
        lambda: torch.bernoulli(torch.full((9,), 0.5)),
        lambda: torch.multinomial(torch.ones(9), 4),
        lambda: torch.empty(4).uniform_(),
        lambda: torch.nn.Linear(3, 2).weight,
        lambda: torch.nn.functional.dropout(torch.ones(9, requires_grad=True)),
        lambda: torch.nn.init.orthogonal_(torch.empty(3, 3)),
    ],
)
def test_a_generator_that_is_handed_over_draws_what_the_global_one_would(draw: Callable[[], torch.Tensor]) -> None:
    with seeded(3):
        expected = [draw(), draw()]
    before = torch.random.get_rng_state()
    with initial_weights(3) as own:
        first = draw()
    with drawing_from([own]):
        second = draw()
    assert first.equal(expected[0])
    assert second.equal(expected[1])
    assert torch.random.get_rng_state().equal(before)


def test_other_devices_are_left_alone() -> None:
    with initial_weights(3), torch.device("meta"):
        assert torch.nn.Linear(3, 2).weight.is_meta
