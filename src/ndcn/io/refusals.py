"""Problems of files: raised one by one, or all of them collected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_FOUND: ContextVar[list[str] | None] = ContextVar("found", default=None)


def refuse(problem: str) -> None:
    """Raise a ValueError that says the problem; inside ``collecting``, remember it and go on.

    The caller goes on as if the cells in question were missing.

    Example:
        >>> with collecting() as found:
        ...     refuse("a cell is no number")
        >>> found
        ['a cell is no number']
    """
    found = _FOUND.get()
    if found is None:
        raise ValueError(problem)
    if problem not in found:
        found.append(problem)


@contextmanager
def collecting() -> Iterator[list[str]]:
    """Give a list to which ``refuse`` adds problems instead of raising them."""
    token = _FOUND.set([])
    found = _FOUND.get()
    assert found is not None
    try:
        yield found
    finally:
        _FOUND.reset(token)
