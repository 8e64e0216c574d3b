"""Tables of the paper: cells, models and the settings of every run, read from one TOML file each."""

from __future__ import annotations

import hashlib
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from importlib import resources
from typing import Any

import ndcn

from ..regressor import kind_for

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Model:
    """A row of a table: the arguments of ``DynamicsRegressor``, and the paper's row that it is compared with."""

    name: str
    title: str
    settings: dict[str, Any]
    compare: str


@dataclass(frozen=True)
class Run:
    """One training, known by its settings alone."""

    settings: dict[str, Any]  # plain values, as they are kept in the store
    keep_states: bool = False  # whether its predictions are kept for the figures
    data: str | None = None  # the folder with files that it needs, if they are not in the usual one

    @property
    def key(self) -> str:
        """A hash of the settings, the same in every process."""
        return hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()

    @property
    def name(self) -> str:
        """Its name in messages."""
        s = self.settings
        if "dataset" in s:
            chosen = "".join(f"{name} = {value}, " for name, value in s["model"].items() if name != "model")
            return f"{s['dataset']} {s['model'].get('model', s['estimator'])}, {chosen}seed {s['seed']}"
        recipe = {"paper": ", published recipe", "default": ", default recipe"}.get(s["model"].get("preset", ""), "")
        return f"{s['law']['name']}/{s['network']['name']} {s['model']['model']}{recipe}, seed {s['seed']}"

    def alike(self) -> Iterator[tuple[Any, ...]]:
        """Keys that it shares with runs of similar duration, the most similar first."""
        model = self.settings["model"]
        if "dataset" in self.settings:
            same = (self.settings["estimator"], model.get("model"), model.get("preset"), model.get("epochs"))
            yield (self.settings["dataset"], *same)
            yield same
            return
        network = self.settings["network"]
        size = (network["nodes"], model.get("epochs"))
        yield (model["model"], network["name"], *size)
        yield (model["model"], *size)
        yield size


@dataclass(frozen=True)
class ErrorTable:
    """A table of errors: dynamics by network by model."""

    name: str  # of its file
    title: str  # what it shows
    part: str  # which snapshots are scored, "interpolation" or "extrapolation"
    data: dict[str, Any]  # nodes, sampling and split
    laws: dict[str, dict[str, float]]  # parameters of each law that differ from the printed ones
    printed: dict[str, dict[str, float]]  # parameters of the laws as printed, where ``laws`` has others
    models: tuple[Model, ...]  # the rows
    cells: tuple[tuple[str, str], ...]  # (dynamics, network) pairs in the order of the paper
    terminal_time: dict[str, dict[str, float]]  # by dynamics and network
    weight_decay: dict[str, dict[str, dict[str, float]]]  # by dynamics, network and model
    paper: dict[str, dict[str, dict[str, dict[str, list[float]]]]]  # the same, and by metric
    runs: int  # how many
    first_seed: int  # of the first run
    keep_states: bool = False  # whether the first run's predictions are kept for the figures
    epochs: int | None = None  # other than the paper's
    nodes: int | None = None  # other than the paper's

    def narrowed(
        self,
        *,
        only: Sequence[str] = (),
        models: Sequence[str] = (),
        runs: int | None = None,
        nodes: int | None = None,
        epochs: int | None = None,
        printed: bool = False,
    ) -> ErrorTable:
        """The same table with some of its cells and models, another number of runs, or another size.

        The arguments are those of ``Request``; cells and rows that this table does not have are left out.
        """
        return replace(
            self,
            cells=tuple(c for c in self.cells if not only or c[0] in only or "/".join(c) in only),
            models=tuple(m for m in self.models if not models or m.name in models),
            runs=self.runs if runs is None else runs,
            nodes=self.nodes if nodes is None else nodes,
            epochs=self.epochs if epochs is None else epochs,
            laws={**self.laws, **self.printed} if printed else self.laws,
        )

    def is_papers(self, dynamics: str) -> bool:
        """Whether the paper has results with these nodes, epochs and law."""
        changed = self.nodes is not None or self.epochs is not None
        return not changed and self.laws[dynamics] != self.printed.get(dynamics)

    def cell_runs(self, dynamics: str, network: str, model: Model) -> list[Run]:
        """The runs of one cell and model."""
        return [self._run(dynamics, network, model, k) for k in range(self.runs)]

    def all_runs(self) -> Iterator[Run]:
        """All runs, those of the first seed first, so that a first impression of the whole comes early."""
        for k, (dynamics, network), model in itertools.product(range(self.runs), self.cells, self.models):
            yield self._run(dynamics, network, model, k)

    def _run(self, dynamics: str, network: str, model: Model, k: int) -> Run:
        arguments = dict(model.settings)
        decay = self.weight_decay[dynamics][network].get(model.name)
        if decay is not None:
            arguments["weight_decay"] = decay
        if self.epochs is not None and "epochs" in arguments:
            arguments["epochs"] = self.epochs
        data = {k: v for k, v in self.data.items() if k not in ("nodes", "network_seed")}
        settings = {
            "law": {"name": dynamics, "parameters": self.laws[dynamics]},
            "network": {"name": network, "nodes": self.nodes or self.data["nodes"], "seed": self.data["network_seed"]},
            "data": {**data, "T": self.terminal_time[dynamics][network]},
            "model": arguments,
            "resolved": resolved("regressor", json.dumps(arguments, sort_keys=True)),
            "seed": self.first_seed + k,
        }
        return Run(settings, keep_states=self.keep_states and k == 0)


@lru_cache
def resolved(kind: str, arguments: str) -> dict[str, Any]:
    """All choices of an estimator, defaults and recipe included, so that a run is not taken for one with other defaults.

    ``kind`` is "regressor", "classifier" or "baseline"; ``arguments`` are JSON.
    """
    kinds = {"regressor": ndcn.DynamicsRegressor, "classifier": ndcn.NodeClassifier, "baseline": ndcn.NodeBaseline}
    estimator: Any = kinds[kind](**json.loads(arguments))
    width = {"hidden": estimator.hidden or kind_for(estimator.model).width} if kind == "regressor" else {}
    given = {k: v for k, v in estimator.get_params(deep=False).items() if k not in NOT_DECIDING and v is not None}
    plain = {k: v for k, v in given.items() if isinstance(v, (bool, int, float, str))}
    recipe = {k: v for k, v in asdict(estimator.recipe()).items() if v is not None or k not in ADDED}
    return {**recipe, **width, **plain}


ADDED = (
    "alignment",
)  # choices of later versions: left out where they have no effect, so that earlier runs are known again
NOT_DECIDING = ("seed", "progress", "jobs", "device", "checkpoint")


def load_table(name: str) -> ErrorTable:
    """A table of the paper, by name.

    Example:
        >>> table = load_table("extrapolation")
        >>> len(table.cells), table.runs
        (15, 20)
    """
    content = read_toml(name)
    rows, runs = content.pop("models").items(), content.pop("runs")
    return ErrorTable(
        **content,
        name=name,
        models=tuple(Model(key, row["title"], row["settings"], row.get("compare", key)) for key, row in rows),
        cells=tuple((law, network) for law, row in content["terminal_time"].items() for network in row),
        runs=runs["count"],
        first_seed=runs["first_seed"],
    )


def read_toml(name: str) -> dict[str, Any]:
    """The content of ``paper/<name>.toml``."""
    return tomllib.loads((resources.files(__package__) / "paper" / f"{name}.toml").read_text(encoding="utf-8"))
