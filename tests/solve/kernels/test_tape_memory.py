"""Memory of tapes that is used again."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import ndcn
from ndcn.solve import Steps, law_kernel_in_use, tapes_reuse_memory
from ndcn.solve.kernels import tape_memory
from ndcn.solve.kernels.tape_memory import LEAST, give_back, piece


def test_a_tape_leaves_its_memory_to_the_next_one_and_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    if law_kernel_in_use() != "compiled":
        pytest.skip("needs the compiled kernel")
    monkeypatch.setattr(tape_memory, "LEAST", 1)
    graph = ndcn.networks.grid(25)
    kernel = ndcn.laws.Gene().law_kernel(graph, 1)
    assert kernel is not None
    steps = Steps.of(np.array([0.1, 0.2]), [2, 3])
    v, weights = np.random.default_rng(0).standard_normal((25, 3)), np.ones((3, 25))

    def made(start: float) -> np.ndarray:
        tape = kernel.record(np.full((25, 1), start), steps)
        assert tape is not None
        return tape.gram(v, weights)

    fresh = [made(1.0), made(2.0)]
    with tapes_reuse_memory():
        again = [made(1.0), made(2.0)]
        gc.collect()
        assert len(tape_memory._holding.spare or ()) == 1
    assert tape_memory._holding.spare is None
    assert all(np.array_equal(one, other) for one, other in zip(fresh, again, strict=True))


def test_memory_that_is_too_small_or_far_too_large_is_not_taken() -> None:
    with tapes_reuse_memory():
        for size in (2 * LEAST, 64 * LEAST):
            memory, _ = piece((size,))
            give_back(memory)
            other, array = piece((8 * LEAST,))
            assert other is not memory
            assert array.shape == (8 * LEAST,)
