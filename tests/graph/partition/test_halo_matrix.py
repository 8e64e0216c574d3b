"""The product of one part, whose columns are exchanged a few at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ndcn
from ndcn._support.world import World
from ndcn.graph.partition.halo import AT_ONCE, WORTH_PIECES, Halo, column_pieces

PART = ndcn.networks.power_law(60, seed=0).partition(2).some(range(1))[0]


@pytest.mark.parametrize("width", [1, AT_ONCE, AT_ONCE + 1, 20, 61])
def test_every_column_is_exchanged_once(width: int) -> None:
    pieces = column_pieces(width, WORTH_PIECES)
    assert np.concatenate([np.arange(width)[piece] for piece in pieces]).tolist() == list(range(width))
    assert max(piece.stop - piece.start for piece in pieces) <= AT_ONCE or width == 1


def test_small_networks_exchange_all_columns_at_once() -> None:
    assert column_pieces(20, 400) == [slice(0, 20)]


def test_room_for_the_halo_is_used_again_for_the_next_columns() -> None:
    halo, x = Halo(PART, World(0, 2)), torch.zeros(len(PART.own), 23)
    rooms = [halo.room(x[:, piece]) for piece in column_pieces(23, WORTH_PIECES)]
    assert len(PART.halo) > 0
    assert {room.shape[1] for room in rooms} == {3, 4}
    assert len({room.data_ptr() for room in rooms[1:]}) == 1
    assert sum(buffer.numel() for buffer in halo._buffers.values()) == AT_ONCE * len(PART.halo)
