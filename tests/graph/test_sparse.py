"""The sparse product against the dense one, with first and second derivatives."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from ndcn import Graph
from ndcn.graph.sparse import SparseMatrix, row_pieces
from problems import SIGNED_GRAPHS

SHAPES = [(), (1,), (3,), (2, 3), (2, 2, 3)]  # axes before and after the nodes: (n,), (n, d), (..., n, d)


def _input(n: int, shape: tuple[int, ...], dtype: torch.dtype = torch.float64) -> torch.Tensor:
    size = (n,) if not shape else (*shape[:-1], n, shape[-1])
    return torch.randn(size, dtype=dtype, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_product(any_graph: Graph, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x = _input(any_graph.num_nodes, shape, dtype)
    y = any_graph.adjacency @ x
    assert y.dtype == dtype
    torch.testing.assert_close(y, any_graph.to_dense().to(dtype) @ x)


@pytest.mark.parametrize("shape", [(), (2,), (2, 1)])
@pytest.mark.parametrize("name", ["path", "directed", "signed", "edgeless"])
def test_first_and_second_derivatives(name: str, shape: tuple[int, ...]) -> None:
    a = SIGNED_GRAPHS[name].adjacency
    x = _input(a.shape[0], shape).requires_grad_()

    assert torch.autograd.gradcheck(lambda x: a @ x, x)
    assert torch.autograd.gradgradcheck(lambda x: (a @ x) ** 2 * x, x)


def test_a_rectangle_and_its_gradient() -> None:
    dense = torch.tensor([[1.0, 0, 2], [0, -3, 0]], dtype=torch.float64)
    matrix = SparseMatrix(sparse.csr_array(dense.numpy()))
    assert (matrix.shape, matrix.nnz, repr(matrix)) == ((2, 3), 3, "SparseMatrix(2 x 3, 3 entries)")
    for shape in SHAPES:
        x = _input(3, shape).requires_grad_()
        torch.testing.assert_close(matrix @ x, dense @ x)
        assert torch.autograd.gradcheck(lambda x: matrix @ x, x)
    torch.testing.assert_close(matrix.T.to_dense(), dense.T)


def test_the_transpose_is_made_once() -> None:
    matrix = SparseMatrix(sparse.csr_array(np.triu(np.ones((3, 3)))))
    assert matrix.T.T is matrix
    assert matrix.T is matrix.T
    symmetric = SparseMatrix(sparse.eye_array(3), symmetric=True)
    assert symmetric.T is symmetric


def test_torch_copies_are_made_once_per_dtype() -> None:
    matrix = SparseMatrix(sparse.eye_array(3))
    assert matrix.tensor(torch.float32) is matrix.tensor(torch.float32, "cpu")
    assert matrix.tensor(torch.float64).dtype == torch.float64


def test_arrays_are_those_of_scipy() -> None:
    graph = SIGNED_GRAPHS["directed"]
    matrix = graph.to_scipy()
    for array, expected in zip(
        graph.adjacency.arrays(torch.float64), (matrix.indptr, matrix.indices, matrix.data), strict=True
    ):
        assert array.tolist() == expected.tolist()


def test_no_gradient_is_recorded_without_need() -> None:
    matrix = SparseMatrix(sparse.eye_array(3))
    assert (matrix @ torch.ones(3)).grad_fn is None
    with torch.no_grad():
        assert (matrix @ torch.ones(3, requires_grad=True)).grad_fn is None


@pytest.mark.parametrize("shape", [(), (4,), (4, 1), (4, 3), (3, 4, 1)])
def test_shapes_that_do_not_fit_are_refused(shape: tuple[int, ...]) -> None:
    matrix = SparseMatrix(sparse.eye_array(3))
    with pytest.raises(ValueError, match="the operator has 3 columns, but x has shape"):
        matrix @ torch.ones(shape)


@pytest.mark.parametrize(
    ("x", "kind"), [(torch.ones(3, dtype=torch.long), "a tensor of torch.int64"), (np.ones(3), "ndarray")]
)
def test_other_types_are_refused(x: object, kind: str) -> None:
    with pytest.raises(TypeError, match=f"floating-point tensors, got {kind}"):
        SparseMatrix(sparse.eye_array(3)) @ x


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_transpose_alone_is_that_of_the_matrix(dtype: torch.dtype) -> None:
    made = lambda: SparseMatrix(sparse.random_array((30, 20), density=0.2, rng=np.random.default_rng(0)).tocsr())  # noqa: E731
    alone, whole = made(), made()
    torch.testing.assert_close(alone.transposed(dtype).to_dense(), whole.T.tensor(dtype).to_dense(), rtol=0.0, atol=0.0)
    assert alone.transposed(dtype) is alone.transposed(dtype)
    assert whole.transposed(dtype) is whole.T.tensor(dtype)  # where it is there, it is not made again


@pytest.mark.parametrize("pieces", [1, 3, 40])
def test_pieces_of_rows_share_the_memory_of_the_matrix(pieces: int) -> None:
    whole = SparseMatrix(sparse.random_array((30, 20), density=0.2, rng=np.random.default_rng(0)).tocsr())
    tensor = whole.tensor(torch.float32)
    parts = row_pieces(tensor, pieces)
    torch.testing.assert_close(torch.cat([part.to_dense() for _, part in parts]), tensor.to_dense())
    assert [row for rows, _ in parts for row in range(30)[rows]] == list(range(30))
    assert parts[0][1].values().untyped_storage().data_ptr() == tensor.values().untyped_storage().data_ptr()
