"""Values that mean "not observed": given by the user, and suspected."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ndcn
from commands import output, parsed, refused

EDGES = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})


def table(values: np.ndarray) -> pd.DataFrame:
    days = pd.date_range("2021-03-01", periods=len(values)).strftime("%Y-%m-%d")
    return pd.DataFrame({"date": days, **dict(zip("abc", values.T, strict=True))})


def counts(**cells: float) -> np.ndarray:
    """Counts of 40 days and three nodes; ``b3=-999`` puts -999 for the node b on day 3."""
    values = np.random.default_rng(0).poisson(50, (40, 3)).astype(float)
    for cell, value in cells.items():
        values[int(cell[1:]), "abc".index(cell[0])] = value
    return values


def test_given_numbers_and_words_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    EDGES.to_csv("edges.csv", index=False)
    frame = table(counts(b3=-999, b4=-999, c5=9999)).astype(object)
    frame.loc[7, "a"] = "Unknown"
    frame.to_csv("states.csv", index=False)
    assert "or say so with --missing 'Unknown'" in refused("inspect", "edges.csv", "states.csv")
    words = ["--missing", -999, "--missing", 9999, "--missing", "unknown"]
    facts = parsed("inspect", "edges.csv", "states.csv", *words)
    assert facts["missing"] == pytest.approx(4 / 120)
    assert "states.csv: 2 values of -999, taken as missing" in facts["notes"]
    assert not any("occurs" in note for note in facts["notes"])
    said = output("fit", "edges.csv", "states.csv", *words, "--model", "persistence", "--extrapolation", 0)
    assert "notes on the data" in said
    data = ndcn.read("edges.csv", "states.csv", missing=[-999, "9999", "unknown"])
    assert data.trajectory.states.isnan().sum() == 4


def test_values_of_float32_are_found() -> None:
    values = counts(b3=-99.9).astype(np.float32)
    assert ndcn.read(EDGES, table(values), missing=-99.9).trajectory.states.isnan().sum() == 1


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([None], TypeError, "numbers and words"),
        ([True], TypeError, "numbers and words"),
        ([float("nan")], ValueError, "already means"),
        (["NA"], ValueError, "already means"),
        ([""], ValueError, "already means"),
    ],
)
def test_what_cannot_be_given(given: list[object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ndcn.read(EDGES, table(counts()), missing=given)


def suspects(values: np.ndarray) -> list[str]:
    return [note for note in ndcn.read(EDGES, table(values)).notes if "--missing" in note]


@pytest.mark.parametrize(
    ("cells", "value"),
    [
        ({"b3": -999, "c9": -999}, "-999"),
        ({"b3": -9999}, "-9999"),
        ({"b3": 9999, "c9": 9999}, "9999"),
        ({"b3": 99999, "a7": 99999}, "99999"),
        ({"b3": -1, "c9": -1, "a0": -1}, "-1"),
        ({"b3": 1e20, "c9": 1e20}, "1e+20"),
        ({"b3": 5000, "c9": 5000}, "5000"),
    ],
)
def test_suspected_values_are_named_with_the_remedy(cells: dict[str, float], value: str) -> None:
    [said] = suspects(counts(**cells))
    assert f"--missing {value} (missing=[{value}])" in said
    first = min(cells, key=lambda cell: int(cell[1:]))
    assert f"{first[0]!r} at 2021-03-{int(first[1:]) + 1:02d}" in said


def test_several_codes_at_once() -> None:
    said = suspects(counts(b3=-999, c9=-999, a1=999, a2=999))
    assert [text.split()[0] for text in said] == ["-999", "999"]
    assert all("lie between" in text and "-999 and" not in text for text in said)


def test_inspect_of_data_from_elsewhere_names_them_too() -> None:
    graph = ndcn.Graph.from_edges([("a", "b"), ("b", "c")])
    run = ndcn.Trajectory(times=range(40), states=counts(b3=-999), graph=graph)
    assert any("--missing -999" in plan for plan in ndcn.tables.inspect(ndcn.Dataset((run,))).plans)


@pytest.mark.parametrize(
    "values",
    [
        counts(),
        counts(b3=99999),  # once: an outlier, which is another matter
        counts(b3=-3, c9=-5),  # corrections of counts
        np.random.default_rng(0).integers(0, 2, (40, 3)).astype(float),  # on and off
        np.random.default_rng(0).normal(size=(40, 3)),
        np.cumsum(np.random.default_rng(0).lognormal(2, 2, (40, 3)), axis=0),
        np.stack([np.arange(40.0), np.arange(40.0) % 7, np.full(40, 1000.0)], axis=1),  # a node on another level
        np.stack([np.arange(40.0), np.arange(40.0) % 7, [*range(30), *[1000] * 10]], axis=1),  # and one that goes there
    ],
)
def test_ordinary_data_raise_no_suspicion(values: np.ndarray) -> None:
    assert suspects(values) == []
