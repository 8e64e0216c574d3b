"""Dates as numbers and back."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest
from hypothesis import given, strategies as st
from ndcn.tables import Calendar

from ndcn.data.dates import looks_like_dates, read_dates


def when(*texts: str) -> np.ndarray:
    return np.array(texts, dtype="datetime64[ms]")


@pytest.mark.parametrize(
    ("dates", "unit", "numbers"),
    [
        (("2021-01-01", "2022-01-01", "2024-01-01"), "year", [0, 1, 3]),
        (("2021-01-01", "2021-02-01", "2021-04-01"), "month", [0, 1, 3]),
        (("2021-01-31", "2021-02-28", "2021-03-31"), "month", [0, 1, 2]),
        (("2021-01-04", "2021-01-11", "2021-02-01"), "week", [0, 1, 4]),
        (("2021-01-04", "2021-01-05", "2021-01-08"), "day", [0, 1, 4]),
        (("2021-01-01T00:00", "2021-01-01T01:00", "2021-01-01T02:30"), "hour", [0, 1, 2.5]),
        (("2021-01-01T00:00", "2021-01-01T00:05"), "minute", [0, 5]),
        (("2021-01-01T00:00:00", "2021-01-01T00:00:07"), "second", [0, 7]),
        (("2021-01-01T00:00:00.000", "2021-01-01T00:00:00.250"), "millisecond", [0, 250]),
        (("2021-01-01",), "day", [0]),
    ],
)
def test_the_unit_that_suits(dates: tuple[str, ...], unit: str, numbers: list[float]) -> None:
    calendar = Calendar.of(when(*dates))
    assert calendar.unit == unit
    np.testing.assert_allclose(calendar.numbers(when(*dates)), numbers)
    assert (np.asarray(calendar.dates(numbers)).astype("datetime64[ms]") == when(*dates)).all()


@given(
    st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2100, 1, 1)),
    st.sampled_from(["second", "minute", "hour", "day", "week", "month", "year"]),
)
def test_there_and_back(moment: datetime, unit: str) -> None:
    calendar, date = Calendar("2000-01-31", unit), np.datetime64(moment, "ms")
    back = np.asarray(calendar.dates(calendar.numbers(np.array([date])))).astype("datetime64[ms]")[0]
    assert abs(back - date) <= np.timedelta64(2, "ms")


def test_time_zones_and_text() -> None:
    calendar = Calendar("2021-03-01", "day", "+02:00")
    assert calendar.texts([0.0]) == ["2021-03-01T02:00:00+02:00"]
    assert calendar.number("2021-03-02T02:00:00+02:00") == 1
    assert calendar.number("2021-03-02 02:00") == 1  # in the zone of the data
    assert calendar.number("1.5") == calendar.number(1.5) == 1.5
    assert Calendar("2021-01-01", "year").number("2023") == 2


def test_midnight_of_hours_is_no_whole_day() -> None:
    assert Calendar("2021-03-01", "hour").text(24.0) == "2021-03-02T00:00:00"
    assert Calendar("2021-03-01", "day").text(1.0) == "2021-03-02"


def test_shifted_numbers() -> None:
    calendar = Calendar(-5.0, "number")
    assert not calendar.dated
    assert calendar.numbers([-5.0, 0.0]).tolist() == [0, 5]
    assert calendar.texts([0.0, 5.5]) == ["-5", "0.5"]
    assert calendar.number("-4") == 1
    with pytest.raises(ValueError, match="no time"):
        calendar.number("2021-03-01")


@pytest.mark.parametrize(
    ("origin", "unit", "message"),
    [
        ("2021-03-01", "fortnight", "one of"),
        ("soon", "day", "is a date"),
        (3.0, "day", "is a date"),
        ("2021", "number", "number"),
    ],
)
def test_what_it_refuses(origin: str | float, unit: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Calendar(origin, unit)


def test_times_too_far_away() -> None:
    for unit in ("day", "year"):
        with pytest.raises(ValueError, match="have no dates"):
            Calendar("2021-01-01", unit).dates([1e12])


@pytest.mark.parametrize(
    "texts",
    [
        ("2021-03-01", "2021-03-13"),
        ("2021-03-01T00:00:00Z", "2021-03-13 00:00"),
        ("01.03.2021", "13.03.2021"),
        ("1.3.2021 00:00", "13.3.2021 00:00"),
        ("01/03/2021", "13/03/2021"),
        ("03/01/2021", "03/13/2021"),
        ("3/1/21", "3/13/21"),
        ("2021/03/01", "2021/03/13"),
        ("Mar 1, 2021", "Mar 13, 2021"),
        ("1 March 2021", "13 March 2021"),
    ],
)
def test_how_dates_are_written(texts: tuple[str, str]) -> None:
    assert looks_like_dates(texts)
    assert (read_dates(texts, "dates").when == when("2021-03-01", "2021-03-13")).all()


def test_weeks_quarters_and_months() -> None:
    assert (read_dates(["2021-W09", "2021W10"], "dates").when == when("2021-03-01", "2021-03-08")).all()
    assert (read_dates(["2021Q1", "2021-Q2"], "dates").when == when("2021-01-01", "2021-04-01")).all()
    assert (read_dates(["2021-01", "2021-12"], "dates").when == when("2021-01-01", "2021-12-01")).all()
    with pytest.raises(ValueError, match="2021-W60"):
        read_dates(["2021-W09", "2021-W60"], "dates")


@pytest.mark.parametrize("texts", [("1", "2.5"), ("2021", "2022"), ("a", "b"), ("1-2", "x"), ("", "")])
def test_what_is_no_date(texts: tuple[str, str]) -> None:
    assert not looks_like_dates(texts)


def test_a_form_that_is_said() -> None:
    assert (read_dates(["01/02/2021"], "dates", form="%m/%d/%Y").when == when("2021-01-02")).all()
    with pytest.raises(ValueError, match="cannot be read as dates"):
        read_dates(["01/02/2021"], "dates", form="%Y")
