"""Columns of times: numbers or dates, and messages about cells that are neither."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import BadDates, read_dates
from .cells import Names, is_missing
from .column_names import is_total
from .refusals import refuse
from .table import Table

FIRST_DAY = 18000101  # numbers in this range are days written as year, month, day; as other clocks they would be odd
LAST_DAY = 22001231
UNIX = frozenset({"timestamp", "timestamps", "unix", "unixtime", "unix_time", "unix_timestamp", "epoch", "epoch_time", "ts",
    "posix", "utc", "date", "datetime", "timestamp_ms", "time_ms", "epoch_ms", "unix_ms"})  # fmt: skip
# Unix times in seconds: without a heading that says so, only from 10^9 (2001) to the end of 32 bits (2038) are they sure
SINCE_1985, SINCE_2001, UNTIL_2038, UNTIL_2100 = 5e8, 1e9, 2.0**31, 4.1e9


@dataclass(frozen=True)
class Times:
    """A column of times: float64, or datetime64[ms] in UTC; NaN or NaT where missing."""

    values: np.ndarray
    tz: str | None = None

    @property
    def dated(self) -> bool:
        """Whether they are dates."""
        return bool(self.values.dtype.kind == "M")

    @property
    def missing(self) -> np.ndarray:
        """Where there is none, shape (N,), boolean."""
        return np.asarray(np.isnat(self.values) if self.dated else np.isnan(self.values))


def time_role(table: Table, k: int, form: str | None) -> str:
    """How a column of times is to be loaded: as "number", or as "name" where it holds dates."""
    numbers = form is None and table.kind(k) in ("number", "empty")
    return "number" if numbers and not any(is_total(cell) for cell in table.sample(k)) else "name"


def read_times(table: Table, k: int, loaded: Any, form: str | None, notes: list[str]) -> Times:
    """Times from a loaded column; numbers that are dates such as 20210301 become dates.

    Raises:
        ValueError: cells that are neither number nor date, infinite ones; the message names the line.
    """
    title = f"{table.title}: column {table.name(k)}"
    if isinstance(loaded, Names) and form is None and table.kind(k) in ("number", "empty"):
        loaded = table.numbers_of(loaded, k)
    if isinstance(loaded, Names):
        return _dates(table, k, loaded, form, notes)
    infinite = np.flatnonzero(np.isinf(loaded))
    if len(infinite):
        where = table.places([int(infinite[0])])[0]
        table.faulty[k] = infinite
        refuse(f"{title}: {where} has an infinite time; correct or drop that row")
        loaded = np.where(np.isinf(loaded), np.nan, loaded)
    return times_of(loaded, title, notes, table.columns[k])


def times_of(numbers: np.ndarray, title: str, notes: list[str], heading: str = "") -> Times:
    """Numbers as times: dates where they are days such as 20210301 or a Unix time, as the heading or their range says."""
    there = ~np.isnan(numbers)
    distinct = np.unique(numbers[there])
    found = None if not len(distinct) else _days(distinct, title, notes)
    tz = None
    if found is None and len(distinct):
        found, tz = _unix(distinct, heading, title, notes), "UTC"
    if found is None:
        return Times(numbers)
    out = np.full(len(numbers), np.datetime64("NaT"), dtype="datetime64[ms]")
    out[there] = found[np.searchsorted(distinct, numbers[there])]
    return Times(out, tz)


def _days(numbers: np.ndarray, title: str, notes: list[str]) -> np.ndarray | None:
    """Dates from distinct numbers such as 20210301; None if they are none."""
    if not ((numbers >= FIRST_DAY) & (numbers <= LAST_DAY) & (numbers == np.round(numbers))).all():
        return None
    texts = [f"{int(number)}" for number in numbers]
    try:
        found = read_dates(texts, title, form="%Y%m%d").when
    except ValueError:
        return None
    notes.append(f"{title}: numbers such as {texts[0]} are dates, year, month, day")
    return found


def _unix(numbers: np.ndarray, heading: str, title: str, notes: list[str]) -> np.ndarray | None:
    """Dates from distinct numbers of seconds (or shorter units) since 1970; None if they are none, or in doubt."""
    named = heading.strip().lower().replace(" ", "_").replace("-", "_") in UNIX
    low, high = (SINCE_1985, UNTIL_2100) if named else (SINCE_2001, UNTIL_2038)
    for unit, scale in (("seconds", 1.0), ("milliseconds", 1e3), ("microseconds", 1e6), ("nanoseconds", 1e9)):
        if numbers[0] >= low * scale and numbers[-1] <= high * scale:
            if unit == "seconds" and not named and (numbers != np.round(numbers)).any():
                return None
            found = np.round(numbers * (1e3 / scale)).astype("datetime64[ms]")
            why = f"as the heading {heading!r} says" if named else "by their size"
            first = str(found[0]).removesuffix(".000")
            notes.append(f"{title}: numbers are Unix times in {unit}, {why}: {numbers[0]:.15g} is {first} UTC")
            return np.asarray(found)
    return None


def _dates(table: Table, k: int, cells: Names, form: str | None, notes: list[str]) -> Times:
    title = f"{table.title}: column {table.name(k)}"
    labels = ["" if is_missing(label) else label for label in cells.labels]
    try:
        dates = read_dates(labels, title, form=form)
    except BadDates as error:
        wrong = set(error.cells)
        bad = [code for code, label in enumerate(labels) if label in wrong]
        rows = table.faulty[k] = np.flatnonzero(np.isin(cells.codes, bad))
        shown = table.shown(cells, rows)
        refuse(
            f"{title} holds times, but these are neither numbers nor dates like the others ({shown}); correct them, say how "
            "dates are written (--date-format %d.%m.%Y), or name another column (--time)"
        )
        dates = read_dates(["" if label in wrong else label for label in labels], title, form=form)
    notes += dates.notes
    if dates.tz is None:
        notes.append(f"{title}: the dates have no time zone and are taken as they are")
    return Times(np.append(dates.when, np.datetime64("NaT"))[cells.codes], dates.tz)
