"""Mistyped commands and options, and outputs that cannot be written, which are found before any work is done."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

import ndcn
from commands import refused


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("forcast", "'fit' or 'predict'"),
        ("inspct", "'inspect'"),
        ("train", "'fit'"),
        ("networktest", "'network-test'"),
        ("Report", "'report'"),
        ("version", "'--version'"),
    ],
)
def test_mistyped_commands_get_a_suggestion(word: str, meant: str) -> None:
    assert f"No such command '{word}'. Did you mean {meant}" in refused(word)


def test_words_that_are_like_no_command_get_none() -> None:
    assert "Did you mean" not in refused("xyzzy")


@pytest.mark.parametrize(("word", "meant"), [("--horizn", "--horizon"), ("--output", "--out")])
def test_mistyped_options_get_a_suggestion(word: str, meant: str) -> None:
    assert meant in refused("fit", "edges.csv", "states.csv", word, "3")


COMMANDS = {
    "fit": (["fit", "data"], "model.ndcn"),
    "predict": (["predict", "model.ndcn", "--times", "1"], "table.csv"),
    "report": (["report", "model.ndcn"], "page.html"),
    "inspect": (["inspect", "edges.csv", "states.csv"], "picture.png"),
    "network-test": (["network-test", "data"], "picture.png"),
    "classify": (["classify", "karate"], "table.csv"),
    "simulate": (["simulate"], "data"),
    "demo": (["demo"], "demo"),
    "reproduce": (["reproduce", "figures"], "figures"),
}


@pytest.fixture
def no_work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, and a library that reads, loads and simulates nothing."""

    def work(*_: object, **__: object) -> None:
        raise AssertionError("work began before the output was checked")

    for name in ("read", "load", "simulate"):
        monkeypatch.setattr(ndcn, name, work)
    monkeypatch.setattr(ndcn.Trajectory, "load", work)
    monkeypatch.setattr("ndcn.classify.datasets.karate_club", work)
    monkeypatch.setattr("ndcn.cli.reproduce._carry_out", work)
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_that_cannot_be_written_is_found_first(
    no_work: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    words, name = COMMANDS[command]
    (no_work / "file").write_text("")
    if command != "reproduce":
        assert "there is no folder" in refused(*words, "--out", f"nowhere/{name}")
    (no_work / "locked").mkdir()
    make = tempfile.mkdtemp

    def locked(suffix: str | None = None, prefix: str | None = None, dir: object = None) -> str:
        if Path(str(dir)).name == "locked":
            raise PermissionError(13, "Permission denied", str(dir))
        return make(suffix, prefix, dir)

    monkeypatch.setattr(tempfile, "mkdtemp", locked)
    said = refused(*words, "--out", f"locked/{name}", code=1)
    assert "could not write" in said
    assert "Permission denied" in said


@pytest.mark.parametrize(
    ("command", "name", "message"),
    [
        ("fit", "model.csv", "give it another ending, as model.ndcn"),
        ("predict", "table.xlsx", "must end in .csv or .parquet"),
        ("report", "page.pdf", "must end in .html"),
        ("inspect", "picture.txt", "must end in .png"),
        ("network-test", "picture", "must end in .png"),
        ("classify", "table.html", "must end in .csv"),
    ],
)
def test_an_ending_of_another_format_is_refused_first(no_work: Path, command: str, name: str, message: str) -> None:
    assert message in refused(*COMMANDS[command][0], "--out", name)


def test_outputs_that_are_no_files_are_refused_first(no_work: Path) -> None:
    os.mkfifo("pipe.ndcn")
    assert "is a pipe" in refused("fit", "data", "--out", "pipe.ndcn")
    (no_work / "folder.csv").mkdir()
    assert "is a folder" in refused("predict", "model.ndcn", "--times", "1", "--out", "folder.csv")
    (no_work / "taken").write_text("")
    for words in (["demo"], ["reproduce", "figures"]):
        assert "is a file" in refused(*words, "--out", "taken")
    assert "ending" in refused("classify", "karate", "--save", "model.csv")
    assert "File name too long" in refused("fit", "data", "--out", "m" * 300 + ".ndcn", code=1)
    assert sorted(os.listdir()) == ["folder.csv", "pipe.ndcn", "taken"]
