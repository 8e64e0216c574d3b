"""Times as people give them: numbers, or dates of any library."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
import torch

from ndcn.data import Calendar, number_of, numbers_of

DAYS = Calendar("2021-03-01")
BERLIN = Calendar("2021-03-01", "hour", tz="Europe/Berlin")


@pytest.mark.parametrize(
    "times",
    [
        "2021-03-05",
        ["2021-03-05"],
        ("2021-03-05T00:00",),
        [datetime.date(2021, 3, 5)],
        [datetime.datetime(2021, 3, 5)],
        pd.Timestamp("2021-03-05"),
        [pd.Timestamp("2021-03-05")],
        [pd.Period("2021-03-05", "D")],
        np.datetime64("2021-03-05"),
        np.array(["2021-03-05"], dtype="datetime64[ns]"),
        np.array(["2021-03-05"]),
        np.array([datetime.datetime(2021, 3, 5)]),
        pd.DatetimeIndex(["2021-03-05"]),
        pd.PeriodIndex(["2021-03-05"], freq="D"),
        pd.Series(["2021-03-05"]),
        pd.to_datetime(pd.Series(["2021-03-05"])),
        pd.Series(pd.PeriodIndex(["2021-03-05"], freq="D")),
        pd.DatetimeIndex(["2021-03-05"], tz="UTC"),
    ],
)
def test_every_kind_of_date_is_the_same_number(times: object) -> None:
    assert list(numbers_of(times, DAYS)) == [4.0]


def test_numbers_stay_as_they_are() -> None:
    for times in ([4.0, 5], torch.tensor([4.0, 5.0]), np.array([4, 5]), pd.Series([4.0, 5.0])):
        for calendar in (DAYS, None, Calendar(-3.0, "number")):
            assert numbers_of(times, calendar) is times
    assert numbers_of([4, "2021-03-06", "7"], DAYS) == [4.0, 5.0, 7.0]
    assert number_of(4, DAYS, "t0") == 4
    assert number_of("2021-03-05", DAYS, "t0") == 4.0


def test_dates_without_a_zone_are_in_that_of_the_data() -> None:
    assert numbers_of(["2021-03-01T03:00"], BERLIN) == [2.0]  # the calendar begins at midnight in UTC
    assert list(numbers_of(pd.DatetimeIndex(["2021-03-01T03:00"]), BERLIN)) == [2.0]
    assert list(numbers_of(pd.DatetimeIndex(["2021-03-01T03:00"], tz="UTC"), BERLIN)) == [3.0]


@pytest.mark.parametrize("times", [["2021-03-05"], [pd.Timestamp("2021-03-05")], pd.DatetimeIndex(["2021-03-05"])])
@pytest.mark.parametrize("calendar", [None, Calendar(-3.0, "number")])
def test_dates_for_data_without_dates_are_refused(times: object, calendar: Calendar | None) -> None:
    with pytest.raises(
        ValueError, match=r"times must be numbers, as in the training data, which had no dates; got '2021"
    ):
        numbers_of(times, calendar)


def test_what_is_no_date_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"'2023-02-30' is no date: write a date that exists as 2021-03-01, or a number of d"
    ):
        numbers_of(["2023-02-30"], DAYS)
    with pytest.raises(ValueError, match="NaT"):
        numbers_of(pd.DatetimeIndex(["2021-03-05", None]), DAYS)
