"""Rows of the tables from a store: mean and standard deviation over runs beside the paper's; as CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from statistics import mean, stdev
from typing import Any, NamedTuple

import ndcn

from .classify import Classification
from .spec import ErrorTable, Model, read_toml
from .store import Store

ACCURACY = "accuracy_percent"  # the one metric of which more is better


class Metric(NamedTuple):
    """An error of the paper: its title, the name of ours, and the factor from ours to it."""

    title: str
    ours: str
    factor: float


METRICS = {
    "normalized_l1_percent": Metric("normalised l1 error in %", "normalized_l1", 100.0),
    "l1": Metric("l1 error", "l1", 1.0),
}
PAPER_DIGITS = {"normalized_l1_percent": 1, "l1": 3, ACCURACY: 1, "parameters": 0}


@dataclass(frozen=True)
class Row:
    """One value of a table; the paper's is None where it has none, or none with these nodes, epochs and law."""

    table: str
    dynamics: str = ""
    network: str = ""  # of classification: the data set
    model: str = ""
    title: str = ""  # of the model
    recipe: str = ""  # of training, "paper" or "default", or nothing
    law: str = ""  # parameters that differ from the printed ones, such as "e = 0.1, h = 0.9"
    nodes: int | None = None
    epochs: int | None = None
    metric: str = ""  # what the value measures
    mean: float | None = None  # over runs; None if none is done
    std: float | None = None  # the sample standard deviation over runs, 0 for a single one
    train_mean: float | None = None  # the same error on the snapshots that were trained on
    runs: int = 0  # how many are done
    failed: int = 0  # how many failed
    paper_mean: float | None = None
    paper_std: float | None = None

    @property
    def mark(self) -> str:
        """Whether it is "below" or "above" the paper's mean, "within" one of its standard deviations on the worse side.

        The mean is rounded to as many digits as the paper prints.
        """
        if self.mean is None or self.paper_mean is None:
            return ""
        better, worse = sides(self.metric)
        ours = round(self.mean, PAPER_DIGITS[self.metric])
        loss = self.paper_mean - ours if self.metric == ACCURACY else ours - self.paper_mean
        if loss < 0:
            return better
        return "within" if loss <= (self.paper_std or 0.0) + 1e-9 else worse


def sides(metric: str) -> tuple[str, str]:
    """Where a better and a worse value are: ("above", "below") or the reverse."""
    return ("above", "below") if metric == ACCURACY else ("below", "above")


def rows_of(table: ErrorTable, store: Store) -> list[Row]:
    """The errors of a table after the last epoch, by both metrics, as far as its runs are done."""
    failures = store.failures()
    rows: dict[str, list[Row]] = {name: [] for name in METRICS}
    for dynamics, network in table.cells:
        for model in table.models:
            runs = table.cell_runs(dynamics, network, model)
            results = store.results(runs)
            paper = table.paper[dynamics][network].get(model.compare, {}) if table.is_papers(dynamics) else {}
            cell = Row(
                table=table.name,
                dynamics=dynamics,
                network=network,
                law=", ".join(f"{key} = {value:g}" for key, value in table.laws[dynamics].items()),
                nodes=table.nodes or table.data["nodes"],
                epochs=runs[0].settings["model"].get("epochs"),
                failed=sum(run.key in failures for run in runs),
            )
            for name, metric in METRICS.items():
                train, scored = (
                    [metric.factor * r.scores[part][metric.ours] for r in results] for part in ("train", table.part)
                )
                measured = _measured(model, scored, train, paper.get(name, ()))
                rows[name].append(replace(cell, metric=name, **measured))
    return [row for some in rows.values() for row in some]


def class_rows(table: Classification, store: Store) -> list[Row]:
    """The accuracies of node classification on the test nodes, as far as their runs are done."""
    failures = store.failures()
    rows = []
    for dataset in table.datasets:
        for model in table.models:
            runs = table.cell_runs(dataset, model)
            results = store.results(runs)
            train, test = ([100 * r.scores[part]["accuracy"] for r in results] for part in ("train", "test"))
            paper = () if table.epochs else table.paper[dataset].get(model.compare, ())
            epochs = runs[0].settings["resolved"]["epochs"]
            failed = sum(run.key in failures for run in runs)
            cell = Row(table=table.name, network=dataset, epochs=epochs, metric=ACCURACY, failed=failed)
            rows.append(replace(cell, **_measured(model, test, train, paper)))
    return rows


def _measured(model: Model, values: Sequence[float], train: Sequence[float], paper: Sequence[float]) -> dict[str, Any]:
    """What a model's runs measured, beside the paper's mean and standard deviation where it has them."""
    return {
        "model": model.name,
        "title": model.title,
        "recipe": model.settings.get("preset", ""),
        "mean": mean(values) if values else None,
        "std": (stdev(values) if len(values) > 1 else 0.0) if values else None,
        "train_mean": mean(train) if train else None,
        "runs": len(values),
        "paper_mean": paper[0] if paper else None,
        "paper_std": paper[1] if len(paper) > 1 else None,
    }


def parameter_rows(models: Sequence[str] = (), nodes: int | None = None) -> list[Row]:
    """How many parameters each model learns, by fitting it for one epoch."""
    content = read_toml("parameters")
    size = nodes or content["data"]["nodes"]
    graph = ndcn.networks.grid(size)
    data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), [0.0, 0.5, 1.0])
    rows = []
    for name, about in content["models"].items():
        if models and name not in models:
            continue
        fitted = ndcn.DynamicsRegressor(model=name, epochs=1, progress=False).fit(data)
        count = sum(p.numel() for p in fitted.model_.parameters())
        paper = content["paper"].get(name) if size == content["data"]["nodes"] else None
        row = Row(table="parameters", model=name, title=about["title"], nodes=size, metric="parameters")
        rows.append(replace(row, mean=count, std=0.0, runs=1, paper_mean=paper))
    return rows


def as_json(rows: Sequence[Row]) -> str:
    """A list of objects, one for each value."""
    return json.dumps([{**asdict(row), "mark": row.mark} for row in rows], allow_nan=False)


def as_csv(rows: Sequence[Row]) -> str:
    """The same as comma-separated values with a header."""
    out = io.StringIO()
    names = [field.name for field in fields(Row)]
    writer = csv.DictWriter(out, [*names, "mark"], lineterminator="\n")
    writer.writeheader()
    writer.writerows({**asdict(row), "mark": row.mark} for row in rows)
    return out.getvalue().rstrip("\n")
