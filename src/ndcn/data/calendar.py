"""Calendar: dates as numbers and back, in a unit that suits them."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from .dates import read_dates

SECONDS = {"millisecond": 0.001, "second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0}
CYCLES = (86400.0, 604800.0, 31556952.0)  # seconds of a day, a week, a mean Gregorian year
UNITS = (*SECONDS, "month", "year", "number")
_MS = np.timedelta64(1, "ms")


@dataclass(frozen=True)
class Calendar:
    """t = (date - origin) / unit: what the times of data that came with dates mean.

    Args:
        origin: the date of t = 0, as ISO text in UTC; or a number, for times that began below zero.
        unit: "millisecond" to "week"; "month" or "year" by the calendar, so that the first of each month (or the last) is a
            whole number; or "number", for times that are only shifted.
        tz: the time zone in which dates are shown; None for dates without one.

    Raises:
        ValueError: another unit, or an origin that is no date.

    Example:
        >>> from ndcn.tables import Calendar
        >>> weeks = Calendar("2021-03-01", "week")
        >>> weeks.number("2021-03-15")
        2.0
        >>> weeks.texts([0, 0.5])
        ['2021-03-01T00:00:00', '2021-03-04T12:00:00']
    """

    origin: str | float
    unit: str = "day"
    tz: str | None = None

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ValueError(f"the unit of time must be one of {', '.join(UNITS)}, got {self.unit!r}")
        if (self.unit == "number") != isinstance(self.origin, (int, float)):
            raise ValueError(f"the origin of a calendar is a date, of shifted numbers a number, got {self.origin!r}")
        if self.unit != "number":
            try:
                np.datetime64(str(self.origin), "ms")
            except ValueError:
                raise ValueError(f"the origin of a calendar is a date in UTC, got {self.origin!r}") from None

    @classmethod
    def of(cls, dates: np.ndarray, tz: str | None = None, unit: str | None = None) -> Calendar:
        """A calendar that begins at the first of these dates (datetime64, UTC), in the unit that suits their gaps."""
        when = np.unique(dates.astype("datetime64[ms]"))
        origin = str(when[0]).removesuffix("T00:00:00.000").removesuffix(".000")
        return cls(origin, unit or _unit(when), tz)

    @property
    def dated(self) -> bool:
        """Whether times are dates; otherwise they are only shifted numbers."""
        return self.unit != "number"

    def cycles(self, step: float) -> tuple[int, ...]:
        """How many steps a day, a week and a year have, where that is a whole number of at least 2.

        Example:
            >>> from ndcn.data.calendar import Calendar
            >>> Calendar("2021-03-01", "minute").cycles(15), Calendar("2021-03-01", "week").cycles(1)
            ((96, 672, 35063), (52,))
        """
        if self.unit not in SECONDS:
            return (12,) if self.unit == "month" and step == 1 else ()
        lengths = [cycle / (SECONDS[self.unit] * step) for cycle in CYCLES]
        return tuple(round(length) for length in lengths if length > 1.5)

    def numbers(self, dates: Any) -> np.ndarray:
        """Times as numbers, float64, from datetime64 in UTC (or from unshifted numbers)."""
        if not self.dated:
            return np.asarray(dates, dtype=np.float64) - float(self.origin)
        when, begin = np.asarray(dates).astype("datetime64[ms]"), np.datetime64(str(self.origin), "ms")
        if self.unit in SECONDS:
            return (when - begin) / _MS / (1000.0 * SECONDS[self.unit])
        months = _months(when, begin) - _months(np.array([begin]), begin)[0]
        return months / 12.0 if self.unit == "year" else months

    def from_other(self, other: Calendar, numbers: Any) -> np.ndarray:
        """Times of another calendar as numbers of this one."""
        dates: Any = other.dates(numbers)
        if other.dated and other.tz is not None:
            dates = dates.tz_convert("UTC").tz_localize(None)
        return self.numbers(dates)

    def dates(self, numbers: Any) -> pd.DatetimeIndex | np.ndarray:
        """The dates of times, in the time zone of the data, to the millisecond (or the unshifted numbers)."""
        values = np.asarray(numbers, dtype=np.float64)
        if not self.dated:
            return values + float(self.origin)
        begin = np.datetime64(str(self.origin), "ms")
        try:
            if self.unit in SECONDS:
                steps = np.round(values * (1000.0 * SECONDS[self.unit]))
                if not (np.abs(steps) < 1e15).all():
                    raise OverflowError
                when = begin + steps.astype(np.int64) * _MS
            else:
                when = _from_months(values * (12.0 if self.unit == "year" else 1.0), begin)
            index = pd.DatetimeIndex(when)
        except (OverflowError, ValueError):
            raise ValueError(f"times as far as {np.abs(values).max():g} {self.unit}s have no dates") from None
        return index if self.tz is None else index.tz_localize("UTC").tz_convert(self.tz)

    def texts(self, numbers: Any) -> list[str]:
        """The dates as ISO text, without the hour where all are at midnight and the unit is a day or more."""
        dates = self.dates(numbers)
        if isinstance(dates, np.ndarray):
            return [f"{value:.15g}" for value in dates]
        whole_days = self.unit in ("day", "week", "month", "year")
        if whole_days and (dates == dates.normalize()).all() and dates.tz is None:
            return [str(text) for text in dates.strftime("%Y-%m-%d")]
        return [date.isoformat() for date in dates]

    def text(self, number: float) -> str:
        """The date of one time as ISO text."""
        return self.texts([number])[0]

    def number(self, text: str | float) -> float:
        """The time that a text means: a date, or a number in the calendar's unit.

        Raises:
            ValueError: it is neither.
        """
        if not self.dated:
            try:
                return float(text) - float(self.origin)
            except ValueError:
                raise ValueError(f"{text!r} is no time: these data have numbers as times") from None
        if isinstance(text, (int, float)) or re.fullmatch(r"\s*[-+]?(\d{1,3}|\d*\.\d+|\d{5,7})\s*", text):
            return float(text)
        if re.fullmatch(r"\s*\d{4}\s*", text):  # a year
            text = f"{text.strip()}-01-01"
        try:
            return float(self.numbers(read_dates([text], f"the time {text!r}", zone=self.tz).when)[0])
        except ValueError:
            number = f"a number of {self.unit}s from {self.origin}"
            raise ValueError(f"{text!r} is no date: write a date that exists as 2021-03-01, or {number}") from None

    def to_json(self) -> dict[str, Any]:
        """Its settings, for files."""
        return asdict(self)

    def __str__(self) -> str:
        if not self.dated:
            return f"t = time - ({self.origin:.15g})"
        return f"t in {self.unit}s from {self.origin}{'' if self.tz is None else ' UTC'}"


def time_text(time: float, calendar: Calendar | None) -> str:
    """A time as the data have it: a date, or t = 5."""
    return f"t = {time:.15g}" if calendar is None else calendar.text(time)


def _unit(when: np.ndarray) -> str:
    """The unit for sorted, distinct dates (ms): whole months or years or weeks, else by the usual gap."""
    if len(when) < 2:
        return "day"
    days = when.astype("datetime64[D]")
    for shift in (0, 1):  # the first day of each month, or the last
        moved = days + shift
        months = moved.astype("datetime64[M]")
        if (moved == months.astype("datetime64[D]")).all() and len(np.unique(when - days)) == 1:
            counts = np.asarray(np.diff(months.astype(np.int64)), dtype=np.int64)
            if (counts > 0).all():
                return "year" if (counts % 12 == 0).all() else "month"
    gaps = np.asarray(np.diff(when) / _MS, dtype=np.float64) / 1000.0
    if (gaps % SECONDS["week"] == 0).all():
        return "week"
    usual = float(np.median(gaps))
    return next((unit for unit in ("day", "hour", "minute", "second") if usual >= SECONDS[unit]), "millisecond")


def _shift(begin: np.datetime64) -> np.timedelta64:
    """One day where the origin is the last of its month, so that month ends become whole numbers."""
    day = begin.astype("datetime64[D]")
    last = (day + 1).astype("datetime64[M]") != day.astype("datetime64[M]")
    return np.timedelta64(86_400_000 if last else 0, "ms")


def _months(when: np.ndarray, begin: np.datetime64) -> np.ndarray:
    """Months since 1970, fractions by the length of the month."""
    moved = when + _shift(begin)
    month = moved.astype("datetime64[M]")
    start, end = month.astype("datetime64[ms]"), (month + 1).astype("datetime64[ms]")
    return month.astype(np.int64) + (moved - start) / (end - start)


def _from_months(values: np.ndarray, begin: np.datetime64) -> np.ndarray:
    total = values + _months(np.array([begin]), begin)[0]
    if not (np.abs(total) < 1e5).all():
        raise OverflowError
    whole = np.floor(total + 1e-9)
    month = whole.astype(np.int64).astype("datetime64[M]")
    start, end = month.astype("datetime64[ms]"), (month + 1).astype("datetime64[ms]")
    part = np.round(np.clip(total - whole, 0, None) * ((end - start) / _MS)).astype(np.int64)
    return start + part * _MS - _shift(begin)
