"""JSON of files: whatever is wrong with it is a ValueError, also lists in lists without end."""

from __future__ import annotations

import json
from typing import Any


def from_json(text: str | bytes) -> Any:
    """What a JSON text holds.

    Raises:
        ValueError: it is no JSON, or nested deeper than Python can follow.

    Example:
        >>> from_json('{"nodes": 3}')
        {'nodes': 3}
        >>> from_json(100_000 * "[")
        Traceback (most recent call last):
        ...
        ValueError: it is no JSON of ours: lists or objects are nested too deeply
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is no JSON of ours: lists or objects are nested too deeply") from None
