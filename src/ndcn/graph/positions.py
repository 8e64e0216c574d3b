"""Where nodes are: coordinates in the plane, and places on the Earth made flat."""

from __future__ import annotations

from typing import Any

import numpy as np


def checked_positions(positions: Any, n: int) -> np.ndarray | None:
    """Positions of shape (n, 2), frozen, with NaN where a node has none; None where no node has one.

    Raises:
        ValueError: another shape, or infinite coordinates.
    """
    if positions is None:
        return None
    where = np.array(positions, dtype=np.float64)
    if where.shape != (n, 2) or np.isinf(where).any():
        raise ValueError(f"positions must be of shape ({n}, 2), finite or NaN, got shape {where.shape}")
    where[np.isnan(where).any(axis=1)] = np.nan
    where.flags.writeable = False
    return None if np.isnan(where).all() else where


def projected(latitude: Any, longitude: Any) -> np.ndarray:
    """Degrees as places in the plane, shape (n, 2): x = longitude cos(mean latitude), y = latitude, y upwards.

    The equirectangular projection, true to scale around the mean latitude. The map is cut in the widest gap between
    longitudes, so that places on both sides of the date line lie together.

    Example:
        >>> projected([0.0, 0.0], [179.0, -179.0]).tolist()
        [[179.0, 0.0], [181.0, 0.0]]
    """
    y, x = np.asarray(latitude, dtype=np.float64), np.asarray(longitude, dtype=np.float64)
    known = np.sort(x[np.isfinite(x)] % 360)
    if len(known) > 1:
        gaps = np.diff(known, append=known[0] + 360)
        widest = int(gaps.argmax())
        first = known[(widest + 1) % len(known)]
        x = (x - first) % 360 + (first if first < 180 else first - 360)
    middle = np.nanmean(y) if np.isfinite(y).any() else 0.0
    return np.stack([x * np.cos(np.radians(middle)), y], axis=1)
