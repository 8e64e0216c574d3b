"""Outputs: never over what is read, over files of others, or in place of a device; refused before any work."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ndcn.cli import app

EDGES = "source,target\na,b\nb,c\n"
STATES = "time,a,b,c\n0,1,2,3\n1,2,3,4\n2,3,4,5\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "E.csv").write_text(EDGES)
    (tmp_path / "S.csv").write_text(STATES)
    (tmp_path / "M.ndcn").write_text("a model")
    (tmp_path / "link.csv").symlink_to("S.csv")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "data.json").write_text('{"format": "ndcn-data"}')
    (tmp_path / "data" / "states.parquet").write_text("states")
    return tmp_path


def refused(*words: str) -> str:
    ended = CliRunner().invoke(app, list(words))
    assert ended.exit_code == 2, ended.output
    return ended.output


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "E.csv", "S.csv", "--out", "S.csv"),
        ("fit", "E.csv", "S.csv", "--out", "./E.csv"),
        ("fit", "E.csv", "S.csv", "--out", "link.csv"),
        ("report", "M.ndcn", "--out", "M.ndcn"),
        ("report", "M.ndcn", "E.csv", "S.csv", "--out", "S.csv"),
        ("predict", "M.ndcn", "--data", "data", "--out", "data/states.parquet"),
        ("inspect", "E.csv", "link.csv", "--out", "S.csv"),
        ("classify", "E.csv", "--labels", "S.csv", "--save", "E.csv"),
        ("classify", "E.csv", "--labels", "S.csv", "--out", "S.csv"),
    ],
    ids=" ".join,
)
def test_an_output_that_is_an_input_is_refused(here: Path, words: tuple[str, ...]) -> None:
    before = {file: file.read_bytes() for file in here.rglob("*") if file.is_file()}
    said = refused(*words)
    assert (
        "and would be overwritten; choose another name" in " ".join(said.split())
        or "the name must end in" in said
        or "no .csv file" in said
    )
    assert {file: file.read_bytes() for file in here.rglob("*") if file.is_file()} == before


def test_a_name_of_a_model_may_be_that_of_a_file(here: Path) -> None:
    """Only paths are compared: `--model spline --out spline` is no conflict."""
    ended = CliRunner().invoke(app, ["fit", "E.csv", "S.csv", "--model", "persistence", "--out", "persistence"])
    assert ended.exit_code == 0, ended.output
    assert (here / "persistence").is_file()


def test_a_folder_with_files_of_others_is_refused_before_the_work(here: Path) -> None:
    (here / "data" / "thesis.tex").write_text("words")
    assert "holds other files than ndcn data" in refused("simulate", "--nodes", "4", "--out", "data")
    assert (here / "data" / "thesis.tex").read_text() == "words"


def test_pipes_are_neither_written_nor_read(here: Path) -> None:
    os.mkfifo(here / "pipe.csv")
    os.mkfifo(here / "pipe.ndcn")
    for words in (("fit", "E.csv", "S.csv", "--out", "pipe.ndcn"), ("inspect", "E.csv", "pipe.csv")):
        assert "pipe" in refused(*words)
    for words in (
        ("predict", "pipe.ndcn", "--times", "1"),
        ("evaluate", "pipe.ndcn", "data"),
        ("inspect", "pipe.csv", "S.csv"),
    ):
        assert "pipe" in refused(*words)
