"""The figures of the tables from a store: mean and spread over runs beside the paper's; for machines as CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from statistics import mean, stdev
from typing import NamedTuple

import ndcn

from .classify import Classification
from .spec import ErrorTable, read_toml
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
    """One figure of a table.

    Attributes:
        table: its name.
        dynamics, network: the cell; of classification the network is the data set.
        model, title: the row.
        recipe: of training, "paper" or "default", or nothing.
        law: parameters that differ from the printed ones, such as "e = 0.1, h = 0.9".
        nodes, epochs: of the networks and of training; None where that says nothing.
        metric: of the figure.
        mean: over runs; None if none is done.
        std: the sample standard deviation over runs, 0 for a single one.
        train_mean: the same error on the snapshots that were trained on.
        runs, failed: how many are done, and how many failed.
        paper_mean, paper_std: the paper's; None where it has none, or none with these nodes, epochs and law.
    """

    table: str
    dynamics: str
    network: str
    model: str
    title: str
    recipe: str
    law: str
    nodes: int | None
    epochs: int | None
    metric: str
    mean: float | None
    std: float | None
    train_mean: float | None
    runs: int
    failed: int
    paper_mean: float | None
    paper_std: float | None

    @property
    def mark(self) -> str:
        """Where it lies: "below" or "above" the paper's mean, "within" one of its standard deviations on the worse side.

        The mean is rounded to as many digits as the paper prints.
        """
        if self.mean is None or self.paper_mean is None:
            return ""
        better, worse = ("above", "below") if self.metric == ACCURACY else ("below", "above")
        ours = round(self.mean, PAPER_DIGITS[self.metric])
        loss = self.paper_mean - ours if self.metric == ACCURACY else ours - self.paper_mean
        if loss < 0:
            return better
        return "within" if loss <= (self.paper_std or 0.0) + 1e-9 else worse


def rows_of(table: ErrorTable, store: Store) -> list[Row]:
    """The figures of a table as far as its runs are done: errors of the last epoch, by both metrics."""
    failures = store.failures()
    runs = {
        (dynamics, network, model.name): table.cell_runs(dynamics, network, model)
        for dynamics, network in table.cells
        for model in table.models
    }
    results = {cell: store.results(some) for cell, some in runs.items()}
    rows = []
    for name, metric in METRICS.items():
        for dynamics, network in table.cells:
            for model in table.models:
                cell = (dynamics, network, model.name)
                own = table.paper[dynamics][network].get(model.compare, {}) if table.is_papers(dynamics) else {}
                values = {
                    part: [metric.factor * result.scores[part][metric.ours] for result in results[cell]]
                    for part in ("train", table.part)
                }
                rows.append(
                    Row(
                        table=table.name,
                        dynamics=dynamics,
                        network=network,
                        model=model.name,
                        title=model.title,
                        recipe=model.settings.get("preset", ""),
                        law=", ".join(f"{key} = {value:g}" for key, value in table.laws[dynamics].items()),
                        nodes=table.nodes or table.data["nodes"],
                        epochs=runs[cell][0].settings["model"].get("epochs"),
                        metric=name,
                        mean=_mean(values[table.part]),
                        std=_spread(values[table.part]),
                        train_mean=_mean(values["train"]),
                        runs=len(results[cell]),
                        failed=sum(run.key in failures for run in runs[cell]),
                        paper_mean=own[name][0] if name in own else None,
                        paper_std=own[name][1] if name in own else None,
                    )
                )
    return rows


def class_rows(table: Classification, store: Store) -> list[Row]:
    """The accuracies of node classification on the test nodes, as far as their runs are done."""
    failures = store.failures()
    rows = []
    for dataset in table.datasets:
        for model in table.models:
            runs = table.cell_runs(dataset, model)
            results = store.results(runs)
            values = [100 * result.scores["test"]["accuracy"] for result in results]
            theirs = [] if table.epochs else table.paper[dataset].get(model.compare, [])
            rows.append(
                Row(
                    table=table.name,
                    dynamics="",
                    network=dataset,
                    model=model.name,
                    title=model.title,
                    recipe=model.settings.get("preset", ""),
                    law="",
                    nodes=None,
                    epochs=runs[0].settings["resolved"]["epochs"],
                    metric=ACCURACY,
                    mean=_mean(values),
                    std=_spread(values),
                    train_mean=_mean([100 * result.scores["train"]["accuracy"] for result in results]),
                    runs=len(values),
                    failed=sum(run.key in failures for run in runs),
                    paper_mean=theirs[0] if theirs else None,
                    paper_std=theirs[1] if len(theirs) > 1 else None,
                )
            )
    return rows


def _mean(values: Sequence[float]) -> float | None:
    return mean(values) if values else None


def _spread(values: Sequence[float]) -> float | None:
    return (stdev(values) if len(values) > 1 else 0.0) if values else None


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
        row = Row(
            "parameters",
            "",
            "",
            name,
            about["title"],
            "",
            "",
            size,
            None,
            "parameters",
            count,
            0.0,
            None,
            1,
            0,
            paper,
            None,
        )
        rows.append(row)
    return rows


def as_json(rows: Sequence[Row]) -> str:
    """A list of objects, one for each figure."""
    return json.dumps([_plain(row) for row in rows], allow_nan=False)


def as_csv(rows: Sequence[Row]) -> str:
    """The same as comma-separated values with a header."""
    out = io.StringIO()
    names = [field.name for field in fields(Row)]
    writer = csv.DictWriter(out, [*names, "mark"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(_plain(row) for row in rows)
    return out.getvalue().rstrip("\n")


def _plain(row: Row) -> dict[str, object]:
    return {**asdict(row), "mark": row.mark}
