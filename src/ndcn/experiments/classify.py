"""Node classification as an experiment: its runs on the standard splits, and accuracy over T and alpha."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any

import ndcn

from .._support.registries import NOT_TRAINED
from .._support.threads import one_thread
from ..classify import NodeDataset
from .result import Result
from .run import versions
from .spec import Model, Run, read_toml, resolved


@dataclass(frozen=True)
class ClassModel(Model):
    """A row of the table: a ``NodeClassifier`` or a ``NodeBaseline``, with what differs between data sets."""

    estimator: str
    validation: bool
    special: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Classification:
    """The table of accuracies: data sets by models."""

    title: str
    titles: dict[str, str]  # of the data sets
    datasets: tuple[str, ...]  # names of the columns
    models: tuple[ClassModel, ...]  # the rows
    paper: dict[str, dict[str, list[float]]]  # by data set and model, mean and standard deviation in percent
    runs: int
    first_seed: int
    grid: dict[str, Any]  # T and alpha of the sweep, and its runs
    epochs: int | None = None  # if not each model's own
    folder: str | None = None  # with the files of the data sets, if they are not in the usual one

    name = "classification"

    def narrowed(
        self,
        *,
        only: Sequence[str] = (),
        models: Sequence[str] = (),
        runs: int | None = None,
        epochs: int | None = None,
        folder: str | None = None,
    ) -> Classification:
        """The same with some of its data sets and models, or another number of runs."""
        return replace(
            self,
            datasets=tuple(d for d in self.datasets if not only or d in only),
            models=tuple(m for m in self.models if not models or m.name in models),
            runs=self.runs if runs is None else runs,
            grid=self.grid if runs is None else {**self.grid, "runs": runs},
            epochs=self.epochs if epochs is None else epochs,
            folder=self.folder if folder is None else folder,
        )

    def cell_runs(self, dataset: str, model: ClassModel) -> list[Run]:
        """The runs of one figure of the table."""
        return [self._run(dataset, model, k, {}) for k in range(self.runs)]

    def all_runs(self) -> Iterator[Run]:
        """All runs of the table, those of the first seed first."""
        for k, dataset, model in product(range(self.runs), self.datasets, self.models):
            yield self._run(dataset, model, k, {})

    def sweep_models(self) -> list[ClassModel]:
        """Those that have a T and an alpha."""
        return [model for model in self.models if model.estimator == "classifier"]

    def sweep_runs(self, dataset: str, model: ClassModel) -> Iterator[tuple[float, float, list[Run]]]:
        """T, alpha and their runs, for accuracy over both."""
        for T, alpha in product(self.grid["T"], self.grid["alpha"]):
            chosen = {"T": T, "alpha": alpha}
            yield T, alpha, [self._run(dataset, model, k, chosen) for k in range(self.grid["runs"])]

    def _run(self, dataset: str, model: ClassModel, k: int, chosen: dict[str, float]) -> Run:
        arguments = {**model.settings, **model.special.get(dataset, {}), **chosen}
        if self.epochs is not None and model.name not in NOT_TRAINED:
            arguments["epochs"] = self.epochs
        return Run(
            data=self.folder,
            settings={
                "dataset": dataset,
                "estimator": model.estimator,
                "validation": model.validation,
                "model": arguments,
                "resolved": resolved(model.estimator, json.dumps(arguments, sort_keys=True)),
                "seed": self.first_seed + k,
            },
        )


def load_classification() -> Classification:
    """The paper's table of node classification.

    Example:
        >>> load_classification().datasets
        ('cora', 'citeseer', 'pubmed')
    """
    content = read_toml("classification")
    datasets = tuple(content["datasets"])
    models = tuple(
        ClassModel(
            name=name,
            title=row["title"],
            settings=row["settings"],
            compare=row.get("compare", name),
            estimator=row["estimator"],
            validation=row.get("validation", True),
            special={dataset: row[dataset] for dataset in datasets if dataset in row},
        )
        for name, row in content["models"].items()
    )
    return Classification(
        title=content["title"],
        titles={name: row["title"] for name, row in content["datasets"].items()},
        datasets=datasets,
        models=models,
        paper=content["paper"],
        runs=content["runs"]["count"],
        first_seed=content["runs"]["first_seed"],
        grid=content["sweep"],
    )


@one_thread()
def run_classification(settings: dict[str, Any], folder: str | None = None) -> Result:
    """Train on the standard split, by the settings of a ``spec.Run``, and measure the share of nodes predicted right."""
    data = _dataset(settings["dataset"], folder)
    kind = {"classifier": ndcn.NodeClassifier, "baseline": ndcn.NodeBaseline}[settings["estimator"]]
    estimator = kind(**settings["model"], seed=settings["seed"], progress=False)
    began = time.monotonic()
    validation = data.val_mask if settings["validation"] else None
    estimator.fit(data.graph, data.features, data.labels, data.train_mask, validation)
    seconds = time.monotonic() - began
    masks = {"train": data.train_mask, "validation": data.val_mask, "test": data.test_mask}
    return Result(
        scores={name: {"accuracy": estimator.score(mask)} for name, mask in masks.items()},
        per_time={},
        parameters=sum(p.numel() for p in estimator.model_.parameters()) if estimator.model_ is not None else 0,
        seconds=seconds,
        versions=versions(),
    )


@lru_cache(maxsize=4)
def _dataset(name: str, folder: str | None) -> NodeDataset:
    return ndcn.datasets.planetoid(name, folder, progress=False)
