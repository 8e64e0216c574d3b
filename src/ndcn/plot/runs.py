"""Datasets where trajectories are drawn."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from ..data import Dataset, one_run

P = ParamSpec("P")
R = TypeVar("R")


def takes_datasets(draw: Callable[P, R]) -> Callable[P, R]:
    """A function that draws trajectories, and takes a ``Dataset`` with one run in their place.

    Raises:
        ValueError: the dataset has several runs.
    """

    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> R:
        given: Any = [_run(one) for one in args]
        named: Any = {name: _run(one) for name, one in kwargs.items()}
        return draw(*given, **named)

    return drawn


def _run(value: Any) -> Any:
    return one_run(value, "a picture") if isinstance(value, Dataset) else value
