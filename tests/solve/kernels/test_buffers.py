"""Buffers are used again, and large ones ask for huge pages."""

from __future__ import annotations

import pytest
import torch

from ndcn.solve.kernels import buffers

LIKE = torch.zeros(1)


@pytest.fixture(autouse=True)
def no_spare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "_spare", [])


def test_a_buffer_that_was_given_back_is_taken_again_in_a_new_version() -> None:
    first = buffers.take(3, 4, like=LIKE)
    version = first._version
    buffers.give(first)
    assert buffers.take(3, 4, like=LIKE.double()) is not first
    assert buffers.take(4, 3, like=LIKE) is not first
    again = buffers.take(3, 4, like=LIKE)
    assert again is first
    assert again._version > version
    assert buffers.take(3, 4, like=LIKE) is not first


def test_few_and_small_ones_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    buffers.give(*(torch.zeros(k + 1) for k in range(20)))
    assert [len(b) for b in buffers._spare] == list(range(13, 21))
    monkeypatch.setattr(buffers, "LIMIT", 8)
    buffers.give(torch.zeros(3))
    assert len(buffers._spare[-1]) == 20


@pytest.mark.parametrize("platform", ["linux", "win32"])
def test_large_ones_are_ordinary_tensors(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    monkeypatch.setattr(buffers.sys, "platform", platform)
    buffers._advise.cache_clear()
    try:
        large = buffers.empty(5, 2**20, like=LIKE)
        monkeypatch.setattr(buffers, "LIMIT", 2**20)
        advised = buffers.empty(5, 2**20, like=LIKE)
        advised.copy_(large.fill_(3.0))
        assert torch.equal(advised, large)
    finally:
        buffers._advise.cache_clear()
