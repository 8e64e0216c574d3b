"""A kernel's shared library, if it was built for this system and from these sources."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def shared_library(
    folder: Path, name: str, version: tuple[str, int], arguments: Mapping[str, Sequence[Any]], result: Any
) -> ctypes.CDLL | None:
    """The first library of this name that can be used, its functions declared; None where there is none.

    Args:
        folder: where it was built.
        name: how its file's name begins.
        version: a function of the library, and what it must return.
        arguments: types of the arguments of each function.
        result: type that all of them return.
    """
    for path in sorted(folder.glob(f"{name}*")):
        try:
            found = ctypes.CDLL(str(path))
            if getattr(found, version[0])() != version[1]:
                continue
            for function, types in arguments.items():
                entry = getattr(found, function)
                entry.argtypes, entry.restype = types, result
        except (OSError, AttributeError):  # built for another system, or from other sources
            continue
        return found
    return None
