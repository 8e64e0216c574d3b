"""``ndcn report`` as people use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ndcn.cli import app


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    heat = "simulate --law heat --network grid"
    for words in (
        f"{heat} --nodes 16 --snapshots 30 --out {folder}/data",
        f"{heat} --nodes 9 --snapshots 9 --out {folder}/other",
        f"fit {folder}/data --epochs 3 --out {folder}/model.ndcn",
        f"classify karate --epochs 2 --save {folder}/classes.ndcn",
    ):
        assert run(*words.split()).exit_code == 0
    return folder


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_it_says_where_the_page_is(made: Path, tmp_path: Path) -> None:
    result = run("report", made / "model.ndcn", made / "data", "--out", tmp_path / "page.html")
    assert result.exit_code == 0
    assert (tmp_path / "page.html").as_uri() in result.stdout
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"ndcn report {made / 'model.ndcn'} {made / 'data'}" in text


def test_without_data(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("report", made / "model.ndcn", "--json")
    about = json.loads(result.stdout)
    assert about == {"out": "report.html", "bytes": Path("report.html").stat().st_size, "nodes": 16}


def test_a_page_is_replaced(made: Path, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("old")
    assert run("report", made / "model.ndcn", "--out", tmp_path / "page.html").exit_code == 0
    assert (tmp_path / "page.html").stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["{made}/model.ndcn", "--out", "{tmp}"], "is a folder; give the name of a file"),
        (["{made}/model.ndcn", "--out", "{tmp}/no/page.html"], "there is no folder"),
        (["{made}/nothing.ndcn"], "there is no model file"),
        (["{made}/data"], "is a folder, not a model file"),
        (["{made}/classes.ndcn", "{made}/data"], "is a classifier, which holds its graph and labels: give no data"),
        (["{made}/model.ndcn", "{made}/nothing"], "there is no data folder"),
        (["{made}/model.ndcn", "{made}/other"], "another graph"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(made: Path, tmp_path: Path, words: list[str], said: str) -> None:
    result = run("report", *(word.format(made=made, tmp=tmp_path) for word in words))
    assert result.exit_code == 2
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("error: ")
    assert said in last
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    (folder / "edges.csv").write_text("from,to\nKöln,Bonn\nBonn,Essen\nEssen,Hagen\n", encoding="utf-8")
    rows = [f"{day:02d}.03.2021,{day},{2 * day + day % 3},{40 - day},{day % 5}" for day in range(1, 31)]
    text = "\n".join(["day,Köln,Bonn,Essen,Hagen", *rows])
    (folder / "states.csv").write_text(text, encoding="utf-8")
    files = folder / "edges.csv", folder / "states.csv"
    assert run("fit", *files, "--model", "ndcn", "--epochs", "2", "--out", folder / "model.ndcn").exit_code == 0
    assert run("fit", *files, "--horizon", "3", "--out", folder / "auto.ndcn").exit_code == 0
    return folder


@pytest.mark.parametrize(("model", "last"), [("model", "2021-04-07"), ("auto", "2021-04-02")])
def test_own_files(own: Path, tmp_path: Path, model: str, last: str) -> None:
    files = own / "edges.csv", own / "states.csv"
    result = run("report", own / f"{model}.ndcn", *files, "--undirected", "--time", "day", "--out", tmp_path / "p.html")
    assert result.exit_code == 0, result.stderr
    assert (
        f"notes on the data: `ndcn inspect {files[0]} {files[1]} --undirected --time day` shows them" in result.stderr
    )
    text = (tmp_path / "p.html").read_text(encoding="utf-8")
    content = json.loads(text.split('id="content">')[1].split("</script>")[0])
    assert content["dates"][0] == "2021-03-01"
    assert content["dates"][-1] == last
    fit, page = content["repeat"]["commands"]
    assert fit.startswith(f"ndcn fit {files[0]} {files[1]} --undirected --time day --model ")
    assert page.startswith(f"ndcn report {own / model}.ndcn {files[0]} {files[1]} --undirected --time day --out ")


def test_a_file_of_edges_alone_is_not_enough(own: Path) -> None:
    result = run("report", own / "model.ndcn", own / "edges.csv")
    assert result.exit_code == 2
    assert "give a file of states too" in result.stderr


def test_help_shows_an_example() -> None:
    assert "ndcn report model.ndcn data --out report.html" in " ".join(run("report", "--help").stdout.split())
