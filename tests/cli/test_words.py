"""What commands say about dates, single files and missing shares is right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from commands import output, refused


@pytest.fixture
def files(folder: Path) -> Path:
    (folder / "edges.csv").write_text("source,target\nann,bob\nbob,cid\n")
    days = [1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 15, 16, 17, 18, 19, 22, 23, 24, 25, 26]  # no weekends
    rows = "".join(f"2021-03-{k:02d},{k},{'' if k % 4 == 0 else 2 * k},{30 - k}\n" for k in days)
    (folder / "states.csv").write_text("date,ann,bob,cid\n" + rows)
    return folder


def test_a_date_that_does_not_exist(files: Path) -> None:
    output("fit", "edges.csv", "states.csv", "--model", "persistence")
    for text in ("2021-02-30", "soon"):
        said = refused("predict", "model.ndcn", "--times", f"2021-03-05,{text}")
        assert f"--times {text}: '{text}' is no date" in said


def test_one_file_of_two(files: Path) -> None:
    for name in ("states.csv", "edges.csv"):
        said = refused("fit", name)
        assert f"{name} is a file: give a file of states too, edges first, as in: edges.csv states.csv" in said


def test_the_missing_share_is_the_same_everywhere(files: Path) -> None:
    """Weekends, which the grid of equal steps has and the data do not, are not missing."""
    said = output("fit", "edges.csv", "states.csv", "--horizon", 2) + output("inspect", "edges.csv", "states.csv")
    shares = re.findall(r"([\d.]+) % of the entries", said)
    assert len(shares) >= 3
    assert set(shares) == {"8.33"}


def test_duplicates_and_gaps_have_dates(files: Path) -> None:
    table = (files / "states.csv").read_text()
    (files / "states.csv").write_text(table + "2021-03-26,1,2,3\n")
    said = refused("inspect", "edges.csv", "states.csv")
    assert "3 pairs of node and time with several different values, the first is node 'ann' at 2021-03-26" in said
    assert "3 pairs of node and time listed more than once" in output(
        "inspect", "edges.csv", "states.csv", "--duplicates", "last"
    )
    (files / "states.csv").write_text(table + "2071-03-26,1,2,3\n")
    said = output("inspect", "edges.csv", "states.csv")
    assert "snapshots are usually 1 day apart, but there are 18262 days between 2021-03-26 and 2071-03-26" in said
