"""FeatureTable: features of nodes, kept sparse, and their product with weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from scipy import sparse

FEW_COLUMNS = 100  # tables of words have hundreds (Pubmed 500)


def has_few_columns(features: sparse.csr_array) -> bool:
    """Whether nodes are described by a few columns, and not each by one of its own.

    Example:
        >>> has_few_columns(sparse.csr_array(np.ones((9, 4)))), has_few_columns(sparse.csr_array(np.eye(9)))
        (True, False)
    """
    n, d = features.shape
    return d <= FEW_COLUMNS and features.nnz > n


def says_nothing(features: sparse.csr_array) -> bool:
    """Whether all nodes have the same features.

    Example:
        >>> says_nothing(sparse.csr_array(np.ones((3, 2)))), says_nothing(sparse.csr_array(np.eye(3)))
        (True, False)
    """
    n, d = features.shape
    filled = np.bincount(features.indices[features.data != 0], minlength=d)
    if not np.isin(filled, (0, n)).all():
        return False
    first = features[[0]].toarray()
    return bool((features.data == first[0, features.indices]).all())


class FeatureTable:
    """F W for a sparse F (n, d) and learned W (d, h), with a gradient for W and with entries of F dropped at random.

    Args:
        matrix: F, scipy.sparse.
        normalize: True divides each row by the sum of its absolute values, "euclidean" by the root of the sum of its squares;
            "columns" divides each column by its largest absolute value. Zeros stay.
        like: the matrix whose columns say how large they get, if not this one.
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
        normalize: bool | str = True,
        like: sparse.sparray | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        csr = sparse.csr_array(matrix, dtype=np.float64)
        if not csr.nnz:
            normalize = False
        if normalize == "columns":
            largest = abs(csr if like is None else sparse.csc_array(like, dtype=np.float64)).max(axis=0).toarray()
            csr = _divided(csr, largest.ravel()[csr.indices])
        elif normalize:
            rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
            csr = _divided(
                csr, abs(csr).max(axis=1).toarray().ravel()[rows]
            )  # squares of what is left neither overflow nor vanish
            total = np.asarray(abs(csr).sum(axis=1) if normalize is True else np.sqrt(csr.power(2).sum(axis=1)))
            csr = _divided(csr, total[rows])
        csr.sort_indices()
        self.shape: tuple[int, int] = csr.shape
        self.device = torch.device(device)
        self.values = torch.from_numpy(csr.data).to(dtype)
        self.matrix = sparse.csr_array((self.values.numpy(), csr.indices, csr.indptr), shape=csr.shape)
        self.rows = tuple(torch.from_numpy(part.astype(np.int64)) for part in (csr.indices, csr.indptr))

    def times(
        self,
        weight: torch.Tensor,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
        rows: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """F W, shape (n, h), or its given rows, shape (r, h).

        With dropout p each entry of F is dropped with probability p and else divided by 1 - p. Only what is kept is
        multiplied.
        """
        matrix = self.matrix if rows is None else self.matrix[rows.cpu().numpy()]
        if dropout > 0:
            kept = kept_entries((matrix.nnz,), dropout, generator, self.device).cpu().numpy()
            begins = np.concatenate([[0], np.cumsum(kept, dtype=matrix.indptr.dtype)])[matrix.indptr]
            matrix = sparse.csr_array(
                (matrix.data[kept] / (1 - dropout), matrix.indices[kept], begins), shape=matrix.shape
            )
        product: torch.Tensor = _Product.apply(weight, matrix)
        return product


def kept_entries(
    shape: tuple[int, ...], dropout: float, generator: torch.Generator | None, device: torch.device
) -> torch.Tensor:
    """Which entries stay if each is dropped with a probability, shape ``shape``, bool.

    Four are drawn at a time, 16 bits each, so that the probability is exact to 1e-5: several times faster than a number for each.

    Example:
        >>> import torch
        >>> stay = kept_entries((4, 1000), 0.25, torch.Generator().manual_seed(0), torch.device("cpu"))
        >>> stay.shape, bool(0.7 < stay.float().mean() < 0.8)
        (torch.Size([4, 1000]), True)
    """
    count = math.prod(shape)
    words = torch.empty((count + 3) // 4, dtype=torch.int64, device=device).random_(-(2**63), None, generator=generator)
    return (words.view(torch.int16)[:count] >= round(dropout * 2**16) - 2**15).view(shape)


def _divided(csr: sparse.csr_array, sizes: np.ndarray) -> sparse.csr_array:
    """Each entry divided by a size; 0 where the size is 0."""
    data = np.divide(csr.data, sizes, out=np.zeros_like(csr.data), where=sizes > 0)
    return sparse.csr_array((data, csr.indices, csr.indptr), shape=csr.shape)


class _Product(torch.autograd.Function):
    """M W and M^T G for a sparse M of scipy: on CPUs several times faster than torch's own, which need M^T as a copy."""

    @staticmethod
    def forward(ctx: Any, weight: torch.Tensor, matrix: sparse.csr_array) -> torch.Tensor:
        ctx.matrix = matrix
        return _multiplied(matrix, weight)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        return _multiplied(ctx.matrix.T, grads[0]), None


def _multiplied(matrix: sparse.sparray, dense: torch.Tensor) -> torch.Tensor:
    if dense.device.type == "cpu":
        return torch.from_numpy(matrix @ dense.detach().numpy())
    csr = matrix.tocsr()
    indptr, indices, values = (torch.from_numpy(part).to(dense.device) for part in (csr.indptr, csr.indices, csr.data))
    return torch.sparse_csr_tensor(indptr, indices, values, size=csr.shape) @ dense
