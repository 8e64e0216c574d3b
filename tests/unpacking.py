"""What the page reads from packed numbers, as its scripts unpack them."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

from ndcn.report.encode import MISSING


def unpack_integers(packed: dict[str, Any]) -> np.ndarray:
    """What ``pack_integers`` was given."""
    return np.frombuffer(_raw(packed), dtype=f"<u{packed['bits'] // 8}")


def unpack_exact(packed: dict[str, Any]) -> np.ndarray:
    """The numbers that ``pack_exact`` was given, in one row."""
    form = {"decimal": "<i4", "single": "<f4", "double": "<f8"}[packed["kind"]]
    planes = np.frombuffer(_raw(packed), dtype=np.uint8).reshape(int(form[-1]), -1)
    numbers = np.ascontiguousarray(planes.T).view(form).reshape(-1)
    if packed["kind"] != "decimal":
        return numbers.astype(np.float64)
    return np.where(numbers == MISSING, np.nan, numbers / packed["unit"])


def _raw(packed: dict[str, Any]) -> bytes:
    return zlib.decompress(base64.b64decode(packed["data"]))
