"""``ndcn reproduce`` as people type it, in miniature; killed, interrupted and continued."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import sqlite3
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import warm
from miniature import miniature
from ndcn import experiments
from ndcn.cli import app
from ndcn.experiments import attempt
from ndcn.experiments.classify import load_classification
from ndcn.experiments.result import Result
from ndcn.experiments.store import Store

TABLES = ("extrapolation", "interpolation", "regular")
SMALL = ("--nodes", "16", "--epochs", "2", "--runs", "1", "--only", "heat/grid")


def ndcn(*words: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["reproduce", *map(str, words)])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.stdout if code == 0 else result.output


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All runs of all tables in miniature for one cell."""
    path = tmp_path_factory.mktemp("reproduce") / "results.sqlite"
    with Store(path) as there:
        for name in TABLES:
            for run in miniature(name, models=(), runs=1).all_runs():
                outcome = attempt(run)
                assert isinstance(outcome, Result), outcome
                there.add(run, outcome)
    return path


@pytest.mark.parametrize("table", TABLES)
def test_each_table_is_printed_from_its_store(store: Path, table: str) -> None:
    text = ndcn(table, *SMALL, "--store", store)
    assert "normalised l1 error in %" in text
    assert ": l1 error, 1 run" in text
    assert "NDCN, default recipe" in text
    assert "nodes = 16, epochs = 2" in text  # not the paper's setting
    rows = json.loads(ndcn(table, *SMALL, "--store", store, "--json"))
    assert {row["metric"] for row in rows} == {"normalized_l1_percent", "l1"}
    assert all(row["runs"] == 1 and row["mean"] >= 0 for row in rows)
    assert {row["nodes"] for row in rows} == {16}
    assert {row["paper_mean"] for row in rows} == {None}  # the paper has no networks of 16 nodes


def test_every_format(store: Path) -> None:
    words = ("extrapolation", *SMALL, "--models", "ndcn,no_graph", "--store", store, "--format")
    assert ndcn(*words, "markdown").startswith("**Extrapolation")
    assert r"\begin{tabular}" in ndcn(*words, "latex")
    table = list(csv.DictReader(io.StringIO(ndcn(*words, "csv"))))
    assert [row["model"] for row in table] == ["no_graph", "ndcn"] * 2


def test_the_papers_values_are_there_in_its_own_setting(tmp_path: Path) -> None:
    Store(tmp_path / "a.sqlite").connection.close()
    words = ("regular", "--only", "heat/grid,mutualistic/grid", "--store", tmp_path / "a.sqlite", "--stored", "--json")
    for more, law in (((), "e = 0.1, h = 0.9"), (("--mutualistic", "paper"), "e = 0.9, h = 0.1")):
        rows = json.loads(ndcn(*words, *more))
        paper = {(row["dynamics"], row["model"]): row["paper_mean"] for row in rows if row["metric"] == "l1"}
        assert paper["heat", "ndcn"] == paper["heat", "ndcn_default"] == 0.165
        assert paper["heat", "persistence"] is None
        assert paper["mutualistic", "ndcn"] == (None if more else 1.414)
        assert {row["law"] for row in rows if row["dynamics"] == "mutualistic"} == {law}


def test_all_is_every_table(store: Path) -> None:
    rows = json.loads(ndcn("all", *SMALL, "--store", store, "--json"))
    assert list(dict.fromkeys(row["table"] for row in rows)) == [*TABLES, "parameters"]


def test_parameters_need_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = ndcn("parameters", "--models", "ndcn,rnn_gnn")
    assert "901" in text
    assert "24530" in text
    assert list(tmp_path.iterdir()) == []


def test_the_form_of_the_mutualistic_law_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    for printed in (False, True):
        (run,) = miniature(only=["mutualistic/grid"], models=["spline"], runs=1, printed=printed).all_runs()
        outcome = attempt(run)
        assert isinstance(outcome, Result)
        with Store(path) as there:
            there.add(run, outcome)
    words = ("extrapolation", *SMALL[:6], "--only", "mutualistic/grid", "--models", "spline", "--store", path)
    published, printed_form = ndcn(*words), ndcn(*words, "--mutualistic", "paper")
    assert "mutualistic law as in the published code" in published
    assert "mutualistic law as printed" in printed_form
    assert published.splitlines()[3] != printed_form.splitlines()[3]  # other figures


