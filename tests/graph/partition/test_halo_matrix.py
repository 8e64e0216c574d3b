"""The product of one part, whose columns are exchanged a few at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ndcn
from ndcn._support.world import World
from ndcn.graph.partition.halo import AT_ONCE, Halo, columns_at_once
from ndcn.graph.partition.halo_matrix import HaloMatrix


@pytest.mark.parametrize("width", [1, AT_ONCE, AT_ONCE + 1, 20, 61])
def test_every_column_is_exchanged_once(width: int) -> None:
    pieces = columns_at_once(width)
    assert np.concatenate([np.arange(width)[piece] for piece in pieces]).tolist() == list(range(width))
    assert max(piece.stop - piece.start for piece in pieces) <= AT_ONCE


def test_buffers_hold_few_columns_of_wide_states() -> None:
    graph = ndcn.networks.power_law(60, seed=0)
    (part,) = graph.partition(1).some(range(1))
    halo = Halo(part, World(0, 1))
    matrix = HaloMatrix(part.rows, halo, part.inner)
    x = torch.randn(60, 23, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    A = torch.from_numpy(part.rows.toarray())
    torch.testing.assert_close(matrix.multiply(x, torch.empty_like(x)), A @ x)
    torch.testing.assert_close(matrix.multiply_transposed(x, torch.empty_like(x)), A.T @ x)
    assert all(buffer.numel() <= AT_ONCE * max(halo.size, len(part.send)) for buffer in halo._buffers.values())
