"""Dates in the forms that people write: ISO, 01.03.2021, 03/01/2021, 20210301, 2021-W09, 2021Q1."""

from __future__ import annotations

import datetime
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

DAY_FIRST = ("%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y", "%d.%m.%y", "%d/%m/%y")
MONTH_FIRST = ("%m/%d/%Y", "%m-%d-%Y", "%m/%d/%y")
OTHERS = ("%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d %b %Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y", "%d-%b-%Y", "%b %Y")
CLOCKS = ("", " %H:%M", " %H:%M:%S", "T%H:%M:%S")
_ISO = re.compile(
    r"\d{4}-\d{1,2}(-\d{1,2}([T ]\d{1,2}(:?\d{2}(:?\d{2}([.,]\d+)?)?)?\s*(Z|UTC|[+-]\d{2}(:?\d{2})?)?)?)?"
)
_WEEK = re.compile(r"(\d{4})-?W(\d{1,2})")
_QUARTER = re.compile(r"(\d{4})[- ]?Q([1-4])")
_NUMERIC = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}([T ]\d{1,2}:\d{2}(:\d{2})?)?|\d{4}[./]\d{1,2}[./]\d{1,2}.*")
_WITH_MONTH = re.compile(r"(\d{1,2}[ -])?[A-Za-z]{3,9}[ ,-]+(\d{1,2},? )?\d{4}")
_ZONE = re.compile(r"(Z|UTC|[+-]\d{2}(:?\d{2})?)$", re.IGNORECASE)


@dataclass(frozen=True)
class Dates:
    """Dates in UTC (datetime64[ms], NaT where missing), the zone they came in, and what there is to say about them."""

    when: np.ndarray
    tz: str | None
    notes: tuple[str, ...] = ()


def looks_like_dates(texts: Sequence[str]) -> bool:
    """Whether most of some texts are dates (and not plain numbers)."""
    filled = [text.strip() for text in texts if text.strip()]
    return sum(_shape_of_date(text) for text in filled) * 2 > len(filled)


def _shape_of_date(text: str) -> bool:
    if any(pattern.fullmatch(text) for pattern in (_ISO, _WEEK, _QUARTER, _NUMERIC)):
        return True
    return _WITH_MONTH.fullmatch(text) is not None and any(_has_form(text, form) for form in OTHERS)


def _has_form(text: str, form: str) -> bool:
    try:
        datetime.datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def read_dates(texts: Sequence[str], title: str, *, form: str | None = None, zone: str | None = None) -> Dates:
    """Dates from texts, all in the same form.

    Args:
        texts, title: the cells, of which empty ones are missing, and what messages call them.
        form: how they are written, as in ``datetime.strptime``; found out by default.
        zone: the time zone of those that do not say one.

    Raises:
        ValueError: some cannot be read, or day and month cannot be told apart; the message says what to do.
    """
    cells = pd.Series([text.strip() for text in texts], dtype=object)
    filled = cells[cells != ""]
    notes: list[str] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            when, zones = _read(filled, form, title, notes)
    except (OverflowError, pd.errors.OutOfBoundsDatetime):
        raise ValueError(
            f"{title}: there are dates out of range, as of the year 9999; correct them, or leave them empty where there is none"
        ) from None
    if zone is not None and not any(zones):
        when, zones = when.dt.tz_localize(None).dt.tz_localize(zone).dt.tz_convert("UTC"), [zone]
    kinds = {z for z in zones if z}
    tz = None if not kinds else (zones[0] if len(kinds) == 1 and all(zones) else "UTC")
    if len(kinds) > 1:
        notes.append(f"{title}: {len(kinds)} time zones occur; all are shown in UTC")
    elif kinds and not all(zones):
        notes.append(f"{title}: some say their time zone and others do not; those are taken as UTC")
    out = np.full(len(cells), np.datetime64("NaT"), dtype="datetime64[ms]")
    if len(filled):
        plain = when.dt.tz_convert("UTC").dt.tz_localize(None)
        out[filled.index.to_numpy()] = plain.to_numpy().astype("datetime64[ms]")
    return Dates(out, tz, tuple(notes))


