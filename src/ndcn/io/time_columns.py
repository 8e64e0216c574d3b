"""Columns of times: numbers or dates, and messages about cells that are neither."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import BadDates, read_dates
from .cells import Names, is_missing
from .table import Table

FIRST_DAY = 18000101  # numbers in this range are days written as year, month, day; as other clocks they would be odd
LAST_DAY = 22001231


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
    return "number" if form is None and table.kind(k) in ("number", "empty") else "name"


def read_times(table: Table, k: int, loaded: Any, form: str | None, notes: list[str]) -> Times:
    """Times from a loaded column; numbers that are dates such as 20210301 become dates.

    Raises:
        ValueError: cells that are neither number nor date, infinite ones; the message names the line.
    """
    title = f"{table.title}: column {table.name(k)}"
    if isinstance(loaded, Names):
        return _dates(table, k, loaded, form, notes)
    infinite = np.flatnonzero(np.isinf(loaded))
    if len(infinite):
        where = table.places([int(infinite[0])])[0]
        raise ValueError(f"{title}: {where} has an infinite time; correct or drop that row")
    days = np.unique(loaded[~np.isnan(loaded)])
    if len(days) and (days >= FIRST_DAY).all() and (days <= LAST_DAY).all() and (days == np.round(days)).all():
        texts = [f"{int(day)}" for day in days]
        try:
            found = read_dates(texts, title, form="%Y%m%d").when
        except ValueError:
            return Times(loaded)
        notes.append(f"{title}: numbers such as {texts[0]} are dates, year, month, day")
        out = np.full(len(loaded), np.datetime64("NaT"), dtype="datetime64[ms]")
        there = ~np.isnan(loaded)
        out[there] = found[np.searchsorted(days, loaded[there])]
        return Times(out)
    return Times(loaded)


def _dates(table: Table, k: int, cells: Names, form: str | None, notes: list[str]) -> Times:
    title = f"{table.title}: column {table.name(k)}"
    labels = ["" if is_missing(label) else label for label in cells.labels]
    try:
        dates = read_dates(labels, title, form=form)
    except BadDates as error:
        bad = {code for code, label in enumerate(labels) if label in set(error.cells)}
        shown = table.shown(cells, np.flatnonzero(np.isin(cells.codes, list(bad))))
        raise ValueError(
            f"{title} holds times, but these are neither numbers nor dates like the others ({shown}); correct them, say how "
            "dates are written (--date-format %d.%m.%Y), or name another column (--time)"
        ) from None
    notes += dates.notes
    if dates.tz is None:
        notes.append(f"{title}: the dates have no time zone and are taken as they are")
    return Times(np.append(dates.when, np.datetime64("NaT"))[cells.codes], dates.tz)
