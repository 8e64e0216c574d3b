"""The figures of the tables from a store: mean and spread over runs beside the paper's; for machines as CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import mean, stdev
from typing import NamedTuple

from .classify import Classification
from .spec import Model, Run, Table, read_toml
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


@dataclass(frozen=True)
class Row:
    """One figure of a table.

    ``std`` is the sample standard deviation over runs, 0 for a single one; ``mean`` is None where no run is done, and
    the paper's values where it has none. ``recipe`` is that of training, "paper" or "default", or nothing.
    """

    table: str
    dynamics: str
    network: str
    model: str
    title: str
    recipe: str
    metric: str
    mean: float | None
    std: float | None
    runs: int
    failed: int
    paper_mean: float | None
    paper_std: float | None

    @property
    def mark(self) -> str:
        """Where it lies: "below" or "above" the paper's mean, "within" one of its standard deviations on the worse side."""
        if self.mean is None or self.paper_mean is None:
            return ""
        better, worse = ("above", "below") if self.metric == ACCURACY else ("below", "above")
        loss = self.paper_mean - self.mean if self.metric == ACCURACY else self.mean - self.paper_mean
        if loss < 0:
            return better
        return "within" if loss <= (self.paper_std or 0.0) else worse


def rows_of(table: Table, store: Store) -> list[Row]:
    """The figures of a table as far as its runs are done: errors of the last epoch, by both metrics."""
    failures = store.failures()
    rows = []
    for metric, (_, ours, factor) in METRICS.items():
        for dynamics, network in table.cells:
            for model in table.models:
                runs = table.cell_runs(dynamics, network, model)
                values = [factor * result.scores[table.part][ours] for result in store.results(runs)]
                theirs = table.paper[dynamics][network].get(model.compare, {}).get(metric, [None, None])
                rows.append(_row(table.name, dynamics, network, model, metric, runs, values, theirs, failures))
    return rows


def class_rows(table: Classification, store: Store) -> list[Row]:
    """The accuracies of node classification on the test nodes, as far as their runs are done; ``network`` is the data set."""
    failures = store.failures()
    rows = []
    for dataset in table.datasets:
        for model in table.models:
            runs = table.cell_runs(dataset, model)
            values = [100 * result.scores["test"]["accuracy"] for result in store.results(runs)]
            theirs = [*table.paper[dataset].get(model.compare, [None]), None]
            rows.append(_row(table.name, "", dataset, model, ACCURACY, runs, values, theirs, failures))
    return rows


def _row(
    table: str,
    dynamics: str,
    network: str,
    model: Model,
    metric: str,
    runs: Sequence[Run],
    values: Sequence[float],
    theirs: Sequence[float | None],
    failures: Mapping[str, str],
) -> Row:
    return Row(
        table=table,
        dynamics=dynamics,
        network=network,
        model=model.name,
        title=model.title,
        recipe=model.settings.get("preset", ""),
        metric=metric,
        mean=mean(values) if values else None,
        std=(stdev(values) if len(values) > 1 else 0.0) if values else None,
        runs=len(values),
        failed=sum(run.key in failures for run in runs),
        paper_mean=theirs[0],
        paper_std=theirs[1],
    )


def parameter_rows(models: Sequence[str] = (), nodes: int | None = None) -> list[Row]:
    """How many parameters each model learns, by fitting it for one epoch."""
    import ndcn

    content = read_toml("parameters")
    graph = ndcn.networks.grid(nodes or content["data"]["nodes"])
    data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), [0.0, 0.5, 1.0])
    rows = []
    for name, about in content["models"].items():
        if models and name not in models:
            continue
        fitted = ndcn.DynamicsRegressor(model=name, epochs=1, progress=False).fit(data)
        count = sum(p.numel() for p in fitted.model_.parameters())
        paper = content["paper"].get(name) if nodes in (None, content["data"]["nodes"]) else None
        rows.append(Row("parameters", "", "", name, about["title"], "", "parameters", count, 0.0, 1, 0, paper, None))
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
