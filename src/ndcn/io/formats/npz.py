"""npz (.npz): an adjacency matrix as ``scipy.sparse.save_npz`` writes it."""

from __future__ import annotations

import zipfile
from pathlib import Path

from scipy import sparse

from ..edge_list import EdgeList
from ..graph_objects import from_matrix
from ..parse_errors import one_line


def read(path: Path) -> EdgeList:
    """The edges of a sparse matrix; entry [i, j] is the weight of j acting on i.

    Raises:
        ValueError: it is not such a file, or the matrix is not square, real and finite.
    """
    try:
        matrix = sparse.load_npz(path)
    except (ValueError, KeyError, OSError, zipfile.BadZipFile, EOFError) as error:
        raise ValueError(
            f"{path.name} is no matrix that scipy.sparse.save_npz wrote ({one_line(error, 80)}); write it with that"
        ) from None
    return from_matrix(matrix, path.name)