def _read(filled: pd.Series, form: str | None, title: str, notes: list[str]) -> tuple[pd.Series, list[str | None]]:
    if form is not None:
        return _strict(filled, [form], title), [None]
    zones: list[str | None] = [None]
    if len(filled) and filled.str.fullmatch(_WEEK).all():
        return _built(filled, _WEEK, lambda y, w: datetime.datetime.fromisocalendar(y, w, 1), title), zones
    if len(filled) and filled.str.fullmatch(_QUARTER).all():
        return _built(filled, _QUARTER, lambda y, q: datetime.datetime(y, 3 * q - 2, 1), title), zones
    if filled.str.fullmatch(_ISO).any() or not len(filled):
        plain = filled.str.replace("UTC", "Z").str.replace(",", ".")
        found = pd.to_datetime(plain, format="ISO8601", utc=True, errors="coerce")
        if found.isna().any():
            _refuse(filled[found.isna()], title)
        return found, list(dict.fromkeys(_zone(text) for text in filled)) or zones
    ways = {kind: _fitting(filled, forms) for kind, forms in (("day", DAY_FIRST), ("month", MONTH_FIRST), ("", OTHERS))}
    if ways["day"] is not None and ways["month"] is not None:
        (a, day), (b, month) = ways["day"], ways["month"]
        if not day.equals(month):
            raise ValueError(
                f"{title}: {filled.iloc[0]!r} and all others could be day first or month first; say which: "
                f'date_format="{a}" or date_format="{b}" (--date-format), or write 2021-03-01'
            )
    for kind in ("day", "month", ""):
        if (way := ways[kind]) is not None:
            if kind:
                notes.append(f"{title}: {filled.iloc[0]!r} is read with the {kind} first ({way[0]})")
            return way[1], zones
    return _strict(filled, [f + c for f in (*DAY_FIRST, *MONTH_FIRST, *OTHERS) for c in CLOCKS], title), zones


def _fitting(filled: pd.Series, forms: Sequence[str]) -> tuple[str, pd.Series] | None:
    """The first form that all of them have, with the dates."""
    for form in forms:
        for clock in CLOCKS:
            if pd.isna(pd.to_datetime(filled.iloc[0], format=form + clock, errors="coerce")):
                continue
            found = pd.to_datetime(filled, format=form + clock, utc=True, errors="coerce")
            if not found.isna().any():
                return form + clock, found
    return None


def _strict(filled: pd.Series, forms: Sequence[str], title: str) -> pd.Series:
    """The dates in the form that suits most of them, or an error about the others."""
    best = None
    for form in forms:
        try:
            found = pd.to_datetime(filled, format=form, utc=True, errors="coerce")
        except ValueError as error:
            raise ValueError(f"date_format {form!r} cannot be used: {error}; for example %d.%m.%Y") from None
        if best is None or found.isna().sum() < best.isna().sum():
            best = found
    assert best is not None
    if best.isna().any():
        _refuse(filled[best.isna()], title)
    return best


def _built(
    filled: pd.Series, pattern: re.Pattern[str], make: Callable[[int, int], datetime.datetime], title: str
) -> pd.Series:
    out = []
    for text in filled:
        match = pattern.fullmatch(text)
        assert match is not None
        try:
            out.append(make(int(match[1]), int(match[2])))
        except ValueError:
            _refuse(filled[filled == text], title)
    return pd.Series(pd.DatetimeIndex(out).tz_localize("UTC"), index=filled.index)


class BadDates(ValueError):
    """Some cells are no dates; ``cells`` are they."""

    def __init__(self, message: str, cells: Sequence[str]) -> None:
        super().__init__(message)
        self.cells = tuple(cells)


def _refuse(bad: pd.Series, title: str) -> None:
    shown = ", ".join(repr(text) for text in bad.iloc[:3])
    raise BadDates(
        f"{title}: {len(bad)} cannot be read as dates like the others: {shown}; correct them, or say how dates are "
        "written with date_format (--date-format %d.%m.%Y)",
        list(bad),
    )


def _zone(text: str) -> str | None:
    match = _ZONE.search(text) if len(text) > 10 else None
    if match is None:
        return None
    found = match[1].upper()
    if found in ("Z", "UTC", "+00:00", "+0000", "+00", "-00:00"):
        return "UTC"
    sign, digits = found[0], found[1:].replace(":", "").ljust(4, "0")
    return f"{sign}{digits[:2]}:{digits[2:]}"
