"""Excel workbooks: sheets, headers below titles, dates, numbers as text, and what cannot be read."""

from __future__ import annotations

import zipfile
from datetime import datetime
from pathlib import Path

import pandas as pd
import pytest
import statsmodels

import ndcn
from commands import output, parsed, refused

EDGES = [["source", "target"], ["ann", "bob"], ["bob", "cid"]]
DAYS = [datetime(2021, 3, day) for day in range(1, 15)]
STATES = [["date", "ann", "bob", "cid"], *([day, k, 2 * k, 3 * k + 0.5] for k, day in enumerate(DAYS))]


def workbook(path: Path, **sheets: list[list[object]]) -> Path:
    with pd.ExcelWriter(path) as writer:
        for name, rows in sheets.items():
            pd.DataFrame(rows).to_excel(writer, sheet_name=name, header=False, index=False)
    return path


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    return workbook(tmp_path / "edges.xlsx", Edges=EDGES)


def values(data: ndcn.Dataset) -> list[list[float]]:
    return data.trajectory.states[:, :, 0].T.tolist()


WANTED = [[row[k] for row in STATES[1:]] for k in (1, 2, 3)]


def test_workbooks_of_edges_and_states(edges: Path, tmp_path: Path) -> None:
    data = ndcn.read(edges, workbook(tmp_path / "states.xlsx", States=STATES))
    assert values(data) == WANTED
    assert data.calendar.texts([0, 13]) == ["2021-03-01", "2021-03-14"]


def test_the_first_sheet_with_data_or_the_one_that_is_named(edges: Path, tmp_path: Path) -> None:
    other = [STATES[0], *([day, 1, 1, k] for k, day in enumerate(DAYS))]
    path = workbook(tmp_path / "states.xlsx", Read_me=[["by hand"]], Cases=STATES, Deaths=other)
    data = ndcn.read(edges, path)
    assert values(data) == WANTED
    assert any("sheet 'Cases' is read; name another as states.xlsx:SHEET ('Deaths')" in note for note in data.notes)
    assert "2 nodes that never change stay in: 'ann', 'bob'" in output("inspect", edges, f"{path}:Deaths")
    assert "has no sheet 'Beds'; its sheets are 'Read_me', 'Cases', 'Deaths'" in refused(
        "inspect", edges, f"{path}:Beds"
    )
    assert "no sheet 'Read_me' holds a table" in refused("inspect", edges, f"{path}:Read_me")


def test_titles_above_the_header_and_places_in_messages(edges: Path, tmp_path: Path) -> None:
    rows = [["Cases by city", "", "", ""], ["", "", "", ""], *map(list, STATES)]
    path = tmp_path / "states.xlsx"
    assert values(ndcn.read(edges, workbook(path, States=rows))) == WANTED
    rows[6][2] = "many"
    with pytest.raises(ValueError, match=r"column 'bob' must hold numbers, but 1 cell does not \(row 7: 'many'\)"):
        ndcn.read(edges, workbook(path, States=rows))
    assert ndcn.read(edges, path, missing="many").trajectory.states.isnan().sum() == 1


def test_cells_of_text_and_dates_as_headings(edges: Path, tmp_path: Path) -> None:
    rows = [["city", *DAYS], *([name, *(f"{k + 1},{k:03d}" for k in range(14))] for name in ("ann", "bob", "cid"))]
    data = ndcn.read(edges, workbook(tmp_path / "states.xlsx", States=rows))
    assert values(data)[0] == [1000 * (k + 1) + k for k in range(14)]
    assert data.calendar.texts([13]) == ["2021-03-14"]


def test_old_workbooks(tmp_path: Path) -> None:
    """statsmodels comes with an .xls file of FRED: a page of text, monthly and quarterly figures."""
    path = next(
        path for path in Path(statsmodels.__file__).parent.glob("datasets/macrodata/**/*.xls") if path.is_file()
    )
    pd.DataFrame({"source": ["CPIAUCSL", "M1SL"], "target": ["M1SL", "POP"]}).to_csv(
        tmp_path / "edges.csv", index=False
    )
    facts = parsed("inspect", tmp_path / "edges.csv", path)
    assert (facts["nodes"], facts["unit"], facts["runs"][0]["first"]) == (4, "month", "1934-01-01")
    assert facts["runs"][0]["snapshots"] == 911
    assert parsed("inspect", tmp_path / "edges.csv", f"{path}:Monthly")["ranges"] == facts["ranges"]
    assert any("sheet 'Monthly' is read" in note for note in facts["notes"])


def test_what_cannot_be_read(edges: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "states.xlsx").write_text("date,ann\n")
    with pytest.raises(ValueError, match=r"states.xlsx cannot be read as Excel: .*; save it again, or as CSV"):
        ndcn.read(edges, tmp_path / "states.xlsx")
    path = workbook(tmp_path / "twice.xlsx", States=[["date", "ann", "ann"], [1, 2, 3], [2, 3, 4]])
    with pytest.raises(ValueError, match="two columns called 'ann'"):
        ndcn.read(edges, path)
    monkeypatch.setattr("ndcn.io.formats.spreadsheets.MOST_BYTES", 1000)
    with pytest.raises(ValueError, match="too much for a workbook; save it as CSV"):
        ndcn.read(edges, path)
    assert zipfile.is_zipfile(path)
    monkeypatch.undo()
    monkeypatch.setattr("ndcn.io.formats.spreadsheets.find_spec", lambda name: None)
    assert "Excel files need an extra: pip install 'ndcn[excel]'" in refused("inspect", edges, path)


def test_numbers_beside_words_for_missing_stay_numbers(edges: Path, tmp_path: Path) -> None:
    rows = [list(row) for row in STATES]
    for row, cell in zip(rows[1:5], (987, 1.234, "NA", "unknown"), strict=True):
        row[2] = cell
    data = ndcn.read(edges, workbook(tmp_path / "states.xlsx", States=rows), missing="unknown")
    assert data.trajectory.states[:2, 1, 0].tolist() == [987, 1.234]
    assert data.trajectory.states.isnan().sum() == 2
    assert not any("could be" in note for note in data.notes)
