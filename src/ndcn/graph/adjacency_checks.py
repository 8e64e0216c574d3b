"""What an adjacency matrix must be, and what else a graph may come from."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def is_networkx(value: object) -> bool:
    """Whether it is an object of networkx, which need not be imported for that."""
    return type(value).__module__.partition(".")[0] == "networkx"


def check_real(dtype: np.dtype[Any]) -> None:
    """Refuse complex weights."""
    if dtype.kind == "c":
        raise ValueError(f"edge weights must be real numbers, got {dtype}; use abs(A) or A.real")


def is_symmetric(csr: sparse.csr_array) -> bool:
    """Whether A = A^T exactly; indices are sorted."""
    other = csr.T.tocsr()
    other.sort_indices()
    return all(np.array_equal(getattr(csr, part), getattr(other, part)) for part in ("indptr", "indices", "data"))
