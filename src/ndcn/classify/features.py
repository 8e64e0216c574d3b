"""FeatureTable: features of nodes, kept sparse, and their product with weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch.nn.functional import embedding_bag


class FeatureTable:
    """F W for a sparse F (n, d) and learned W (d, h), with a gradient for W and with entries of F dropped at random.

    Args:
        matrix: F, scipy.sparse.
        normalize: divide each row by the sum of its absolute values; rows of zeros stay.
        dtype, device: where and in which precision to compute.

    Example:
        >>> import scipy.sparse, torch
        >>> table = FeatureTable(scipy.sparse.csr_array([[3.0, 1.0], [0.0, 0.0]]))
        >>> table.times(torch.eye(2))
        tensor([[0.7500, 0.2500],
                [0.0000, 0.0000]])
    """

    def __init__(
        self,
        matrix: sparse.sparray,
        *,
        normalize: bool = True,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        csr = sparse.csr_array(matrix, dtype=np.float64)
        if normalize:
            total = np.asarray(abs(csr).sum(axis=1))
            csr = sparse.diags_array(np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)) @ csr
        csr.sort_indices()
        self.shape: tuple[int, int] = csr.shape
        order = sparse.csr_array((np.arange(1, csr.nnz + 1), csr.indices, csr.indptr), shape=csr.shape).T.tocsr()
        order.sort_indices()

        def index(array: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(array.astype(np.int64)).to(device)

        self.values = torch.from_numpy(csr.data).to(device, dtype)
        self.rows = (index(csr.indices), index(csr.indptr))
        self.columns = (index(order.indices), index(order.indptr))
        self.by_column = index(order.data - 1)  # position in ``values`` of each entry, column by column

    def times(
        self, weight: torch.Tensor, dropout: float = 0.0, generator: torch.Generator | None = None
    ) -> torch.Tensor:
        """F W, shape (n, h); with dropout p each entry of F is dropped with probability p and else divided by 1 - p."""
        values = self.values
        if dropout > 0:
            kept = torch.rand(values.shape, generator=generator, dtype=values.dtype, device=values.device) >= dropout
            values = values * kept / (1 - dropout)
        return _Product.apply(weight, self, values)


def _gather(rows: tuple[torch.Tensor, torch.Tensor], table: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Row i of the result: the sum of ``values[e] * table[column of e]`` over the entries e of row i."""
    columns, offsets = rows
    return embedding_bag(columns, table, offsets, mode="sum", per_sample_weights=values, include_last_offset=True)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: torch.Tensor, table: FeatureTable, values: torch.Tensor) -> torch.Tensor:
        ctx.table, ctx.values = table, values
        return _gather(table.rows, weight, values)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        table: FeatureTable = ctx.table
        return _gather(table.columns, grads[0].contiguous(), ctx.values[table.by_column]), None, None
