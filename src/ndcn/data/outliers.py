"""Wrong cells in a table of series: found for each node against its own past and the other nodes, and held out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from .outlier import NOISE, Outlier
from .outlier_cells import falls, negatives, sentinels, signs, spikes
from .outlier_days import COMMON, odd_days, repeats
from .outlier_nodes import giants, mirrored, shifts, spread
from .series_kind import kind_of, whole


@dataclass(frozen=True)
class Cleaned:
    """Values (T, n) in which wrong cells are NaN, cells that are real but no example for others, and what was found."""

    values: np.ndarray
    unusual: np.ndarray
    found: tuple[Outlier, ...]


def cleaned(values: np.ndarray, *, positive: bool, cumulative: bool) -> Cleaned:
    """Find and take out wrong cells of ``values``, shape (T, n), NaN where nothing was observed.

    A value is compared with the median of the three snapshots before and the three after it, in units of how much that
    node usually deviates; square roots are compared where ``positive``, and increments where ``cumulative``. At the last
    snapshots, where no later values can tell a wrong one from a real jump, it must also exceed all that the others did.

    Example:
        >>> import numpy as np
        >>> from ndcn.data.outliers import cleaned
        >>> x = 50.0 + np.arange(40.0)[:, None] % 5 + np.zeros(4)
        >>> x[20, 2] = 99999.0
        >>> [(found.node, found.first, found.sentence) for found in cleaned(x, positive=True, cumulative=False).found]
        [(2, 20, '99999 looks like a code for a missing value: held out')]
    """
    x = np.array(values, dtype=np.float64)
    found = sentinels(x)
    if positive:
        found += negatives(x) + signs(x)
    if cumulative:
        found = _together(found + falls(x), x.shape[1])
    days = [one for one in found if one.node is None] + repeats(x)
    for one in days:
        x[one.first] = np.nan
    series = np.diff(x, axis=0, prepend=x[:1]) if cumulative else x
    z, floor = (np.sqrt(np.maximum(series, 0.0)), NOISE) if positive and whole(series) else (series.copy(), 0.0)
    if not cumulative:
        days += odd_days(z, floor)
        for one in days:
            x[one.first] = z[one.first] = np.nan
    unusual = np.zeros(x.shape, dtype=bool)
    alone = spikes(series, z, floor, cumulative)
    for one in alone:
        where = slice(one.first, one.last + 1)
        if one.held and cumulative:
            x[: one.first, one.node] += one.value - one.usual
            unusual[where, one.node] = True
        elif one.held:
            x[where, one.node] = z[where, one.node] = np.nan
    flow = np.diff(x, axis=0, prepend=x[:1]) if cumulative else x
    nodes = shifts(flow, z, floor)
    if not positive:
        known = {one.node for one in nodes}
        nodes += [one for one in shifts(x, spread(z), 0.0) if one.node not in known]
    for one in nodes:
        unusual[one.first, one.node] = True
    nodes += giants(x, flow) if positive else [*giants(x, flow), *mirrored(flow)]
    found = [*(one for one in found if one.node is not None), *days, *alone, *nodes]
    return Cleaned(x, unusual, tuple(sorted(found, key=lambda one: (not one.held, one.first, one.node or 0))))


def _together(found: list[Outlier], nodes: int) -> list[Outlier]:
    """The same, with one wrong day in place of most nodes' single cells at one snapshot."""
    count = Counter(one.first for one in found if one.held and one.first == one.last)
    days = {row for row, many in count.items() if many > max(COMMON * nodes, 2)}
    rest = [one for one in found if not (one.held and one.first == one.last and one.first in days)]
    return [*rest, *(Outlier(None, row, row, "day", np.nan, np.nan, True) for row in days)]


def without_outliers(values: np.ndarray) -> np.ndarray:
    """``values``, shape (T, n), with NaN in cells that ``cleaned`` takes out.

    Example:
        >>> import numpy as np
        >>> from ndcn.data.outliers import without_outliers
        >>> x = 50.0 + np.arange(40.0)[:, None] % 5 + np.zeros(4)
        >>> x[20, 2] = 99999.0
        >>> float(np.nanmax(without_outliers(x)))
        54.0
    """
    kind = kind_of(np.nan_to_num(values), np.isfinite(values))
    return np.where(
        np.isnan(cleaned(values, positive=kind.positive, cumulative=kind.cumulative).values), np.nan, values
    )
