"""The one sparse product of the library: y = M x, with the transpose at hand for its gradient."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from scipy import sparse


class SparseMatrix:
    """A constant sparse matrix M that multiplies node states: (M x)[i] = sum_j M[i, j] x[j].

    The matrix is stored once in float64; the copies that torch multiplies with are made per dtype and device when they
    are first needed and kept. The gradient with respect to x is M^T g, computed with a stored transpose: torch's own
    backward of a CSR product is several times slower. Gradients with respect to the entries of M are not defined.

    Args:
        matrix: any scipy.sparse matrix, shape (m, n).
        symmetric: say so if M = M^T is known; the transpose is then shared.

    Attributes:
        csr: the matrix as scipy has it, float64; not to be changed.

    Shapes:
        ``M @ x`` takes x of shape (n,), (n, d) or (..., n, d) and returns (m,), (m, d) or (..., m, d).

    Example:
        >>> import ndcn, torch
        >>> path = ndcn.Graph.from_edges([(0, 1), (1, 2)])
        >>> ndcn.operators.laplacian(path) @ torch.tensor([[1.0], [0.0], [0.0]])
        tensor([[ 1.],
                [-1.],
                [ 0.]])
    """

    __slots__ = ("_tensors", "_transpose", "csr", "symmetric")

    def __init__(self, matrix: sparse.sparray, symmetric: bool = False) -> None:
        csr = matrix.tocsr()
        csr.sort_indices()
        index = np.int32 if max(csr.nnz, *csr.shape) < 2**31 else np.int64
        csr.indptr, csr.indices = csr.indptr.astype(index, copy=False), csr.indices.astype(index, copy=False)
        self.csr = csr
        self._tensors: dict[tuple[torch.dtype, torch.device, bool], torch.Tensor] = {}  # True: of the transpose
        self._transpose: SparseMatrix | None = self if symmetric else None
        self.symmetric = symmetric

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self.csr.shape

    @property
    def nnz(self) -> int:
        """How many entries are stored."""
        return int(self.csr.nnz)

    @property
    def T(self) -> SparseMatrix:
        """The transpose, made once and kept."""
        if self._transpose is None:
            self._transpose = SparseMatrix(self.csr.T)
            self._transpose._transpose = self
        return self._transpose

    def to_scipy(self) -> sparse.csr_array:
        """A copy as a scipy CSR array in float64."""
        return self.csr.copy()

    def to_dense(self) -> torch.Tensor:
        """A dense copy in float64; it holds rows x columns numbers, so only for small matrices."""
        return torch.from_numpy(self.csr.toarray())

    def tensor(self, dtype: torch.dtype, device: torch.device | str = "cpu") -> torch.Tensor:
        """The matrix as a torch CSR tensor of this dtype on this device (kept for the next call)."""
        key = (dtype, torch.device(device), False)
        if key not in self._tensors:
            self._tensors[key] = _tensor(self.csr, dtype, device)
        return self._tensors[key]

    def transposed(self, dtype: torch.dtype, device: torch.device | str = "cpu") -> torch.Tensor:
        """``T.tensor``, without the entries of the transpose in float64 where no one has asked for it."""
        if self._transpose is not None:
            return self._transpose.tensor(dtype, device)
        key = (dtype, torch.device(device), True)
        if key not in self._tensors:
            m = self.csr
            values = m.data.astype(np.float32) if dtype == torch.float32 else m.data
            self._tensors[key] = _tensor(type(m)((values, m.indices, m.indptr), shape=m.shape).T.tocsr(), dtype, device)
        return self._tensors[key]

    def arrays(self, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Row pointers, column indices and values of the CSR form, on the CPU."""
        csr = self.tensor(dtype)
        return csr.crow_indices(), csr.col_indices(), csr.values()

    def __matmul__(self, x: torch.Tensor) -> torch.Tensor:
        if not isinstance(x, torch.Tensor) or not x.is_floating_point():
            raise TypeError(f"a sparse operator multiplies floating-point tensors, got {type_text(x)}; use x.float()")
        axis = -1 if x.dim() == 1 else -2
        if x.dim() == 0 or x.shape[axis] != self.shape[1]:
            raise ValueError(f"the operator has {self.shape[1]} columns, but x has shape {tuple(x.shape)}")
        if x.requires_grad and torch.is_grad_enabled():
            product: torch.Tensor = _Product.apply(x, self)
            return product
        return self._multiply(x)

    def _multiply(self, x: torch.Tensor) -> torch.Tensor:
        matrix = self.tensor(x.dtype, x.device)
        if x.dim() == 2:
            return matrix @ x
        if x.dim() == 1:
            return (matrix @ x.unsqueeze(1)).squeeze(1)
        columns = x.movedim(-2, 0)
        return (matrix @ columns.flatten(1)).reshape(-1, *columns.shape[1:]).movedim(0, -2)

    def __repr__(self) -> str:
        return f"SparseMatrix({self.shape[0]} x {self.shape[1]}, {self.nnz} entries)"


def row_pieces(matrix: torch.Tensor, pieces: int) -> list[tuple[slice, torch.Tensor]]:
    """A CSR tensor in so many pieces of rows, which share its memory, and which rows they are."""
    crow, col, values = matrix.crow_indices(), matrix.col_indices(), matrix.values()
    n = matrix.shape[0]
    out = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse")
        for k in range(pieces):
            rows = slice(n * k // pieces, n * (k + 1) // pieces)
            entries = slice(int(crow[rows.start]), int(crow[rows.stop]))
            shape = (rows.stop - rows.start, matrix.shape[1])
            some = (crow[rows.start : rows.stop + 1] - entries.start, col[entries], values[entries])
            out.append((rows, torch.sparse_csr_tensor(*some, shape, check_invariants=False)))
    return out


def _tensor(m: sparse.csr_array, dtype: torch.dtype, device: torch.device | str) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse")
        return torch.sparse_csr_tensor(
            _shared(m.indptr), _shared(m.indices), _shared(m.data).to(dtype), m.shape, check_invariants=False
        ).to(device)


def _shared(array: np.ndarray) -> torch.Tensor:
    """A tensor in the same memory, which nobody changes; torch takes no arrays that are marked so."""
    return torch.from_numpy(array if array.flags.writeable else array.copy())


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, matrix: SparseMatrix) -> torch.Tensor:
        ctx.matrix = matrix
        return matrix._multiply(x)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        return ctx.matrix.T @ grads[0], None


def type_text(x: object) -> str:
    """What something is, for messages."""
    return f"a tensor of {x.dtype}" if isinstance(x, torch.Tensor) else type(x).__name__
