"""Dates on a page: of each moment, and of the ticks of axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from ..data import Calendar

STEPS = (  # from fine to coarse: how far apart ticks are, how many days that is at most, and how they are written
    *((count, "s", count / 86400, "%Y-%m-%d %H:%M:%S") for count in (1, 5, 15)),
    *((count, "m", count / 1440, "%m-%d %H:%M") for count in (1, 5, 15)),
    *((count, "h", count / 24, "%m-%d %H:%M") for count in (1, 3, 6)),
    *((count, "D", count, "%Y-%m-%d") for count in (1, 2, 7, 14)),
    *((count, "M", 31 * count, "%Y-%m") for count in (1, 3, 6)),
    *((count, "Y", 366 * count, "%Y") for count in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
)
MOST = 200  # ticks at one distance; the page takes those that have room
Ticks = list[list[Any]]


def shift_of(calendar: Calendar | None) -> float:
    """The offset of times that are shifted numbers."""
    return float(calendar.origin) if calendar is not None and not calendar.dated else 0.0


def dates_of(calendar: Calendar | None, times: np.ndarray) -> list[str] | None:
    """The dates of moments as ISO text; None where times are numbers."""
    return calendar.texts(times) if calendar is not None and calendar.dated else None


def ticks_of(calendar: Calendar | None, times: np.ndarray) -> list[Ticks] | None:
    """Ticks [time, text] between the first and the last moment, at whole days, months, ..., the finest first."""
    if calendar is None or not calendar.dated:
        return None
    ends = pd.DatetimeIndex(calendar.dates(np.array([times[0], times[-1]])))
    first, last = ends.tz_localize(None).to_numpy().astype("datetime64[s]")
    levels: list[Ticks] = []
    for count, unit, days, form in STEPS:
        if (last - first) / np.timedelta64(1, "D") > MOST * days:
            continue
        monday = 3 if unit == "D" and count % 7 == 0 else 0  # the calendar of computers began on a Thursday
        begin = (first.astype(f"datetime64[{unit}]").astype(np.int64) + monday) // count * count - monday
        end = last.astype(f"datetime64[{unit}]").astype(np.int64)
        local = pd.DatetimeIndex(
            np.arange(begin, end + 1, count).astype(f"datetime64[{unit}]").astype("datetime64[ms]")
        )
        stamps = local
        if calendar.tz is not None:
            there = local.tz_localize(calendar.tz, ambiguous=True, nonexistent="shift_forward")
            stamps = there.tz_convert("UTC").tz_localize(None)
        places = calendar.numbers(stamps.to_numpy())
        inside = (places >= times[0] - 1e-9) & (places <= times[-1] + 1e-9)
        levels.append([[float(t), text] for t, text in zip(places[inside], local[inside].strftime(form), strict=True)])
    return [level for level in levels if level] or [[[float(times[0]), calendar.texts(times[:1])[0]]]]
