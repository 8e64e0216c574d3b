"""The command line as a whole: help, doctor, demo, and what no command is asked for."""

from __future__ import annotations

import errno
import re
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

import ndcn
from commands import parsed, refused, run
from ndcn.cli import app, options

# Help ----------------------------------------------------------------------------------------------------------------


def test_help_names_every_command():
    text = run("--help").output
    for name in ("demo", "simulate", "fit", "predict", "evaluate", "report", "doctor"):
        assert name in text
        assert f"Example: ndcn {name}" in run(name, "--help").output
        assert run(name, "-h").output == run(name, "--help").output


def test_the_command_line_is_also_a_module():
    done = subprocess.run([sys.executable, "-m", "ndcn", "--version"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, f"ndcn {ndcn.__version__}\n")


def test_version():
    assert run("--version").output == f"ndcn {ndcn.__version__}\n"


def test_names_are_those_of_the_library():
    from ndcn._support.registries import ACTIVATIONS, MODELS
    from ndcn.training.recipes import RECIPES

    for names, known in (
        (options.LawName, ndcn.laws.NAMED),
        (options.NetworkName, ndcn.networks.NAMED),
        (options.ModelName, MODELS),
        (options.Preset, RECIPES),
        (options.OperatorName, ndcn.operators.NAMED),
        (options.Activation, ACTIVATIONS),
    ):
        assert [name.value for name in names] == list(known)
    for loss in options.Loss:
        ndcn.Objective(loss.value)


def test_wrong_usage(folder):
    assert "gravity" in (text := refused("simulate", "--law", "gravity"))
    assert all(name in text for name in ("heat", "mutualistic", "gene"))
    assert "small_world" in refused("simulate", "--network", "torus")
    assert "no_control" in refused("fit", "data", "--model", "magic")
    assert "paper" in refused("fit", "data", "--preset", "best")
    assert "huber" in refused("fit", "data", "--objective", "l3")
    refused("simulate", "--nodes", "0")
    refused("simulate", "--nodes", "many")
    refused("simulate", "--speed", "1")
    refused("dance")
    refused("predict")
    assert not list(folder.iterdir())


# doctor --------------------------------------------------------------------------------------------------------------


def test_doctor(monkeypatch):
    from ndcn.solve.kernels import euler_compiled, law_compiled

    about = parsed("doctor")
    assert (about["ndcn"], about["torch"]) == (ndcn.__version__, torch.__version__)
    assert about["threads"] == torch.get_num_threads()
    for library, kernel in ((None, "torch"), (object(), "compiled")):
        monkeypatch.setattr(euler_compiled, "library", lambda found=library: found)
        assert parsed("doctor")["kernel"] == kernel
        assert f"kernel  {kernel}" in run("doctor").stdout
        monkeypatch.setattr(law_compiled, "library", lambda found=library: found)
        assert parsed("doctor")["laws"] == kernel
        assert ("takes several times as long" in run("doctor").stdout) == (library is None)


# demo ----------------------------------------------------------------------------------------------------------------


def test_demo(folder, monkeypatch):
    monkeypatch.setattr("ndcn.cli.demo.FRAMES", 6)
    monkeypatch.setattr("ndcn.cli.demo.NODES", 36)
    about = parsed("demo", "--epochs", 3, "--out", "show")
    names = ["compare.png", "animation.gif", "model.ndcn", "law.ndcn", "data", "report.html"]
    assert sorted(p.name for p in (folder / "show").iterdir()) == sorted(names)
    assert about["files"] == [f"show/{name}" for name in names]
    page = (folder / "show" / "report.html").read_text(encoding="utf-8")
    assert "ndcn fit show/data --model ndcn --epochs 3 --seed 0 --out show/model.ndcn" in page
    assert about["paper"]["ndcn"] == {"interpolation": pytest.approx(0.032), "extrapolation": pytest.approx(0.041)}
    scores = parsed("evaluate", "show/model.ndcn", "show/data")
    assert about["ndcn"]["interpolation"] == pytest.approx(scores["interpolation"]["normalized_l1"], rel=1e-4)
    assert about["ndcn"]["extrapolation"] == pytest.approx(scores["extrapolation"]["normalized_l1"], rel=1e-4)
    assert about["no_graph"]["epochs"] == 3
    assert re.match(r"dx_i/dt = sum_j A_ij (1\.0000|0\.9999)", about["interaction"]["equation"])
    assert about["interaction"]["extrapolation"] < 1e-4
    first, _, rest = page.partition('id="comparison"')
    assert about["interaction"]["equation"] in rest
    assert 'id="stage"' not in first  # the page opens on the comparison


def test_demo_prints_a_table_and_replaces_its_files(folder, monkeypatch):
    monkeypatch.setattr("ndcn.cli.demo.FRAMES", 6)
    monkeypatch.setattr("ndcn.cli.demo.NODES", 25)
    for _ in range(2):
        said = run("demo", "--epochs", 2).stdout
    for text in (
        "interpolation",
        "extrapolation",
        "3.2",
        "4.1",
        "41.9",
        "30.5",
        "NDCN",
        "the law",
        "The law: dx_i/dt",
        "written to demo/",
    ):
        assert text in said
    assert f"open {(folder / 'demo' / 'report.html').as_uri()} in a browser" in said
    assert [p.name for p in folder.iterdir()] == ["demo"]


def test_demo_of_the_epidemic(folder, monkeypatch):
    monkeypatch.setattr("ndcn.cli.demo_sets.SHUFFLES", 19)
    about = parsed("demo", "epidemic")
    names = {"forecast.png", "nodes.csv", "edges.csv", "states.csv", "forecast.csv", "model.ndcn", "report.html"}
    assert {path.name for path in (folder / "demo_epidemic").iterdir()} == names
    assert about["errors"]["forecast"]["7"] < about["errors"]["last value"]["7"]
    assert 0.8 < about["coverage"] <= 1
    assert about["network"]["helps"]
    table = pd.read_csv(folder / "demo_epidemic" / "forecast.csv")
    assert list(table) == ["date", "node", "cases", "cases_lower", "cases_upper"]
    assert (len(table), table["date"].iloc[0]) == (14 * 49, "2024-05-06")
    assert "49 nodes" in run("inspect", "demo_epidemic/edges.csv", "demo_epidemic/states.csv").stdout
    assert '"placed": true' in (folder / "demo_epidemic" / "report.html").read_text().replace('":true', '": true')


@pytest.mark.slow
def test_demo_of_a_law(folder, monkeypatch):
    monkeypatch.setattr("ndcn.datasets.ieee30.TIMES", np.arange(26) / 10)
    about = parsed("demo", "power_grid", "--out", "show")
    assert about["equation"].startswith("Swing: damping = 0.")
    assert about["errors"]["law"] < 1e-4 < about["errors"]["persistence"]
    assert {path.name for path in (folder / "show").iterdir()} == {
        "prediction.png",
        "data",
        "model.ndcn",
        "report.html",
    }
    assert "is not one of 'heat', 'epidemic', 'power_grid', 'opinions'" in refused("demo", "gravity")


def test_demo_refuses_places_that_are_taken(folder, monkeypatch):
    (folder / "file").write_text("")
    assert "is a file" in refused("demo", "--out", "file")
    assert "there is no folder" in refused("demo", "--out", "no/demo")
    (folder / "demo" / "data").mkdir(parents=True)
    assert "not ndcn data" in refused("demo")


def test_demo_of_a_data_set_does_not_replace_the_files_of_others(folder):
    (folder / "edges.csv").write_text("mine")
    assert ". holds other files, such as edges.csv" in refused("demo", "epidemic", "--out", ".")
    assert "holds other files" in refused("demo", "opinions", "--out", ".")
    assert [path.name for path in folder.iterdir()] == ["edges.csv"]


def test_demo_interrupted(folder, monkeypatch):
    from ndcn._support.progress import Progress

    monkeypatch.setattr(Progress, "update", lambda *_: signal.raise_signal(signal.SIGINT))
    text = refused("demo", "--epochs", 20, code=1)
    assert "error: interrupted" in text
    assert not list(folder.iterdir())


# Anything else -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (MemoryError(), 1, "not enough memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), 1, "not enough memory"),
        (PermissionError(13, "Permission denied", "/data"), 1, "error: Permission denied: /data"),
        (IsADirectoryError(21, "Is a directory", "x"), 1, "error: Is a directory: x"),
        (NotADirectoryError(20, "Not a directory", "x/y"), 2, "error: Not a directory: x/y"),
        (TypeError("a list is needed"), 2, "error: a list is needed"),
    ],
)
def test_exceptions_become_one_line(folder, monkeypatch, error, code, text):
    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(ndcn, "simulate", broken)
    assert text in refused("simulate", "--nodes", 9, code=code)


@pytest.mark.parametrize("error", [RuntimeError("a bug"), BrokenPipeError(errno.EPIPE, "Broken pipe")])
def test_bugs_are_not_hidden(folder, monkeypatch, error):
    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(ndcn, "simulate", broken)
    result = CliRunner().invoke(app, ["simulate", "--nodes", "9"])
    assert result.exit_code == 1
    assert "error:" not in result.output
