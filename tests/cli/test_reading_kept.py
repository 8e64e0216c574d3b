"""Options of reading are kept with the model, used again for the same files, and can be overridden."""

from __future__ import annotations

from pathlib import Path

import pytest

import ndcn
from commands import output, refused


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.csv").write_text("source,target,time\nann,bob,2021-03-01\nbob,cid,2021-03-05\n")
    rows = "".join(f"{k:02d}.03.2021,{k},{2 * k},{30 - k}\n" for k in range(1, 21))
    (tmp_path / "states.csv").write_text(f"date,ann,bob,cid\n{rows}05.03.2021,9,9,9\n")
    return tmp_path


FIT = ["fit", "edges.csv", "states.csv", "--model", "ndcn", "--epochs", 2, "--extrapolation", 0.3]


def test_evaluate_and_report_read_as_the_fit_did(files: Path) -> None:
    output(*FIT, "--duplicates", "last", "--one-graph", "--date-format", "%d.%m.%Y")
    kept = {"edge_time": False, "duplicates": "last", "date_format": "%d.%m.%Y"}
    assert ndcn.load("model.ndcn").reading_ == kept
    said = output("evaluate", "model.ndcn", "edges.csv", "states.csv")
    assert "note: read as for the fit: --one-graph --date-format %d.%m.%Y --duplicates last" in " ".join(said.split())
    assert "read as for the fit" in output("report", "model.ndcn", "edges.csv", "states.csv")
    assert "--duplicates last" in (files / "report.html").read_text(encoding="utf-8")


def test_options_that_are_given_win(files: Path) -> None:
    output(*FIT, "--duplicates", "last", "--one-graph")
    words = ["evaluate", "model.ndcn", "edges.csv", "states.csv"]
    assert "--duplicates" in refused(*words, "--duplicates", "error")
    assert "the graph changes" in refused(*words, "--changing-graph")
    assert "the graph changes" in refused(*words, "--edge-time", "time")
    kept = [line for line in output(*words, "--duplicates", "mean").splitlines() if "as for the fit" in line]
    assert not any("--duplicates" in line for line in kept)


def test_python_keeps_them_too(files: Path) -> None:
    data = ndcn.read("edges.csv", "states.csv", duplicates="last", edge_time=False, unknown="error")
    assert data.reading == {"duplicates": "last", "edge_time": False, "unknown": "error"}
    ndcn.DynamicsRegressor(model="auto").fit(data).save("auto.ndcn")
    assert "--one-graph --duplicates last --same-names" in " ".join(
        output("report", "auto.ndcn", "edges.csv", "states.csv").split()
    )
    assert ndcn.DynamicsRegressor(epochs=1).fit(data.runs[0][:2]).reading_ == {}
