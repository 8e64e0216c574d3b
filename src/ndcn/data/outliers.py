"""Wrong cells in a table of series: found for each node against its own past and the other nodes, and held out."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from .outlier import NOISE, Outlier, flattened
from .outlier_cells import falls, negatives, sentinels, signs, spikes
from .outlier_days import COMMON, empty_end, odd_days, repeats
from .outlier_ends import end_cells, end_days
from .outlier_nodes import giants, mirrored, shifts, spread
from .series_kind import kind_of, whole


@dataclass(frozen=True)
class Cleaned:
    """Values (T, n) in which wrong cells are NaN, cells that are real but no example for others, and what was found."""

    values: np.ndarray
    unusual: np.ndarray
    found: tuple[Outlier, ...]


def cleaned(values: np.ndarray, *, positive: bool, cumulative: bool, period: int | None = None) -> Cleaned:
    """Find and take out wrong cells of ``values``, shape (T, n), NaN where nothing was observed.

    A value is compared with the median of the three snapshots before and the three after it, in units of how much that
    node usually deviates; square roots are compared where ``positive``, and increments where ``cumulative``. Whole days and
    the last snapshots are compared without the pattern of a short ``period``, so that Sundays are no errors. At the last
    snapshots, where no later values can tell a wrong one from a real jump, it must also exceed all that the past shows.

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
    days = []
    if positive:
        found += negatives(x) + signs(x)
        days = _take_out(empty_end(x), x)
    if cumulative:
        found = _together(found + falls(x), x.shape[1])
        days += _take_out([one for one in found if one.node is None], x)
    days += _take_out(repeats(x), x)
    series = np.diff(x, axis=0, prepend=x[:1]) if cumulative else x
    z, floor = (np.sqrt(np.maximum(series, 0.0)), NOISE) if positive and whole(series) else (series.copy(), 0.0)
    flat = flattened(z, period)
    for look in (end_days,) if cumulative else (odd_days, end_days):
        days += _take_out(look(flat, floor), x, z, flat)
    unusual = np.zeros(x.shape, dtype=bool)
    alone = _merged(
        spikes(series, z, flat, floor, cumulative), end_cells(series, z, flat, floor, cumulative), cumulative
    )
    for one in alone:
        where = slice(one.first, one.last + 1)
        if one.held and one.kind == "jump":
            x[: one.first, one.node] += one.value - one.usual
            unusual[where, one.node] = True
        elif one.held:
            x[where, one.node] = z[where, one.node] = np.nan
    flow = np.diff(x, axis=0, prepend=x[:1]) if cumulative else x
    nodes = shifts(flow, z, floor)
    if not positive:
        known = {one.node for one in nodes}
        nodes += [one for one in shifts(x, spread(z), 0.0) if one.node not in known]
    known = {one.node for one in nodes}
    nodes += [one for one in giants(x, flow) if one.kind != "shift" or one.node not in known]
    for one in nodes:
        if one.kind == "shift":
            unusual[one.first, one.node] = True
    nodes += [] if positive else mirrored(flow)
    found = [*(one for one in found if one.node is not None), *days, *alone, *nodes]
    return Cleaned(x, unusual, tuple(sorted(found, key=lambda one: (not one.held, one.first, one.node or 0))))


def _take_out(days: list[Outlier], *tables: np.ndarray) -> list[Outlier]:
    """``days``, which become NaN in all tables."""
    for one, table in itertools.product(days, tables):
        table[one.first : one.last + 1] = np.nan
    return days


def _together(found: list[Outlier], nodes: int) -> list[Outlier]:
    """The same, with one wrong day in place of most nodes' single cells at one snapshot."""
    count = Counter((one.first, one.last) for one in found if one.held)
    days = {rows for rows, many in count.items() if many > max(COMMON * nodes, 2)}
    rest = [one for one in found if not any(first <= one.first and one.last <= last for first, last in days)]
    return [*rest, *(Outlier(None, *rows, "day", np.nan, np.nan, True) for rows in sorted(days))]


def _merged(spikes: list[Outlier], ends: list[Outlier], cumulative: bool) -> list[Outlier]:
    """Both, with one line for each node's end: what is held out goes first."""
    last = {one.node: one for one in ends}
    out = []
    for one in spikes:
        end = last.get(one.node)
        if end is None or one.last < end.first:
            out.append(one)
        elif one.held and not end.held:
            out.append(replace(one, kind="leap") if cumulative and end.kind == "jump" else one)
            del last[one.node]
    return [*out, *last.values()]


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
        np.isnan(cleaned(values, positive=kind.positive, cumulative=kind.cumulative, period=kind.period).values),
        np.nan,
        values,
    )
