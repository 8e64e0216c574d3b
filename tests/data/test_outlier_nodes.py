"""Nodes that are no example for others."""

from __future__ import annotations

import numpy as np

from ndcn.data.outliers import cleaned


def test_a_shift_is_no_other_unit() -> None:
    x = (
        np.random.default_rng(0)
        .poisson(np.where(np.arange(90) % 7 < 5, 40.0, 20.0)[:, None], size=(90, 14))
        .astype(float)
    )
    x[60:, 5] += 400.0
    found = cleaned(x, positive=True, cumulative=False).found
    assert [(one.node, one.kind, one.first, one.last) for one in found] == [(5, "shift", 60, 60)]
    x[:, 5] = 100.0 * x[:, 4] + 7.0
    assert [one.kind for one in cleaned(x, positive=True, cumulative=False).found] == ["giant"]
