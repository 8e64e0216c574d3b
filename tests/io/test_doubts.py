"""What looks wrong, and what is done about it."""

from __future__ import annotations

import numpy as np

import ndcn
from ndcn.io.doubts import doubts


def test_only_what_is_held_out_counts_as_such() -> None:
    x = np.random.default_rng(0).poisson(40.0, size=(60, 14)).astype(float)
    x[30:, 3] += 900.0  # kept, but no example for others
    data = ndcn.Dataset((ndcn.Trajectory(times=np.arange(60.0), states=x, graph=ndcn.networks.small_world(14)),))
    (one,) = doubts(data)
    assert (one.node, one.first, one.held_out, one.treated) == ("3", "t = 30", False, True)
    assert one.what.endswith("kept, but no example for others")
    kept = ndcn.tables.inspect(data, keep_outliers=True).doubts
    assert kept[0].what.endswith("used as it is (--keep-outliers)")
