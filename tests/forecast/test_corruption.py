"""One wrong cell, node or day: it is named, and no other node's forecast moves by more than a tenth of its interval."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ndcn
from ndcn import forecast
from ndcn.data.panel import panel_of
from ndcn.io.doubts import doubts

SHARED = Path(__file__).parents[3] / "shared" / "data"
HORIZON = 7


def made(name: str) -> np.ndarray:
    """Counts, totals and centred values at 100 nodes, with a common wave and weekdays."""
    rng = np.random.default_rng(7)
    t, size = np.arange(70.0), rng.lognormal(3.0, 0.8, size=100)
    wave = np.exp(1.2 * np.sin(t / 11)) * np.where(t % 7 >= 5, 0.6, 1.0)
    counts = rng.poisson(size * wave[:, None]).astype(float)
    values = np.sin(t / 9)[:, None] * size / 10 + rng.normal(size=(70, 100))
    return {"counts": counts, "totals": np.cumsum(counts, axis=0), "values": values}[name]


def real(name: str) -> np.ndarray:
    """A set of ../shared/data, cut so that a test takes seconds."""
    if name in ("H1N1", "COVID"):
        x = np.loadtxt(SHARED / "epidemics" / f"{name}_filter_total_cases_raw.txt")
        n = len(np.loadtxt(SHARED / "epidemics" / f"{name}_adj.txt"))
        return (x.T if len(x) == n else x)[:100]
    if name == "england":
        return np.array(json.loads((SHARED / "temporal" / "england_covid.json").read_text())["y"], dtype=float)
    if name == "chickenpox":
        return np.array(json.loads((SHARED / "temporal" / "chickenpox.json").read_text())["FX"])[:200]
    if name == "measles":
        table = pd.read_csv(SHARED / "measles_uk" / "states.csv")
        return table.pivot(index="year", columns="city", values="cases").sort_index().to_numpy(float)[:200]
    return pd.read_csv(SHARED / name / "states.csv").iloc[:, 1:].to_numpy(float)[:200]


def trajectory(x: np.ndarray) -> ndcn.Trajectory:
    graph = ndcn.networks.small_world(x.shape[1], seed=0)
    return ndcn.Trajectory(times=np.arange(len(x)) * 1.0, states=x, graph=graph, mask=np.isfinite(x)[..., None])


def cell(row: int, way: str, node: int):
    def change(x: np.ndarray, totals: bool) -> None:
        old, top = x[row, node], np.nanmax(np.abs(x))
        x[row, node] = {
            "huge": 99999.0 * max(1.0, top),
            "hundredfold": 100.0 * max(abs(old), np.abs(x[:, node]).max()),
            "zero": 0.0 if totals else 50.0 * top,
            "sign": -20.0 * max(abs(old), np.abs(x[:, node]).max()),
            "sentinel": -999.0 if top < 100 or not (x < 0).any() else -9999.0,
        }[way]

    return change


def nodewise(way: str, node: int):
    def change(x: np.ndarray, totals: bool) -> None:
        rows = slice(len(x) // 2, None)
        if way == "unit":
            x[rows, node] *= 1000.0
        elif way == "unit all along":
            x[:, node] *= 1000.0
        elif way == "shift":
            x[rows, node] += 30.0 * np.abs(x).max()
        elif way == "negative":
            x[:, node] *= -1.0
        elif way == "gap":
            x[len(x) // 2 : len(x) // 2 + 6, node] = np.nan
        elif way == "ends early":
            x[-5:, node] = np.nan
        elif way == "sentinels":
            x[20:24, node] = -999.0 if not (x < 0).any() else -99999.0
        elif way == "never":
            x[:, node] = np.nan

    return change


def daily(way: str, row: int):
    def change(x: np.ndarray, totals: bool) -> None:
        if way == "missing":
            x[row] = np.nan
        elif totals:
            x[row] = 0.0 if way == "tenfold" else x[row - 1]
        elif way == "tenfold":
            x[row] = 10.0 * x[row] + 5.0 * np.abs(x).mean(axis=0)
        else:
            x[row] = x[row - 1]

    return change


def ending(way: str, node: int):
    """Days and cells at the end, which nothing later confirms."""

    def change(x: np.ndarray, totals: bool) -> None:
        which = slice(None) if "day" in way else node
        rows = slice(-2 if "two" in way else -1, None)
        factor = {"0": 0.0, "tenfold": 10.0, "an eighth": 0.125, "fivefold": 5.0}[way.split(": ")[1]]
        x[rows, which] *= factor
        if totals or (x == np.round(x)).mean() > 0.9:
            x[rows, which] = np.floor(x[rows, which])

    return change


WAYS = {
    **{f"{way} at {row}": (row, way) for row in (-1, -2, 30) for way in ("huge", "hundredfold", "sign")},
    **{f"{way} at 30": (30, way) for way in ("zero", "sentinel")},
    "sentinel at -1": (-1, "sentinel"),
    **{way: way for way in ("unit", "unit all along", "shift", "negative", "gap", "ends early", "sentinels", "never")},
    "tenfold day": ("tenfold", 30),
    "repeated day": ("repeat", 30),
    "missing day": ("missing", 30),
}
DAYS = ("last day: 0", "last day: tenfold", "last day: an eighth", "last two days: 0")
CELLS = ("last cell: fivefold", "last two cells: 0")
QUICK = {
    "counts": ("huge at -1", "shift", "never"),
    "totals": ("hundredfold at 30",),
    "values": ("huge at -1", "sentinel at -1"),
}


def corrupted(x: np.ndarray, way: str, node: int) -> np.ndarray:
    out, what, totals = x.copy(), WAYS.get(way, way), bool((np.diff(x, axis=0) >= 0).all())
    if way in (*DAYS, *CELLS):
        ending(way, node)(out, totals)
    elif isinstance(what, str):
        nodewise(what, node)(out, totals)
    elif isinstance(what[0], int):
        cell(what[0], what[1], node)(out, totals)
    else:
        kind, row = what
        moving = np.flatnonzero((np.diff(x, axis=0) != 0).mean(axis=1) > 0.1) + 1
        daily(kind, int(moving[moving >= row][0]))(out, totals)  # a still day that is repeated is no error
    return out


def forecasts(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    found = forecast.auto(trajectory(x), horizon=HORIZON, progress=False)
    times = np.arange(len(x), len(x) + HORIZON) * 1.0
    low, high = (end.states[..., 0].numpy() for end in found.intervals(times))
    return found.predict(times).states[..., 0].numpy(), low, high


def named(x: np.ndarray) -> set[tuple[str, str]]:
    return {(one.node, str(one)) for one in doubts(ndcn.Dataset((trajectory(x),)))}


Said = tuple[np.ndarray, np.ndarray, np.ndarray]


def check(x: np.ndarray, plain: Said, clean: set[tuple[str, str]], way: str) -> None:
    node = int(np.argsort(np.abs(x).mean(axis=0))[x.shape[1] // 2])
    before, low, high = plain
    wrong = corrupted(x, way, node)
    after, _, _ = forecasts(wrong)
    others = np.arange(x.shape[1]) != node
    if way == "never":
        assert np.isnan(after[:, node]).all()
    moved = np.abs(after - before)[:, others] / np.maximum(high - low, 1e-9)[:, others]
    assert np.nanmax(moved) <= 0.1 + 1e-9, f"{way}: another node moves by {np.nanmax(moved):.2f} of its interval"
    if way != "missing day":  # which is no doubt: nothing is there
        new = {who for who, _ in named(wrong) - clean}
        assert {str(node), "all nodes"} & new, f"{way}: not named"


@functools.cache
def known(name: str, real_set: bool) -> tuple[np.ndarray, Said, set[tuple[str, str]]]:
    """Data, their forecasts, and what is doubted in them."""
    x = real(name) if real_set else made(name)
    return x, forecasts(x), named(x)


@pytest.mark.parametrize(
    ("name", "way"),
    [
        pytest.param(name, way, marks=() if way in quick else pytest.mark.slow)
        for name, quick in QUICK.items()
        for way in WAYS
    ],
)
def test_made_data(name: str, way: str) -> None:
    check(*known(name, False), way)


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="the real sets are not here")
@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("name", ["england", "H1N1", "COVID", "chickenpox", "flu_germany", "wind_uk", "measles"])
def test_real_data(name: str, way: str) -> None:
    check(*known(name, True), way)


def check_last_days(x: np.ndarray, way: str) -> None:
    """A wrong last day is named once, and forecasts stay where they are if it is missing."""
    wrong, missing = corrupted(x, way, 0), x.copy()
    missing[-2 if "two" in way else -1 :] = np.nan
    before, low, high = forecasts(missing)
    moved = np.abs(forecasts(wrong)[0] - before) / np.maximum(high - low, 1e-9)
    assert np.nanmax(moved) <= 1.0, f"{way}: a node moves by {np.nanmax(moved):.2f} of its interval"
    new = named(wrong) - named(x)
    assert sum(who == "all nodes" for who, _ in new) == 1, f"{way}: not named, or more than once: {new}"


UNSEEN = {
    ("flu_germany", DAYS[1]),
    ("measles", DAYS[2]),
}  # known limits: 33 of 140 districts report; fortnights vary as much


def active_end(x: np.ndarray) -> np.ndarray:
    """Up to the last of the days with most reports: a day of 0 in a quiet season is no error."""
    active = (x != 0).sum(axis=1)
    return x[: int(np.flatnonzero(active >= np.quantile(active, 0.9))[-1]) + 1]


@pytest.mark.parametrize("way", [DAYS[0], *(pytest.param(way, marks=pytest.mark.slow) for way in DAYS[1:])])
@pytest.mark.parametrize("name", ["counts", pytest.param("totals", marks=pytest.mark.slow)])
def test_last_days_of_made_data(name: str, way: str) -> None:
    check_last_days(made(name), way)


@pytest.mark.parametrize("way", [pytest.param(CELLS[0], marks=pytest.mark.slow), CELLS[1]])
@pytest.mark.parametrize("name", ["totals", pytest.param("counts", marks=pytest.mark.slow)])
def test_last_cells_of_made_data(name: str, way: str) -> None:
    check(*known(name, False), way)


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="the real sets are not here")
@pytest.mark.parametrize("way", DAYS)
@pytest.mark.parametrize("name", ["england", "H1N1", "COVID", "flu_germany", "wind_uk", "measles"])
def test_last_days_of_real_data(name: str, way: str) -> None:
    if (name, way) not in UNSEEN:
        check_last_days(active_end(real(name)), way)
        return
    with pytest.raises(
        AssertionError
    ):  # no further off than true days of the past; once it is found, take it out of UNSEEN
        check_last_days(active_end(real(name)), way)


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="the real sets are not here")
@pytest.mark.parametrize("way", CELLS)
@pytest.mark.parametrize("name", ["H1N1", "COVID"])
def test_last_totals_of_real_data(name: str, way: str) -> None:
    check(*known(name, True), way)


def test_clean_data_lose_nothing() -> None:
    for name in ("counts", "totals", "values"):
        panel = panel_of(trajectory(made(name)))
        assert panel.observed.mean() > 0.999
