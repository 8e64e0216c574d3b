"""What kind of data it is, on made and on real data."""

from __future__ import annotations

import json

import numpy as np
import pytest

import ndcn
from ndcn.data.panel import panel_of
from ndcn.data.series_kind import kind_of
from places import SHARED

REAL = SHARED / "data"


def test_totals_are_seen_through_a_few_corrections() -> None:
    x = np.cumsum(np.random.default_rng(0).poisson(5, size=(200, 6)), axis=0).astype(float)
    x[100, 2] -= 1 + x[100, 2] - x[99, 2]
    found = kind_of(x)
    assert found.cumulative
    assert found.counts
    assert "cumulative" in found.sentence
    assert not kind_of(np.random.default_rng(0).poisson(5, size=(200, 6))).cumulative


def test_constants_are_not_totals() -> None:
    assert not kind_of(np.ones((20, 3))).cumulative


@pytest.mark.parametrize("period", [7, 12, 24])
def test_a_period_is_found_and_noise_has_none(period: int) -> None:
    t, rng = np.arange(8 * period), np.random.default_rng(1)
    wave = 5 + np.sin(2 * np.pi * t / period)[:, None] + 0.3 * rng.normal(size=(len(t), 4))
    assert kind_of(wave).period == period
    assert kind_of(rng.normal(size=(200, 4))).period is None


def test_differences_are_told_from_other_centred_values() -> None:
    rng = np.random.default_rng(2)
    noise, walk = rng.normal(size=(300, 5)), np.zeros((300, 5))
    for t in range(1, 300):
        walk[t] = 0.9 * walk[t - 1] + rng.normal(size=5)
    assert kind_of(np.diff(noise, axis=0)).differenced
    assert kind_of(walk).centred
    assert not kind_of(walk).differenced


def test_interpolated_repeated_and_intermittent() -> None:
    weekly = np.cumsum(np.random.default_rng(3).integers(1, 60, size=(12, 4)), axis=0).astype(float)
    at = np.arange(78) / 7
    straight = np.stack([np.interp(at, np.arange(12), column) for column in weekly.T], axis=1)
    assert kind_of(straight).interpolated > 0.5
    assert kind_of(np.repeat(weekly, 7, axis=0)).repeated > 0.5
    assert kind_of((np.random.default_rng(4).random((100, 5)) > 0.8) * 1.0).intermittent


def test_a_few_corrections_do_not_make_counts_signed() -> None:
    x = np.random.default_rng(5).poisson(20, size=(100, 5)).astype(float)
    x[40, 2] = -3
    found = kind_of(x)
    assert found.positive
    assert found.counts
    assert found.transforms == ("raw", "sqrt", "log")
    x[:, 1] -= 30  # a whole node below 0 is no correction
    assert not kind_of(x).positive


def test_values_that_were_filled_in_are_not_judged() -> None:
    x = np.random.default_rng(6).normal(10, 1, size=(60, 4))
    seen = np.ones(x.shape, dtype=bool)
    seen[1::2] = False
    held = x.copy()
    held[1::2] = x[::2]
    assert kind_of(held).repeated > 0.4
    assert kind_of(held, seen).repeated == 0
    x[3] = -500  # a wrong day is no habit ...
    assert kind_of(x).positive
    x[[9, 15, 21]] = -500  # ... but four of 60 are
    assert not kind_of(x).positive
    assert kind_of(x, seen).positive


@pytest.mark.skipif(not REAL.exists(), reason="the real sets are not here")
def test_real_sets() -> None:
    covid = np.loadtxt(REAL / "epidemics" / "COVID_filter_total_cases_raw.txt")
    covid = covid.T if len(covid) == 174 else covid
    england = np.array(json.loads((REAL / "temporal" / "england_covid.json").read_text())["y"], dtype=float)
    pox = np.array(json.loads((REAL / "temporal" / "chickenpox.json").read_text())["FX"])
    assert kind_of(covid).cumulative
    assert kind_of(england).counts
    assert not kind_of(england).cumulative
    assert kind_of(england).period == 7
    assert kind_of(pox).centred
    assert kind_of(pox).differenced


def test_values_below_zero_are_no_values_of_at_least_zero() -> None:
    rng = np.random.default_rng(0)
    x = 20 + 15 * np.sin(2 * np.pi * np.arange(24 * 14) / 24)[:, None] + 2.2 * rng.normal(size=(24 * 14, 12))
    assert 0 < (x < 0).sum() < 40
    assert not kind_of(x).positive
    x = np.abs(x)
    assert kind_of(x).positive
    x[30, 3] = -500.0  # a wrong sign decides nothing
    assert kind_of(x).positive


def test_corrections_of_counts_are_counted() -> None:
    x = np.random.default_rng(0).poisson(40.0, size=(90, 12)).astype(float)
    x[[20, 40], [3, 5]] = -2.0
    kind = kind_of(x)
    assert kind.positive
    assert kind.corrections == 2
    assert "2 values below 0 taken for corrections" in kind.sentence


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("totals", "'x' was read as totals, as asked for, but they fall in 49 % of the steps"),
        ("counts", "'x' was read as counts, as asked for, but 48 % of them are below 0"),
        ("values", ""),
    ],
)
def test_a_kind_that_the_data_contradict_is_said(kind: str, said: str) -> None:
    wave = np.repeat(np.sin(np.arange(40.0))[:, None], 4, axis=1)
    data = ndcn.Trajectory(times=np.arange(40.0), states=wave, graph=ndcn.networks.grid(4))
    assert panel_of(data, kind=kind).value_notes == ((said,) if said else ())
    rising = ndcn.Trajectory(times=np.arange(40.0), states=np.cumsum(wave > 0, axis=0), graph=ndcn.networks.grid(4))
    assert panel_of(rising, kind="totals").value_notes == panel_of(rising, kind="counts").value_notes == ()
