"""Tables: the numbers, the marks, and every format."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from pathlib import Path

import pytest

from miniature import result
from ndcn.experiments import layout, report
from ndcn.experiments.layout import grids, summarise
from ndcn.experiments.report import ACCURACY, Row, parameter_rows, rows_of
from ndcn.experiments.spec import load_table
from ndcn.experiments.store import Store

NAMES = ("dynamics", "network", "model", "metric", "mean", "std", "runs", "paper_mean", "paper_std")


MODELS = ["persistence", "no_graph", "ndcn", "ndcn_default"]


def test_a_table_without_dynamics_has_no_such_column() -> None:
    grid = layout.Grid("Classes", ["Cora"], [("", "GCN", [("81.0", "81.5")])], [], [])
    assert "| model | Cora |\n|---|---|\n| GCN | 81.0 (81.5) |" in layout.as_markdown([grid])
    assert "{lr}\n\\toprule\nmodel & Cora \\\\\n\\midrule\nGCN & 81.0 (81.5)" in layout.as_latex([grid])


@pytest.fixture
def rows(tmp_path: Path) -> list[Row]:
    """NDCN: 3 and 5 %, so 4 ± 1.41; no-graph: one run of 2 %; the default recipe: failed; persistence: nothing."""
    table = load_table("extrapolation").narrowed(only=["heat/grid"], models=MODELS, runs=2)
    models = {model.name: model for model in table.models}
    with Store(tmp_path / "a.sqlite") as store:
        for run, error in zip(table.cell_runs("heat", "grid", models["ndcn"]), (0.03, 0.05), strict=True):
            store.add(run, result(error))
        store.add(table.cell_runs("heat", "grid", models["no_graph"])[0], result(0.02))
        store.add_failure(table.cell_runs("heat", "grid", models["ndcn_default"])[1], "it exploded")
        return rows_of(table, store)


def test_mean_deviation_and_the_papers_values(rows: list[Row]) -> None:
    found = {(row.model, row.metric): row for row in rows}
    ndcn = found["ndcn", "normalized_l1_percent"]
    assert ndcn.train_mean == pytest.approx(4)
    assert (ndcn.nodes, ndcn.epochs, ndcn.law, ndcn.recipe) == (400, 2000, "", "paper")
    assert (ndcn.mean, ndcn.std, ndcn.runs) == (pytest.approx(4), pytest.approx(2**0.5), 2)
    assert (ndcn.paper_mean, ndcn.paper_std, ndcn.mark) == (4.1, 1.2, "below")
    l1 = found["ndcn", "l1"]
    assert (l1.mean, l1.paper_mean) == (pytest.approx(0.08), 0.158)
    default = found["ndcn_default", "normalized_l1_percent"]
    assert (default.mean, default.runs, default.failed, default.paper_mean, default.mark) == (None, 0, 1, 4.1, "")
    assert found["no_graph", "l1"].std == 0
    assert found["persistence", "l1"].paper_mean is None


@pytest.mark.parametrize(("mean", "mark"), [(4.04, "below"), (4.06, "within"), (5.34, "within"), (5.36, "above")])
def test_marks(mean: float, mark: str, rows: list[Row]) -> None:
    """As the paper prints them, 4.1 ± 1.2."""
    row = dataclasses.replace(rows[2], mean=mean)
    assert row.mark == mark


def test_marks_of_accuracies_are_the_other_way_round(rows: list[Row]) -> None:
    for mean, mark in ((83.5, "above"), (83.3, "within"), (82.7, "within"), (82.5, "below")):
        row = dataclasses.replace(rows[2], metric=ACCURACY, mean=mean, paper_mean=83.3, paper_std=0.6)
        assert row.mark == mark


def test_json_and_csv_have_a_row_for_each_figure(rows: list[Row]) -> None:
    read = json.loads(report.as_json(rows))
    assert len(read) == len(rows) == 8
    assert all(set(NAMES) <= set(row) for row in read)
    table = list(csv.DictReader(io.StringIO(report.as_csv(rows))))
    assert [row["model"] for row in table] == [row["model"] for row in read]
    assert table[2]["mean"] == str(read[2]["mean"])


def test_people_see_our_figure_and_the_papers(rows: list[Row]) -> None:
    found = grids(rows, {"extrapolation": "Extrapolation"}, {"extrapolation": ["a note"]})
    text = layout.as_text(found)
    assert "Extrapolation: normalised l1 error in %, mean ± standard deviation of 1 to 2 runs" in text
    assert "NDCN, published recipe (2 runs)" in text
    assert "No-Graph (1 run)" in text
    assert "4.00 ± 1.41 ↓" in text
    assert "4.1 ± 1.2" in text
    assert "0.080 ± 0.028 ↓" in text
    assert "0.158 ± 0.047" in text
    assert "failed (1)" in text
    assert "a note" in text
    lines = [line for line in text.splitlines() if line.startswith(("heat", "      "))]
    assert len({line.index("4.1 ±") for line in lines if "4.1 ±" in line}) == 1  # aligned
    markdown = layout.as_markdown(found)
    assert "| heat | NDCN, published recipe (2 runs) | 4.00 ± 1.41 ↓ (4.1 ± 1.2) |" in markdown
    latex = layout.as_latex(found)
    assert r"heat & Persistence (0 runs) & - \\" in latex
    assert r" & NDCN, published recipe (2 runs) & 4.00 $\pm$ 1.41 $\downarrow$ (4.1 $\pm$ 1.2) \\" in latex
    assert r"normalised $\ell_1$ error in \%" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 2


def test_the_summary_lists_exceptions(rows: list[Row]) -> None:
    lines = summarise([row for row in rows if row.metric == "normalized_l1_percent"])
    assert lines == [
        "No-Graph: below the paper's mean in 1 of 1 cells, within one standard deviation above it in 0, further above in 0",
        "NDCN, published recipe: below the paper's mean in 1 of 1 cells, within one standard deviation above it in 0, "
        "further above in 0",
        "Order by the geometric mean over 1 cells: No-Graph 2.00, NDCN, published recipe 4.00",
        "Of all models with the published recipe, NDCN is first in 0 of 1 cells; exceptions: heat/grid No-Graph (2.00 < 4.00)",
    ]


def test_parameters_are_the_papers() -> None:
    rows = {row.model: row for row in parameter_rows()}
    for name, count in {"lstm_gnn": 84890, "gru_gnn": 64770, "rnn_gnn": 24530, "ndcn": 901}.items():
        assert rows[name].mean == rows[name].paper_mean == count
    assert rows["no_encode"].paper_mean is None
    (text,) = grids(list(rows.values()), {"parameters": "Parameters"}, {"parameters": []})
    assert "84890" in layout.as_text([text])
    assert [row.model for row in parameter_rows(["no_graph"], nodes=9)] == ["no_graph"]
