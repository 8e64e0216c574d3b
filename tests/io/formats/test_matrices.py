"""Matrix Market: what scipy writes is read back, in all its kinds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import io, sparse

from ndcn.io.formats.matrices import read_matrix_market

GENERAL = np.array([[0.0, 1.5, 0], [0, 0, -2], [3, 0, 0]])
SYMMETRIC = GENERAL + GENERAL.T
SKEW = GENERAL - GENERAL.T


@pytest.mark.parametrize("matrix", [GENERAL, SYMMETRIC, SKEW], ids=["general", "symmetric", "skew"])
@pytest.mark.parametrize("dense", [False, True])
def test_what_scipy_writes(matrix: np.ndarray, dense: bool, tmp_path: Path) -> None:
    io.mmwrite(tmp_path / "m.mtx", matrix if dense else sparse.coo_array(matrix))
    np.testing.assert_allclose(read_matrix_market(tmp_path / "m.mtx").toarray(), matrix)


def test_patterns_and_whole_numbers(tmp_path: Path) -> None:
    ones = (GENERAL != 0).astype(int)
    io.mmwrite(tmp_path / "m.mtx", sparse.coo_array(ones))
    np.testing.assert_array_equal(read_matrix_market(tmp_path / "m.mtx").toarray(), ones)
    io.mmwrite(tmp_path / "m.mtx", sparse.coo_array(ones), field="pattern", comment="a comment")
    np.testing.assert_array_equal(read_matrix_market(tmp_path / "m.mtx").toarray(), ones)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1"),
        ("%%MatrixMarket matrix coordinate complex general\n", "is not read"),
        ("%%MatrixMarket matrix coordinate real general\n% nothing\n", "expected rows"),
        ("%%MatrixMarket matrix array real general\n99999999 99999999\n", "too large"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2\n", "3 numbers"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 x\n", "not finite numbers"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n1 2 3 4\n", "line"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n", "1 entries were announced, 0 are there"),
        ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", "4 entries were announced"),
    ],
)
def test_damaged(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "m.mtx").write_text(text)
    with pytest.raises(ValueError, match=f"m.mtx.*{message}"):
        read_matrix_market(tmp_path / "m.mtx")
