"""M x where the rows of M and x lie in several processes: the exchange of boundary states runs while inner entries are multiplied."""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from scipy import sparse

from ..sparse import SparseMatrix, row_pieces, type_text
from .halo import Halo


class HaloMatrix:
    """The rows of a sparse matrix M of one part: ``M @ x`` takes and gives the states of the part's own nodes.

    All processes multiply at the same time. M x = M_own x + M_halo x_halo: while the states of the halo are on their way,
    M_own x is computed. Where buffers are large a few columns are exchanged at a time, and during each exchange some rows of M_own are multiplied with all
    columns. The gradient is the transpose: M_halo^T g is sent to where its nodes live while M_own^T g is computed.

    Args:
        rows: shape (own, own + halo); only rows from ``inner`` on have entries in the halo.
        halo: the exchange.
        inner: how many rows come before the first with an entry in the halo.
        symmetric: say so if the columns of its own nodes are known to be symmetric; their transpose is then shared.
    """

    def __init__(self, rows: sparse.csr_array, halo: Halo, inner: int, symmetric: bool = False) -> None:
        n = halo.own
        self.halo, self.inner, self.nnz = halo, inner, int(rows.nnz)
        self.own = SparseMatrix(rows[:, :n], symmetric=symmetric)
        self.other = SparseMatrix(rows[inner:, n:])
        self._pieces: dict[tuple[torch.dtype, torch.device, int, bool], list[tuple[slice, torch.Tensor]]] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """(own nodes, own nodes): as its user sees it."""
        return (self.halo.own, self.halo.own)

    @property
    def csr(self) -> NoReturn:
        """There is none: no process has all of it."""
        raise TypeError(
            "this matrix is one of several parts, and no process has the whole: multiply with it, or make an operator of your "
            "own by graph.operator_of(build)"
        )

    def multiply(self, x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """M x into ``out`` for x of shape (own, width), without gradients."""
        out.zero_()
        columns = self.halo.columns(x)
        for some, (rows, inside) in zip(columns, self._own(x, len(columns), transposed=False), strict=True):
            received, wait = self.halo.begin(x[:, some])
            _add(inside, x, out[rows])
            wait()
            if self.halo.size:
                _add(self.other.tensor(x.dtype, x.device), received, out[self.inner :, some])
        return out

    def multiply_transposed(self, g: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """M^T g into ``out``, without gradients."""
        out.zero_()
        columns = self.halo.columns(g)
        for some, (rows, inside) in zip(columns, self._own(g, len(columns), transposed=True), strict=True):
            away = self.halo.room(g[:, some])
            if self.halo.size:
                _add(self.other.transposed(g.dtype, g.device), g[self.inner :, some], away.zero_())
            received, wait = self.halo.begin_back(away)
            _add(inside, g, out[rows])
            wait()
            self.halo.add(out[:, some], received)
        return out

    def _own(self, like: torch.Tensor, pieces: int, *, transposed: bool) -> list[tuple[slice, torch.Tensor]]:
        """M_own or its transpose in pieces of rows, one to be multiplied during each exchange."""
        key = (like.dtype, like.device, pieces, transposed and not self.own.symmetric)
        if key not in self._pieces:
            whole = (self.own.transposed if transposed else self.own.tensor)(like.dtype, like.device)
            self._pieces[key] = row_pieces(whole, pieces)
        return self._pieces[key]

    def __matmul__(self, x: torch.Tensor) -> torch.Tensor:
        if not isinstance(x, torch.Tensor) or not x.is_floating_point():
            raise TypeError(f"a sparse operator multiplies floating-point tensors, got {type_text(x)}; use x.float()")
        axis = -1 if x.dim() == 1 else -2
        if x.dim() == 0 or x.shape[axis] != self.shape[1]:
            raise ValueError(f"this part has {self.shape[1]} nodes, but x has shape {tuple(x.shape)}")
        if x.dim() == 1:
            return self._product(x.unsqueeze(1)).squeeze(1)
        columns = x.movedim(-2, 0)
        return self._product(columns.flatten(1)).reshape(-1, *columns.shape[1:]).movedim(0, -2)

    def _product(self, x: torch.Tensor) -> torch.Tensor:
        if x.requires_grad and torch.is_grad_enabled():
            product: torch.Tensor = _Product.apply(x, self)
            return product
        return self.multiply(x.contiguous(), torch.empty_like(x, memory_format=torch.contiguous_format))

    def __repr__(self) -> str:
        return (
            f"HaloMatrix({self.shape[0]} rows of one part, {self.nnz} entries, {self.halo.size} nodes of other parts)"
        )


def _add(matrix: torch.Tensor, x: torch.Tensor, into: torch.Tensor) -> None:
    torch.addmm(into, matrix, x, out=into)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, matrix: HaloMatrix) -> torch.Tensor:
        ctx.matrix = matrix
        return matrix.multiply(x.contiguous(), torch.empty_like(x, memory_format=torch.contiguous_format))

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        return _TransposedProduct.apply(grads[0], ctx.matrix), None


class _TransposedProduct(torch.autograd.Function):
    """M^T g, whose own gradient is M: second derivatives go through."""

    @staticmethod
    def forward(ctx: Any, g: torch.Tensor, matrix: HaloMatrix) -> torch.Tensor:
        ctx.matrix = matrix
        return matrix.multiply_transposed(g.contiguous(), torch.empty_like(g, memory_format=torch.contiguous_format))

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        return _Product.apply(grads[0], ctx.matrix), None