def test_status_counts_and_estimates(store: Path, tmp_path: Path) -> None:
    text = ndcn("status", *SMALL, "--store", store)
    assert text.count("done") == 5  # classification has no such cell
    found = json.loads(ndcn("status", *SMALL[:4], "--runs", 3, "--only", "heat/grid", "--store", store, "--json"))
    assert found["all"]["done"] * 3 == found["all"]["runs"]
    assert found["all"]["seconds_left"] > 0
    assert "0 of" in ndcn("status", *SMALL, "--store", tmp_path / "none.sqlite")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("extrapolation", "--only", "heat/moon"), "extrapolation has no cell 'heat/moon'"),
        (("extrapolation", "--models", "ndcn,lstm_gnn"), "no model 'lstm_gnn'"),
        (("all", "--models", "gpt"), "no model 'gpt'"),
        (("extrapolation", "--only", "cora"), "no cell 'cora'"),
        (("classification", "--only", "heat"), "no cell 'heat'"),
        (("regular", "--store", "no/such/folder.sqlite"), "no folder"),
        (("regular", "--store", "."), "is a folder"),
        (("regular", "--ray", "head"), "--ray takes auto, or an address"),
        (("moon",), "Invalid value"),
        (("regular", "--runs", "0"), "Invalid value"),
    ],
)
def test_wrong_words_change_nothing(
    words: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "--ray" in words:
        pytest.importorskip("ray", reason="Ray is not installed")
    assert message in ndcn(*words, code=2)
    assert list(tmp_path.iterdir()) == []


def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)
    assert "error: --ray needs Ray: pip install 'ndcn[ray]'" in ndcn("regular", "--ray", "auto", code=2)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_run_is_told_and_is_exit_code_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (run,) = miniature(runs=1).all_runs()
    path = tmp_path / "a.sqlite"
    with Store(path) as there:
        there.add_failure(run, "ArithmeticError: the prediction is not finite")
    monkeypatch.setattr(experiments, "missing", lambda runs, store: [])
    said = ndcn("extrapolation", *SMALL, "--models", "ndcn", "--store", path, code=1)
    assert "failed (1)" in said
    assert "failed: heat/grid ndcn, published recipe, seed 0: ArithmeticError" in said


def rows_in(path: Path) -> int:
    if not path.exists():
        return 0
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        (count,) = connection.execute("SELECT count(*) FROM runs").fetchone()
        connection.close()
    except sqlite3.OperationalError:  # not made yet
        return 0
    return int(count)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither SIGKILL nor process groups to send SIGINT to")
@pytest.mark.parametrize("name", ["SIGKILL", pytest.param("SIGINT", marks=pytest.mark.slow)])
def test_stopped_in_the_midst_and_continued(tmp_path: Path, name: str) -> None:
    how = signal.Signals[name]
    words = ["reproduce", "regular", "--only", "heat/grid", "--models", "ndcn", "--nodes", "16", "--epochs", "20"]
    words += ["--runs", "4", "--jobs", "1", "--store", str(tmp_path / "a.sqlite")]
    process = warm.start(warm.MAIN, words, new_session=True)
    end = time.monotonic() + 90
    while not rows_in(tmp_path / "a.sqlite"):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "no run was done"
        time.sleep(0.02)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")  # on Linux
    workers = children.read_text().split() if children.exists() else []
    if how is signal.SIGINT:
        os.killpg(process.pid, how)  # as Ctrl-C does: to the workers too
    else:
        os.kill(process.pid, how)
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    while any(Path(f"/proc/{worker}").exists() for worker in workers):  # they go with the command
        assert time.monotonic() < end, "workers live on"
        time.sleep(0.02)
    if how is signal.SIGINT:
        assert process.returncode == 1
        assert "the same command continues from there" in err
        assert "error: interrupted" in err
    assert out == ""
    before = rows_in(tmp_path / "a.sqlite")
    assert 1 <= before < 4
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    assert f"{before} of 4 runs are in" in done.stderr
    assert all(row["runs"] == 4 for row in json.loads(done.stdout))


def test_one_picture_of_a_sweep_is_drawn_without_a_note(tmp_path: Path) -> None:
    table = load_classification().narrowed(only=["cora"], models=["ndcn_default"], runs=1)
    with Store(tmp_path / "a.sqlite") as there:
        (model,) = table.sweep_models()
        for _, _, runs in table.sweep_runs("cora", model):
            for run in runs:
                there.add(run, Result({part: {"accuracy": 0.8} for part in ("validation", "test")}, {}, 1, 1.0, {}))
    only = ("--only", "cora", "--models", "ndcn_default", "--runs", "1", "--stored", "--store", tmp_path / "a.sqlite")
    result = CliRunner().invoke(app, ["reproduce", "sweep", *map(str, only), "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "cora_ndcn_default.png" in result.output
    assert "holds no runs" not in result.output
    Store(tmp_path / "empty.sqlite").connection.close()
    empty = ("--store", str(tmp_path / "empty.sqlite"), "--out", str(tmp_path))
    empty = (*empty[:-1], str(tmp_path / "figures"))
    result = CliRunner().invoke(app, ["reproduce", "sweep", *map(str, only[:-2]), *empty])
    assert "holds no runs" in result.stderr
    assert "written" not in result.stdout
    assert not (tmp_path / "figures").exists()
