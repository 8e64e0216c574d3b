"""Numbers as short text for a page: exact, deflated, in base 64."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np

DECIMALS = 6  # most digits after the point of numbers that are stored as whole ones
MISSING = -(2**31)  # NaN among whole numbers


def pack_integers(values: np.ndarray) -> dict[str, Any]:
    """Integers >= 0 as {"bits": 16 or 32, "data": text}, little endian."""
    bits = 16 if values.size == 0 or int(values.max()) < 2**16 else 32
    return {"bits": bits, "data": _text(np.ascontiguousarray(values, dtype=f"<u{bits // 8}").tobytes())}


def pack_exact(values: np.ndarray) -> dict[str, Any]:
    """Numbers exactly as they are, in the fewest bytes; NaN stays NaN, infinities become NaN.

    The ``kind`` says how: "decimal", whole numbers over ``unit``, a power of ten (most observations); "single", float32 (most
    trained models); "double", float64. The page shows a single by the shortest decimal that means it, as tables of
    predictions do. Bytes of the same rank are kept together, which deflates better.

    Example:
        >>> import numpy as np
        >>> [pack_exact(np.array(x))["kind"] for x in ([6.04, 1e6], [1 / 3], np.float32([1 / 3]))]
        ['decimal', 'double', 'single']
    """
    x = np.where(np.isfinite(values), values, np.nan).astype(np.float64).reshape(-1)
    known = x[np.isfinite(x)]
    for digits in range(DECIMALS + 1):
        unit = 10**digits
        whole = np.rint(known * unit)
        if len(whole) and np.abs(whole).max() >= -MISSING:
            break
        if (whole / unit == known).all():
            codes = np.full(x.shape, MISSING, dtype="<i4")
            codes[np.isfinite(x)] = whole
            return {"kind": "decimal", "unit": unit, "data": _planes(codes)}
    with np.errstate(over="ignore"):
        single = x.astype("<f4")
    if (single.astype(np.float64)[np.isfinite(x)] == known).all():
        return {"kind": "single", "data": _planes(single)}
    return {"kind": "double", "data": _planes(x.astype("<f8"))}


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


def _planes(numbers: np.ndarray) -> str:
    """The first bytes of all numbers, then the second ones, ..."""
    return _text(np.ascontiguousarray(numbers.view(np.uint8).reshape(-1, numbers.itemsize).T).tobytes())
