"""Registry: names of things and where they live, known without importing them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any


def found_at(place: str) -> Any:
    """What "package.module:name" names; its module is imported now."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


class Registry(Mapping[str, Any]):
    """Names to things; a thing is imported when it is first asked for.

    Args:
        kind: what the things are, for messages.
        places: name to "package.module:name".

    Example:
        >>> numbers = Registry("number", {"pi": "math:pi"})
        >>> numbers["pi"] > 3
        True
        >>> numbers.add("e", "math:e")
        >>> list(numbers)
        ['pi', 'e']
    """

    def __init__(self, kind: str, places: Mapping[str, str]) -> None:
        self.kind, self._places = kind, dict(places)

    def add(self, name: str, place: str) -> None:
        """Register another thing, by where it lives."""
        self._places[name] = place

    def place(self, name: str) -> str:
        """Where a thing lives, "package.module:name", without importing it."""
        return self._places[name]

    def remove(self, name: str) -> None:
        """Forget a name."""
        del self._places[name]

    def __getitem__(self, name: str) -> Any:
        return found_at(self._places[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places
