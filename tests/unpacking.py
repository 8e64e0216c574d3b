"""What the page reads from packed numbers, as its scripts unpack them."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

from ndcn.report.encode import LEVELS


def unpack_integers(packed: dict[str, Any]) -> np.ndarray:
    """What ``pack_integers`` was given."""
    return np.frombuffer(_raw(packed), dtype=f"<u{packed['bits'] // 8}")


def unpack_rows(packed: dict[str, Any]) -> np.ndarray:
    """The numbers that ``pack_rows`` was given, as the page shows them; shape (R, n)."""
    planes = np.frombuffer(_raw(packed), dtype=np.uint8).reshape(2, -1)
    codes = np.ascontiguousarray(planes.T).view("<u2").reshape(packed["shape"])
    values = np.asarray(packed["low"])[:, None] + codes * np.asarray(packed["step"])[:, None]
    return np.where(codes == LEVELS + 1, np.nan, values)


def _raw(packed: dict[str, Any]) -> bytes:
    return zlib.decompress(base64.b64decode(packed["data"]))
