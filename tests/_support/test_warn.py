"""Warnings point at the line outside the package that led to them."""

from __future__ import annotations

import types
import warnings

from ndcn._support.warn import warn


def inside(depth: int) -> types.FunctionType:
    """A function of this package, so many calls above the warning."""
    code = "def call(depth):\n    return warn('mind') if depth == 0 else call(depth - 1)\n"
    namespace = {"__name__": "ndcn.somewhere", "warn": warn}
    exec(code, namespace)
    return lambda: namespace["call"](depth)


def test_the_depth_inside_the_package_does_not_matter() -> None:
    for depth in (0, 1, 5):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            inside(depth)()
        (only,) = caught
        assert only.filename == __file__
        assert only.category is UserWarning


def test_a_direct_call_points_at_itself() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn("mind")
    assert caught[0].filename == __file__
