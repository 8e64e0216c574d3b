"""Decimal marks and thousands separators: decided by column and file, said where it matters."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import ndcn
from commands import output

EDGES = "source,target\na,b\n"


def read(tmp_path: Path, rows: list[str], separator: str = ";", **options: str) -> tuple[list[float], list[str]]:
    """The values of node a, of which the rows hold the cells, and the notes on how they are written."""
    (tmp_path / "edges.csv").write_text(EDGES)
    lines = [separator.join(["time", "a", "b"])]
    lines += [
        separator.join([str(k), f'"{cell}"' if separator in cell else cell, str(k)]) for k, cell in enumerate(rows)
    ]
    (tmp_path / "states.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = ndcn.read(tmp_path / "edges.csv", tmp_path / "states.csv", **options)
    said = [note for note in data.notes if "thousands" in note or "could be" in note]
    return data.trajectory.states[:, 0, 0].tolist(), said


@pytest.mark.parametrize("separator", [";", ",", "\t"])
@pytest.mark.parametrize(
    ("cells", "values", "said"),
    [
        (["987", "1,234,567", "1,234"], [987, 1234567, 1234], "thousands are separated by commas ('1,234,567')"),
        (["987", "1.234.567", "1.234"], [987, 1234567, 1234], "thousands are separated by points ('1.234.567')"),
        (["1,234.5", "1,234", "-2,000"], [1234.5, 1234, -2000], "commas ('1,234.5')"),
        (["1.234,5", "1.234", "-2.000"], [1234.5, 1234, -2000], "points ('1.234,5')"),
        (["1 234", "12 345,5", "7"], [1234, 12345.5, 7], ""),
        (["1\u00a0234", "1\u202f234\u202f567", "1'234.5"], [1234, 1234567, 1234.5], ""),
        (["0,5", "1,234", "2"], [0.5, 1.234, 2], ""),
        (["0.5", "1.234", "2"], [0.5, 1.234, 2], ""),
        (["987", "1.230", "2.340"], [987, 1230, 2340], "thousands are separated by points ('1.230')"),
        (["987", "1,230", "2,340"], [987, 1230, 2340], "thousands are separated by commas ('1,230')"),
        (["1.234", "5.678", "9.012"], [1.234, 5.678, 9.012], ""),
        (["987", "1.234", "2.345"], [987, 1.234, 2.345], "'1.234' could be 1234 or 1.234, and is read as the second"),
    ],
)
def test_cells_of_a_column_decide(
    tmp_path: Path, separator: str, cells: list[str], values: list[float], said: str
) -> None:
    found, notes = read(tmp_path, cells, separator)
    assert found == values
    assert (said in notes[0]) if said else not notes


def test_a_comma_with_three_digits_in_doubt(tmp_path: Path) -> None:
    cells = ["1,234", "5,678", "9,012"]
    whole = [1234, 5678, 9012]
    assert read(tmp_path, cells, ",")[0] == whole  # a comma that separates columns is no decimal mark
    found, notes = read(tmp_path, cells, ";")
    assert found == [1.234, 5.678, 9.012]
    assert notes == [
        "states.csv: column 'a': '1,234' could be 1234 or 1.234, and is read as the second; if it is the first, write it so, "
        'or say decimal="." (--decimal .)'
    ]
    assert read(tmp_path, cells, ";", decimal=".") == (
        whole,
        ["states.csv: column 'a': thousands are separated by commas ('1,234')"],
    )
    assert "read as the second" not in output(
        "inspect", tmp_path / "edges.csv", tmp_path / "states.csv", "--decimal", "."
    )


def test_other_columns_decide(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text(EDGES)
    for mark, values in (",", [1.234, 2.345]), (".", [1234, 2345]):
        (tmp_path / "states.csv").write_text(f"time;a;b\n0;1,234;0{mark}5\n1;2,345;0{mark}7\n")
        data = ndcn.read(tmp_path / "edges.csv", tmp_path / "states.csv")
        assert data.trajectory.states[:, 0, 0].tolist() == values
        assert data.trajectory.states[:, 1, 0].tolist() == [0.5, 0.7]


@pytest.mark.parametrize(("mark", "separator"), [(".", ";"), (".", ","), (",", ","), (",", ";")])
def test_thousands_that_come_late(tmp_path: Path, mark: str, separator: str) -> None:
    """Totals are below 1000 in all rows from which the form of the file is detected."""
    cells = ["7"] * 600 + [f"{k}{mark}{k}00" for k in range(1, 9)]
    found, notes = read(tmp_path, cells, separator)
    assert found == [7] * 600 + [1100.0 * k for k in range(1, 9)]
    assert "thousands" in notes[0]


def test_columns_are_told_together(tmp_path: Path) -> None:
    nodes = [f"n{k}" for k in range(9)]
    edges = pd.DataFrame({"source": nodes[:-1], "target": nodes[1:]})
    states = pd.DataFrame({"time": range(4), **{name: ["1,234", "12,345", "5", "67"] for name in nodes}})
    said = [note for note in ndcn.read(edges, states).notes if "thousands" in note]
    assert said == [
        "the table of states: columns 'n0', 'n1', 'n2', 'n3', 'n4' and 4 more: thousands are separated by commas ('1,234')"
    ]


def test_what_is_no_number_is_refused(tmp_path: Path) -> None:
    for cell in ("1,23,456", "1,2345", "1.2.3", "1 2345", "12 34"):
        with pytest.raises(ValueError, match=f"must hold numbers, but 1 cell does not .*'{cell}'"):
            read(tmp_path, ["1,234,567", "2,345.5", cell, "5", "6"], ";")
    with pytest.raises(ValueError, match="decimal must be"):
        read(tmp_path, ["1", "2"], decimal=";")
