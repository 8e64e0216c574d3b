"""Numbers as short text for a page: 16-bit integers, deflated, in base 64."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np

LEVELS = 65534  # of 65536; the last stands for NaN


def pack_integers(values: np.ndarray) -> dict[str, Any]:
    """Integers >= 0 as {"bits": 16 or 32, "data": text}, little endian."""
    bits = 16 if values.size == 0 or int(values.max()) < 2**16 else 32
    return {"bits": bits, "data": _text(np.ascontiguousarray(values, dtype=f"<u{bits // 8}").tobytes())}


def pack_rows(rows: np.ndarray) -> dict[str, Any]:
    """Numbers of shape (R, n) as 16-bit steps between the least and the largest of each row.

    A number is off by at most 1 / 131068 of the range of its row, so that one row that explodes spoils no other. NaN
    stays NaN; infinities become NaN. High and low bytes are kept apart, which deflates better.
    """
    x = np.where(np.isfinite(rows), rows, np.nan).astype(np.float64)
    known = np.isfinite(x)
    low = np.where(known, x, np.inf).min(axis=1, initial=np.inf)
    high = np.where(known, x, -np.inf).max(axis=1, initial=-np.inf)
    low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
    step = np.maximum(high - low, 1e-300) / LEVELS
    level = np.rint((np.where(known, x, low[:, None]) - low[:, None]) / step[:, None])
    codes = np.where(known, level, LEVELS + 1).astype("<u2")
    planes = codes.reshape(-1).view(np.uint8).reshape(-1, 2).T
    return {
        "shape": list(rows.shape),
        "low": [float(f"{v:.9g}") for v in low],
        "step": [float(f"{v:.9g}") for v in step],
        "data": _text(np.ascontiguousarray(planes).tobytes()),
    }


def script_json(content: Any) -> str:
    """JSON that may stand inside a script element: no "<", ">", "&" or line separator is left in it.

    Example:
        >>> print(script_json({"name": "</script>"}))
        {"name":"\\u003c/script\\u003e"}
    """
    text = json.dumps(content, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def plain(values: np.ndarray, digits: int = 6) -> list[float | None]:
    """Numbers for JSON, with so many digits; what is not finite becomes None."""
    return [float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in np.asarray(values, dtype=np.float64)]


def _text(raw: bytes) -> str:
    return base64.b64encode(zlib.compress(raw, 6)).decode("ascii")
