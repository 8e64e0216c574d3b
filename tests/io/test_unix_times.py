"""Numbers that count seconds since 1970 are dates, where heading or size leave no doubt."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ndcn

EDGES = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
FIRST = 1614556800  # 2021-03-01 in UTC


def read(times: np.ndarray, heading: str = "time") -> ndcn.Dataset:
    return ndcn.read(EDGES, pd.DataFrame({heading: times, "a": 1.0, "b": 2.0, "c": np.arange(len(times))}))


@pytest.mark.parametrize(
    ("scale", "unit"), [(1, "seconds"), (10**3, "milliseconds"), (10**6, "microseconds"), (10**9, "nanoseconds")]
)
def test_by_their_size(scale: int, unit: str) -> None:
    data = read((FIRST + 3600 * np.arange(20)) * scale)
    assert data.calendar.unit == "hour"
    assert data.calendar.texts([1]) == ["2021-03-01T01:00:00+00:00"]
    said = f"numbers are Unix times in {unit}, by their size: {FIRST * scale:.15g} is 2021-03-01T00:00:00 UTC"
    assert any(said in note for note in data.notes)


def test_by_the_heading() -> None:
    early = 600_000_000 + 86400 * np.arange(20)
    data = read(early, "timestamp")
    assert data.calendar.texts([0]) == ["1989-01-05T10:40:00+00:00"]
    assert any("as the heading 'timestamp' says" in note for note in data.notes)
    assert read(early, "time").calendar is None


@pytest.mark.parametrize(
    "times",
    [np.arange(20.0), 1e6 + np.arange(20), 202103010000 + np.arange(20), FIRST + 0.5 * np.arange(20), [0, FIRST]],
)
def test_what_is_in_doubt_stays_a_number(times: np.ndarray) -> None:
    assert read(np.asarray(times)).calendar is None


def test_as_headings_and_of_edges() -> None:
    heads = [str(FIRST + 86400 * k) for k in range(6)]
    states = pd.DataFrame([[name, *range(6)] for name in "abc"], columns=["node", *heads])
    edges = EDGES.assign(time=[FIRST, FIRST + 3 * 86400])
    data = ndcn.read(edges, states)
    assert data.calendar.unit == "day"
    assert data.graphs.times.tolist() == [0, 3]
    days = ndcn.read(EDGES, states.set_axis(["node", *(f"2021030{k}" for k in range(1, 7))], axis=1))
    assert days.calendar.texts([5]) == ["2021-03-06"]
