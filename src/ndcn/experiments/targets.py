"""Targets of ``ndcn reproduce``: the paper's tables and figures, each with its runs, its rows and its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from .._support.registries import NEED_PYG
from ..classify import planetoid
from .classify import Classification, load_classification
from .figures import draw, draw_sweep
from .report import Row, class_rows, parameter_rows, rows_of
from .spec import ErrorTable, Run, load_table, read_toml
from .store import Store

MUTUALISTIC = {
    False: "mutualistic law as in the published code, which exchanges e and h of the printed equation; "
    "--mutualistic paper runs that",
    True: "mutualistic law as printed; the paper's figures are of its published code, which exchanges e and h",
}


@dataclass(frozen=True)
class Request:
    """The part of a table or figure that is wanted, and at which size; None means the paper's.

    Attributes:
        only: cells as "dynamics/network", a dynamics, or a data set; empty means all.
        models: names of rows; empty means all.
        runs, nodes, epochs: the number of runs per cell, the size of the networks and of training.
        printed: simulate the mutualistic law as printed, not as in the published code.
        folder: holds the files of Cora and others, if they are not in the usual one.
    """

    only: Sequence[str] = ()
    models: Sequence[str] = ()
    runs: int | None = None
    nodes: int | None = None
    epochs: int | None = None
    printed: bool = False
    folder: str | None = None


class Target:
    """A table or figure of the paper, narrowed to a request; one line of ``registries.TABLES`` or ``FIGURES``.

    Args:
        name: its name in the registry.
        request: which part of it is wanted.

    Attributes:
        trained: whether it shows results of runs that are kept in a store.
        source: the TOML file in ``paper/`` that describes its rows and cells; by default that of its name.
        title, notes: printed above and below a table.
    """

    trained = True
    source = ""
    title = ""
    notes: Sequence[str] = ()

    def __init__(self, name: str, request: Request) -> None:
        self.name = name
        self.request = request
        self.source = self.source or name

    def names(self) -> dict[str, list[str]]:
        """The rows ("model") and cells ("cell") that a request may name."""
        content = read_toml(self.source)
        cells = [
            place
            for law, networks in content.get("terminal_time", {}).items()
            for place in (law, *(f"{law}/{network}" for network in networks))
        ]
        return {"model": list(content["models"]), "cell": [*cells, *content.get("datasets", ())]}

    def leave_out(self, note: Callable[[str], None]) -> None:
        """Leave out what cannot run on this machine, and say why.

        Raises:
            ConnectionError: the request names a data set that cannot be downloaded.
        """

    def all_runs(self) -> Iterable[Run]:
        """The runs that it shows."""
        return ()

    def rows(self, store: Store | None) -> list[Row]:
        """The rows of a table, from the results in a store; None where no target needs one."""
        return []

    def draw(self, store: Path, out: Path) -> list[Path]:
        """Draw a figure from the results in a store; return the files."""
        return []


class Errors(Target):
    """A table of errors: dynamics by network by model."""

    def __init__(self, name: str, request: Request) -> None:
        super().__init__(name, request)
        asked = {key: value for key, value in vars(request).items() if key != "folder"}
        self.table: ErrorTable = load_table(self.source).narrowed(**asked)
        self.title = self.table.title
        changed = {"nodes": request.nodes, "epochs": request.epochs}
        other = ", ".join(f"{name} = {value}" for name, value in changed.items() if value is not None)
        has_mutualistic = any(law == "mutualistic" for law, _ in self.table.cells)
        self.notes = [
            *([MUTUALISTIC[request.printed]] if has_mutualistic else []),
            *([f"not the paper's setting: {other}"] if other else []),
        ]

    def all_runs(self) -> Iterable[Run]:
        """The runs of its cells."""
        return self.table.all_runs()

    def rows(self, store: Store | None) -> list[Row]:
        """Errors by both metrics."""
        return [] if store is None else rows_of(self.table, store)


class DynamicsFigures(Errors):
    """Pictures and animations of the dynamics, drawn from the first run of the regular table."""

    def __init__(self, name: str, request: Request) -> None:
        self.source = read_toml("figures")["table"]
        super().__init__(name, request)
        if request.runs is None:
            self.table = self.table.narrowed(runs=1)

    def draw(self, store: Path, out: Path) -> list[Path]:
        """Matrices, panels, errors over time, animations."""
        return draw(self.table, store, out)


class Parameters(Target):
    """The table of the numbers of learned parameters; needs no runs."""

    trained = False

    def __init__(self, name: str, request: Request) -> None:
        super().__init__(name, request)
        self.title = read_toml(name)["title"]

    def rows(self, store: Store | None) -> list[Row]:
        """Counts of the parameters of each model."""
        return parameter_rows(self.request.models, self.request.nodes)


class Accuracies(Target):
    """The table of node classification: data sets by models."""

    notes = (
        "independent runs from fresh weights on the standard split; the published configuration includes a solver that is "
        "far from the solution at T",
    )

    def __init__(self, name: str, request: Request) -> None:
        super().__init__(name, request)
        self.table: Classification = load_classification().narrowed(
            only=request.only, models=request.models, runs=request.runs, epochs=request.epochs, folder=request.folder
        )
        self.title = self.table.title

    def leave_out(self, note: Callable[[str], None]) -> None:
        """Leave out data sets that cannot be downloaded, and models whose extra is not installed."""
        named = [*self.request.only, *self.request.models]
        datasets = []
        for name in self.table.datasets:
            try:
                planetoid(name, self.table.folder)
                datasets.append(name)
            except ConnectionError as error:
                if name in named:
                    raise
                note(f"note: {name} is left out: {error}")
        models = [model.name for model in self.table.models]
        missing = [] if find_spec("torch_geometric") else [m for m in models if m in NEED_PYG and m not in named]
        if missing and datasets:
            note(f"note: {', '.join(missing)} are left out: they need PyTorch Geometric, pip install 'ndcn[pyg]'")
        keep = [name for name in models if name not in missing]
        self.table = self.table.narrowed(only=datasets or ["none"], models=keep)

    def all_runs(self) -> Iterable[Run]:
        """The runs of its cells."""
        return self.table.all_runs()

    def rows(self, store: Store | None) -> list[Row]:
        """Accuracies on the test nodes."""
        return [] if store is None else class_rows(self.table, store)


class AccuracySweep(Accuracies):
    """Pictures of the accuracy of classification over T and alpha."""

    source = "classification"

    def all_runs(self) -> Iterable[Run]:
        """The runs of the grid of T and alpha."""
        for dataset in self.table.datasets:
            for model in self.table.sweep_models():
                for _, _, runs in self.table.sweep_runs(dataset, model):
                    yield from runs

    def draw(self, store: Path, out: Path) -> list[Path]:
        """A picture for each data set and model."""
        return draw_sweep(self.table, store, out) if self.table.datasets else []
