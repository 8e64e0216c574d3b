"""Times as people give them: numbers, or dates as text, of the standard library, of NumPy or of pandas."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from .calendar import Calendar

DATES = (str, datetime.date, np.datetime64, pd.Timestamp, pd.Period)


def numbers_of(times: Any, calendar: Calendar | None, name: str = "times") -> Any:
    """Times as numbers in the calendar's unit; what holds no dates comes back as it is.

    Args:
        times: one time or several: numbers, texts such as "2021-03-01", ``datetime``, ``numpy.datetime64``, pandas
            Timestamps, a DatetimeIndex or a column of dates. Dates without a zone are in that of the data.
        calendar: what times mean; None where they are numbers.
        name: what messages call them.

    Raises:
        ValueError: dates for data without dates, or something that is neither a date nor a number.

    Example:
        >>> from ndcn.tables import Calendar
        >>> numbers_of(["2021-03-02", 4], Calendar("2021-03-01"))
        [1.0, 4.0]
    """
    if isinstance(times, DATES):
        return [_number(times, calendar, name)]
    dtype = getattr(times, "dtype", None)
    if isinstance(dtype, (pd.DatetimeTZDtype, pd.PeriodDtype)) or getattr(dtype, "kind", "") == "M":
        _check(calendar, times, name)
        assert calendar is not None
        index = times.dt if isinstance(times, pd.Series) else times
        return _utc(pd.DatetimeIndex(index.to_timestamp() if isinstance(dtype, pd.PeriodDtype) else times), calendar)
    plain = dtype is not None and getattr(dtype, "kind", "O") not in "OSUT"
    if plain or not isinstance(times, Iterable) or isinstance(times, (dict, set)):
        return times
    given = list(times)
    if not any(isinstance(one, DATES) for one in given):
        return times
    return [_number(one, calendar, name) if isinstance(one, DATES) else float(one) for one in given]


def number_of(time: Any, calendar: Calendar | None, name: str) -> Any:
    """One time as a number; what is no date comes back as it is."""
    return _number(time, calendar, name, "a finite number") if isinstance(time, DATES) else time


def _number(time: Any, calendar: Calendar | None, name: str, expected: str = "numbers") -> float:
    _check(calendar, time, name, expected)
    assert calendar is not None
    if isinstance(time, str):
        return _checked(calendar.number(time), calendar)
    stamp = time.to_timestamp() if isinstance(time, pd.Period) else time
    return float(_utc(pd.DatetimeIndex([stamp]), calendar)[0])


def _utc(dates: pd.DatetimeIndex, calendar: Calendar) -> np.ndarray:
    if dates.hasnans:
        raise ValueError("a date is missing (NaT): leave it out")
    if dates.tz is None and calendar.tz is not None:
        dates = dates.tz_localize(calendar.tz)
    plain = dates if dates.tz is None else dates.tz_convert("UTC").tz_localize(None)
    numbers = calendar.numbers(plain.to_numpy())
    _checked(float(numbers.min(initial=0.0)), calendar)
    return numbers


def _checked(number: float, calendar: Calendar) -> float:
    """Refuse a date before the first of the data, which has no time."""
    if number < 0:
        raise ValueError(f"{calendar.text(number)} lies before the first date of the data, {calendar.text(0.0)}")
    return number


def _check(calendar: Calendar | None, given: Any, name: str, expected: str = "numbers") -> None:
    """Refuse dates where the data have none."""
    if calendar is None or not calendar.dated:
        first = given if isinstance(given, DATES) else next(iter(given), "none")
        raise ValueError(f"{name} must be {expected}, as in the training data, which had no dates; got {str(first)!r}")
