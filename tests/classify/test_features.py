"""Features at one scale, whatever their size."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from ndcn.classify.features import FeatureTable


@pytest.mark.parametrize("normalize", [True, "euclidean", "columns"])
def test_the_size_of_features_does_not_matter(normalize: bool | str) -> None:
    matrix = sparse.random_array((20, 5), density=0.5, rng=0, format="csr")
    expected = FeatureTable(matrix, normalize=normalize, dtype=torch.float64).matrix.toarray()
    for size in (1e-310, 1e-200, 1e200):
        found = FeatureTable(matrix * size, normalize=normalize, dtype=torch.float64).matrix.toarray()
        np.testing.assert_allclose(found, expected, rtol=1e-10 if size > 1e-300 else 1e-2)
