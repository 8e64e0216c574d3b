"""What the command that runs was given, so that no output of it is one of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Any

from .._support.outputs import check_not_read

_GIVEN: ContextVar[Mapping[str, Any]] = ContextVar("given", default={})  # noqa: B039  # never changed


def remembered(command: Callable[..., None]) -> Callable[..., None]:
    """The command, whose arguments ``refuse_inputs`` knows while it runs."""

    @wraps(command)
    def run(**given: Any) -> None:
        before = _GIVEN.set(given)
        try:
            command(**given)
        finally:
            _GIVEN.reset(before)

    return run


def refuse_inputs(path: Path) -> None:
    """Refuse an output that is also another argument or option of the command that runs; a ValueError."""
    values = _GIVEN.get().values()
    paths = [value for value in values if isinstance(value, Path)]
    paths += [Path(value) for value in values if type(value) is str and Path(value).suffix and Path(value).is_file()]
    if path in paths:
        paths.remove(path)  # itself
    check_not_read(path, paths)
